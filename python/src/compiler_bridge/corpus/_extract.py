"""Makes a corpus of what a build has left: recognises what that is, and takes the modules of it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import _cc1, _commands, _objects, _thinlto
from ._errors import CorpusError
from ._inputs import Input, Tally, add_all
from ._tools import Toolchain
from ._writer import CorpusWriter

COMMANDS, OBJECTS, PARAMS, THINLTO = "commands", "objects", "params", "thinlto"
KINDS = (COMMANDS, OBJECTS, PARAMS, THINLTO)


@dataclass(frozen=True)
class Extraction:
    path: Path
    """A file or directory that a build has left."""
    output: Path
    kind: str | None = None
    """One of KINDS; recognised if none is told."""
    base: Path | None = None
    """What names are relative to; where the build ran."""
    match: re.Pattern[str] | None = None
    extra: list[str] = field(default_factory=list)
    without: Sequence[Path] = ()
    jobs: int = 1


def recognised(path: Path) -> str:
    """What kind of input a path is."""
    if not path.exists():
        raise CorpusError(f"{path}: there is no such file or directory")
    if path.is_dir():
        if _thinlto.in_directory(path):
            return THINLTO
        return COMMANDS if (path / "compile_commands.json").exists() else OBJECTS
    if path.suffix == ".json":
        return COMMANDS
    return OBJECTS if path.suffix in _objects.SUFFIXES else PARAMS


def extract_modules(what: Extraction, tools: Toolchain) -> Tally:
    kind = what.kind or recognised(what.path)
    if what.match and kind not in (OBJECTS, PARAMS):
        raise CorpusError(f"--match is for objects, whose arguments are known; this is {kind}")
    found, thinlto = _found(kind, what, tools)
    if not found:
        raise CorpusError(f"{what.path}: {_NOTHING[kind]}")
    override = _local_thinlto_command(tools, what.extra) if kind == THINLTO else None
    with CorpusWriter(
        what.output, thinlto=thinlto, override=override, without=what.without, tools=tools
    ) as writer:
        return add_all("extracting", writer, found, what.jobs)


_NOTHING = {
    COMMANDS: "has no commands",
    OBJECTS: "has no objects",
    PARAMS: "names no objects",
    THINLTO: "has no *.3.import.bc; link with -Wl,--save-temps=import",
}


def _found(kind: str, what: Extraction, tools: Toolchain) -> tuple[list[Input], bool]:
    path = what.path
    folder = path if path.is_dir() else path.parent
    if kind == COMMANDS:
        file = path / "compile_commands.json" if path.is_dir() else path
        return _commands.inputs(file, (what.base or folder).resolve(), tools, what.extra), False
    if kind == THINLTO:
        files = _thinlto.in_directory(path)
        return _thinlto.inputs(files, what.base or folder), True
    if what.extra:
        raise CorpusError("--clang-arg is for what is compiled; objects have their arguments")
    if kind == PARAMS:
        base = what.base or Path()
        objects = _objects.in_params(path, base)
    else:
        base = what.base or folder
        objects = _objects.in_directory(path) if path.is_dir() else [path]
    settings = _objects.Settings(base, tools, what.match)
    return _objects.inputs(objects, settings), _objects.are_thinlto(objects, tools)


def _local_thinlto_command(tools: Toolchain, extra: list[str]) -> list[str]:
    """How clang compiles on this machine, at -O2 as lld does unless `extra` says otherwise."""
    with tempfile.TemporaryDirectory(prefix="cbridge-") as scratch:
        source = Path(scratch) / "empty.c"
        source.write_bytes(b"")
        words = ["-O2", *extra, "-c", str(source), "-o", str(source.with_suffix(".o"))]
        command = _commands.compile_to_bitcode(
            tools, tools.clang, words, Path(scratch), Path(scratch) / "empty.bc"
        )
    options, _ = _cc1.options(_cc1.code_generation(command))
    return ["-cc1", "-emit-obj"] + [
        word for option in options if option[0] != "-main-file-name" for word in option
    ]
