"""Compiles the modules of a corpus again."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .._progress import Progress
from .._workers import for_each
from ._errors import CorpusError
from ._layout import Corpus, Module
from ._tools import Toolchain


@dataclass(frozen=True)
class Outcome:
    name: str
    seconds: float
    """Of the compile; 0 if it was there."""
    size: int
    """Of the object, in bytes."""
    error: str = ""


def replay(
    corpus: Corpus,
    tools: Toolchain,
    output: Path | None = None,
    extra: Sequence[str] = (),
    jobs: int = 1,
) -> list[Outcome]:
    """Makes an object of every module: below `output`, where those that are newer than their module
    stay as they are, or nowhere."""
    scratch = Path(tempfile.mkdtemp(prefix="cbridge-")) if output is None else None
    folder = scratch or output
    assert folder is not None
    if output is not None:
        _drop_others(corpus, output, [tools.clang, *extra])

    def work(module: Module) -> Outcome:
        target = folder / f"{module.name}.o"
        if _is_newer(target, module):
            return Outcome(module.name, 0, target.stat().st_size)
        return _compile(module, tools, target, extra)

    try:
        progress = Progress("compiling", len(corpus))
        outcomes = list(for_each(corpus.modules, work, jobs, tools.children, progress))
    finally:
        if scratch:
            shutil.rmtree(scratch, ignore_errors=True)
    return sorted(outcomes, key=lambda outcome: outcome.name)


def _drop_others(corpus: Corpus, folder: Path, arguments: Sequence[str]) -> None:
    """Removes objects that were compiled in another way, which a file of the folder tells."""
    file = folder / ".arguments"
    text = b"\0".join(os.fsencode(word) for word in arguments)
    if file.exists() and file.read_bytes() == text:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name in corpus.names:
        (folder / f"{name}.o").unlink(missing_ok=True)
    file.write_bytes(text)


def _is_newer(target: Path, module: Module) -> bool:
    try:
        return target.stat().st_mtime_ns > module.bitcode.stat().st_mtime_ns
    except OSError:
        return False


def _compile(module: Module, tools: Toolchain, target: Path, extra: Sequence[str]) -> Outcome:
    temporary = target.with_name(f"{target.name}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not module.bitcode.exists():
            raise CorpusError(f"{module.bitcode}: there is no such file")
        start = time.monotonic()
        tools.run(module.compile_command(tools.clang, temporary, extra))
        seconds = time.monotonic() - start
        os.replace(temporary, target)
        return Outcome(module.name, seconds, target.stat().st_size)
    except (CorpusError, OSError) as error:
        return Outcome(module.name, 0, 0, str(error))
    finally:
        temporary.unlink(missing_ok=True)
