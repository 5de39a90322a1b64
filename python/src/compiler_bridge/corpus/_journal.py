"""What became of each input of a corpus, in the order of events; the memory of a second run.

`corpus_journal.jsonl` has a line of JSON per input. It is only appended to, so that whatever ends a
run leaves at most half a line behind, which is dropped.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from ._errors import CorpusError

JOURNAL = "corpus_journal.jsonl"

KEPT, DUPLICATE, SKIPPED = "kept", "duplicate", "skipped"
BUILT = "built"  # a whole package, whose modules have entries of their own


@dataclass(frozen=True)
class Entry:
    source: str
    """Which input: the object in a directory, the entry in a list of commands."""
    stamp: str
    """Which version of it."""
    result: str
    """KEPT, DUPLICATE, SKIPPED or BUILT."""
    name: str
    """Of the module; of a duplicate, the one that is kept instead."""
    detail: str = ""
    """The fingerprint of what was kept, why another was not."""


def read(directory: Path) -> dict[str, Entry]:
    """The latest entry per source; none if the corpus was made by another tool."""
    try:
        text = (directory / JOURNAL).read_bytes()
    except FileNotFoundError:
        return {}
    entries = {}
    for line in text.split(b"\n"):
        entry = _parse(line)
        if entry is not None:
            entries[entry.source] = entry
    return entries


def history(directory: Path) -> list[Entry]:
    """What became of each input of a corpus."""
    return list(read(directory).values())


def _parse(line: bytes) -> Entry | None:
    try:
        fields = json.loads(line)
        entry = Entry(**fields)
    except (ValueError, TypeError, RecursionError):
        return None
    return entry if all(isinstance(each, str) for each in fields.values()) else None


class Journal:
    """Open to write, by one process at a time."""

    def __init__(self, directory: Path) -> None:
        self._path = path = directory / JOURNAL
        self._file: BinaryIO = open(path, "ab")  # noqa: SIM115 - closed by close()
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise CorpusError(f"{directory}: another cbridge is writing this corpus") from None
        if self._file.tell() and not path.read_bytes().endswith(b"\n"):
            self._file.write(b"\n")

    def write(self, entry: Entry) -> None:
        with _naming(self._path):
            self._file.write(json.dumps(asdict(entry)).encode() + b"\n")
            self._file.flush()

    def close(self) -> None:
        with _naming(self._path):
            self._file.close()


def replace(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with _naming(path):
            temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """An error of a write, such as that the disk is full, does not say where."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
