"""The inputs of a corpus: what becomes a module, where it comes from, and how."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .._progress import Progress
from .._workers import for_each
from ._errors import CorpusError
from ._journal import DUPLICATE, KEPT, SKIPPED, Entry
from ._writer import CorpusWriter


@dataclass(frozen=True)
class Input:
    name: str
    """What the module shall be called."""
    source: str
    """What it comes from, for the journal."""
    stamp: str
    """Which version of it."""
    add: Callable[[CorpusWriter], Entry]
    """Adds the module; raises CorpusError or OSError if it is broken."""


@dataclass
class Tally:
    """What a run has done."""

    kept: int = 0
    duplicates: int = 0
    skipped: int = 0
    unchanged: int = 0

    def __iadd__(self, other: Tally) -> Tally:
        self.kept += other.kept
        self.duplicates += other.duplicates
        self.skipped += other.skipped
        self.unchanged += other.unchanged
        return self

    def count(self, entry: Entry | None) -> None:
        if entry is None:
            self.unchanged += 1
        elif entry.result == KEPT:
            self.kept += 1
        elif entry.result == DUPLICATE:
            self.duplicates += 1
        elif entry.result == SKIPPED:
            self.skipped += 1


def add_all(title: str, writer: CorpusWriter, inputs: Sequence[Input], jobs: int) -> Tally:
    """Adds them in parallel; what the corpus has then is the same as if it was one by one."""

    def work(item: tuple[int, Input]) -> str | None:
        rank, each = item
        add = partial(each.add, writer)
        entry = writer.attempt(each.name, each.source, each.stamp, add, rank)
        return None if entry is None else entry.source

    for each in inputs:
        writer.reserve(each.source, each.name)
    tally = Tally()
    # A module that was kept may have become the duplicate of one that came later.
    progress = Progress(title, len(inputs))
    ranked = list(enumerate(inputs))
    for source in list(for_each(ranked, work, jobs, writer.tools.children, progress)):
        tally.count(None if source is None else writer.entry(source))
    return tally


def stamp(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()[:16]


def file_stamp(path: str | os.PathLike[str]) -> str:
    """Changes when a file does; empty if there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return ""
    return f"{status.st_size}.{status.st_mtime_ns}"


def check_regular(path: Path) -> None:
    """Who reads a FIFO waits for somebody to write to it; a device may never end."""
    if not path.is_file():
        why = "is no regular file" if path.exists() else "there is no such file"
        raise CorpusError(f"{path}: {why}")


def relative(path: str | os.PathLike[str], base: Path) -> str:
    """A module's name for a path: inside of `base` if it is."""
    return os.path.relpath(path, base)
