"""Modules of local ThinLTO builds: what lld has imported into each, and its index.

lld writes them beside the objects with `-Wl,--save-temps=import -Wl,--thinlto-emit-index-files`. It
does not write how they are compiled, which the corpus says for all of them at once.
"""

from __future__ import annotations

import os
from pathlib import Path

from ._errors import CorpusError
from ._inputs import Input, check_regular, file_stamp, relative
from ._journal import Entry
from ._writer import CorpusWriter

_IMPORTED = ".3.import.bc"  # hard-coded in LLVM


def in_directory(directory: Path) -> list[Path]:
    return sorted(
        Path(folder) / name
        for folder, _, names in os.walk(directory)
        for name in names
        if name.endswith(_IMPORTED)
    )


def inputs(files: list[Path], base: Path) -> list[Input]:
    return [_input(path, base) for path in files]


def _input(path: Path, base: Path) -> Input:
    stem = str(path).removesuffix(_IMPORTED)
    name = relative(stem, base)
    index = Path(f"{stem}.thinlto.bc")
    version = f"{file_stamp(path)} {file_stamp(index)}"
    source = f"thinlto {name}"

    def add(writer: CorpusWriter) -> Entry:
        if not index.exists():
            raise CorpusError(f"has no {index.name}; link with -Wl,--thinlto-emit-index-files")
        for each in (path, index):
            check_regular(each)
        return writer.add(name, path, thinlto_index=index, source=source, stamp=version)

    return Input(name, source, version, add)
