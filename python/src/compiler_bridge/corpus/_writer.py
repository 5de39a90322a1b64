"""Writes a corpus: module by module, from many threads, again where an earlier run ended."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from . import _cc1, _journal
from ._errors import CorpusError
from ._journal import DUPLICATE, KEPT, SKIPPED, Entry, Journal
from ._layout import CLANG, DESCRIPTION, Corpus
from ._tools import Toolchain, ToolError

SKIPPED_FILE = "skipped.txt"
# A killed run may lose this much of the description; the journal still has it.
_SAVE_EVERY = 2.0


class CorpusWriter:
    """A corpus that is being made, or added to; a context manager.

    Modules with equal contents are kept once. All methods may be called from many threads, and
    what is there is a corpus at any moment.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        thinlto: bool | None = None,
        override: Sequence[str] | None = None,
        without: Sequence[Path] = (),
        tools: Toolchain | None = None,
    ) -> None:
        """`thinlto` must be as in the corpus that is there; None: as it is, false for a new one.

        What is in one of the corpora `without` counts as a duplicate, so that a policy is not
        judged on what it was trained on.
        """
        self.directory = Path(directory)
        self.tools = tools or Toolchain.find(CLANG)
        self.directory.mkdir(parents=True, exist_ok=True)
        present = Corpus.open(self.directory) if self._has_description() else None
        if present is not None and thinlto not in (None, present.has_thinlto):
            kind = "of" if present.has_thinlto else "without"
            raise CorpusError(
                f"{self.directory}: is a corpus {kind} ThinLTO modules; a corpus has one kind"
            )
        self.thinlto = bool(thinlto) if present is None else present.has_thinlto
        if override is None and present is not None:
            override = present.override
        self._override = None if override is None else tuple(override)
        self._lock = threading.Lock()
        self._ranks: dict[str, int] = {}
        self._reserved: dict[str, str] = {}  # source -> name
        self._spoken_for: set[str] = set()
        self._journal = Journal(self.directory)
        try:
            self._elsewhere = self._modules_of(without)
            self._entries = _journal.read(self.directory)
            self._adopt(present)
        except BaseException:
            self._journal.close()
            raise
        self._saved = 0.0

    def _has_description(self) -> bool:
        return (self.directory / DESCRIPTION).exists()

    def _modules_of(self, corpora: Sequence[Path]) -> dict[str, str]:
        """Fingerprint -> name, of other corpora."""
        found = {}
        for directory in corpora:
            directory = directory.resolve()
            corpus = Corpus.open(directory)
            if directory == self.directory.resolve():
                raise CorpusError(f"{directory}: cannot be made without what it has itself")
            known = {
                entry.name: entry.detail
                for entry in _journal.history(directory)
                if entry.result == KEPT
            }
            for module in corpus:
                command = () if module.override else module.command
                fingerprint = known.get(module.name) or self._fingerprint(
                    module.bitcode, list(command)
                )
                found[fingerprint] = f"{directory}/{module.name}"
        return found

    def _adopt(self, present: Corpus | None) -> None:
        """Modules that another tool has put there, and what is gone since."""
        self._entries = {
            source: entry
            for source, entry in self._entries.items()
            if entry.result != KEPT or self._file(entry.name, ".bc").exists()
        }
        kept = {entry.name for entry in self._entries.values() if entry.result == KEPT}
        self._drop_orphans(kept | set(present.names if present else ()))
        for module in present or ():
            if module.name not in kept and module.bitcode.exists():
                command = () if module.override else module.command
                fingerprint = self._fingerprint(module.bitcode, list(command))
                self._note(Entry(f"module {module.name}", "", KEPT, module.name, fingerprint))
        self._names = {
            entry.name: entry for entry in self._entries.values() if entry.result == KEPT
        }
        self._fingerprints = {entry.detail: name for name, entry in self._names.items()}

    def _drop_orphans(self, names: set[str]) -> None:
        """A duplicate whose module is gone has to be looked at again."""
        elsewhere = set(self._elsewhere.values())
        self._entries = {
            source: entry
            for source, entry in self._entries.items()
            if entry.result != DUPLICATE or entry.name in names or entry.name in elsewhere
        }

    def _file(self, name: str, suffix: str) -> Path:
        return self.directory / f"{name}{suffix}"

    def is_done(self, source: str, stamp: str) -> bool:
        """Whether this version of an input has been taken. What was skipped is tried again."""
        with self._lock:
            entry = self._entries.get(source)
        return entry is not None and entry.stamp == stamp and entry.result != SKIPPED

    def add(
        self,
        name: str,
        bitcode: Path,
        command: Sequence[str] = (),
        *,
        thinlto_index: Path | None = None,
        source: str | None = None,
        stamp: str = "",
    ) -> Entry:
        """Copies a module into the corpus, unless it has an equal one.

        `name` is a relative path, usually that of the object; `command` are cc1's arguments. Raises
        CorpusError if the bitcode cannot be read.
        """
        if (thinlto_index is not None) != self.thinlto:
            has = "has no" if self.thinlto else "has a"
            raise CorpusError(f"{name}: {has} ThinLTO index")
        if "\n" in name:  # lists of modules have a line for each
            raise CorpusError("its name has a line break")
        fingerprint = self._fingerprint(bitcode, list(command))
        source = source if source is not None else f"module {name}"
        with self._lock:
            before = self._entries.get(source)
            if before is not None and (before.result, before.detail) == (KEPT, fingerprint):
                entry = replace(before, stamp=stamp)
                self._store(entry.name, bitcode, command, thinlto_index)
                self._note(entry)
                return entry
            self._forget(source)
            original = self._fingerprints.get(fingerprint, self._elsewhere.get(fingerprint))
            other = self._names.get(original) if original is not None else None
            if other is not None and self._rank(source) < self._rank(other.source):
                entry = self._supersede(other, Entry(source, stamp, KEPT, name, fingerprint))
                self._store(entry.name, bitcode, command, thinlto_index)
            elif original is not None:
                entry = Entry(source, stamp, DUPLICATE, original, name)
            else:
                entry = Entry(source, stamp, KEPT, self._name(source, name), fingerprint)
                self._store(entry.name, bitcode, command, thinlto_index)
            if entry.result == KEPT:
                self._names[entry.name] = entry
                self._fingerprints[fingerprint] = entry.name
            self._note(entry)
            if time.monotonic() - self._saved > _SAVE_EVERY:
                self._save()
        return entry

    def reserve(self, source: str, name: str) -> None:
        """Gives an input the name that its module will have, `name` or `name~2`: in the order of
        these calls, whichever thread adds its module first."""
        with self._lock:
            before = self._entries.get(source)
            if before is not None and before.result == KEPT:
                name = before.name
            else:
                name = self._free_name(name)
            self._reserved[source] = name
            self._spoken_for.add(name)

    def skip(self, name: str, why: str, *, source: str | None = None, stamp: str = "") -> Entry:
        """Notes that a module is broken."""
        source = source if source is not None else f"module {name}"
        entry = Entry(source, stamp, SKIPPED, _printable(name), _printable(why))
        with self._lock:
            self._forget(entry.source)
            self._note(entry)
        return entry

    def note(self, entry: Entry) -> None:
        """Remembers that an input which is no module was taken."""
        with self._lock:
            self._note(entry)

    def attempt(
        self, name: str, source: str, stamp: str, make: Callable[[], Entry], rank: int | None = None
    ) -> Entry | None:
        """Runs what adds a module, unless that is done; what cannot be made is skipped.

        None if all is as before. Of equal modules the one with the lowest rank is kept, so that a
        corpus does not depend on which thread was first.
        """
        if self.is_done(source, stamp):
            return None
        with self._lock:
            if rank is not None:
                self._ranks[source] = rank
            before = self._entries.get(source)
        try:
            entry = make()
        except (CorpusError, OSError) as error:
            return self.skip(name, str(error), source=source, stamp=stamp)
        return None if before is not None and replace(before, stamp=stamp) == entry else entry

    def entry(self, source: str) -> Entry | None:
        """What has become of an input."""
        with self._lock:
            return self._entries.get(source)

    def _rank(self, source: str) -> int:
        """Those of earlier runs come before all others."""
        return self._ranks.get(source, -1)

    def _supersede(self, other: Entry, entry: Entry) -> Entry:
        """Makes a module, and its duplicates, a duplicate of another; gives that one its name."""
        equal = [
            each
            for each in self._entries.values()
            if each.result == DUPLICATE and each.name == other.name
        ]
        self._forget(other.source)
        entry = replace(entry, name=self._name(entry.source, entry.name))
        self._note(Entry(other.source, other.stamp, DUPLICATE, entry.name, other.name))
        for each in equal:
            self._note(replace(each, name=entry.name))
        return entry

    def _note(self, entry: Entry) -> None:
        self._entries[entry.source] = entry
        self._journal.write(entry)

    def _forget(self, source: str) -> None:
        """An input that has changed since it was taken takes its module with it."""
        entry = self._entries.pop(source, None)
        if entry is None or entry.result != KEPT:
            return
        del self._names[entry.name]
        self._fingerprints.pop(entry.detail, None)
        for suffix in (".bc", ".cmd", ".thinlto.bc"):
            self._file(entry.name, suffix).unlink(missing_ok=True)
        self._drop_orphans(set(self._names))

    def _name(self, source: str, wanted: str) -> str:
        return self._reserved.get(source) or self._free_name(wanted)

    def _free_name(self, wanted: str) -> str:
        """Inside the corpus, and no other module's."""
        parts = [part for part in wanted.split("/") if part not in ("", ".", "..")]
        name = "/".join(parts) or "module"
        number = 1
        free = name
        while self._is_taken(free):
            number += 1
            free = f"{name}~{number}"
        return free

    def _is_taken(self, name: str) -> bool:
        return name in self._names or name in self._spoken_for or self._file(name, ".bc").exists()

    def _store(
        self, name: str, bitcode: Path, command: Sequence[str], thinlto_index: Path | None
    ) -> None:
        self._file(name, ".bc").parent.mkdir(parents=True, exist_ok=True)
        if thinlto_index is not None:
            _journal.replace(self._file(name, ".thinlto.bc"), thinlto_index.read_bytes())
        if self._override is None:
            words = ["-cc1", "-emit-obj", *_cc1.code_generation(list(command))]
            _journal.replace(self._file(name, ".cmd"), b"\0".join(map(os.fsencode, words)))
        _journal.replace(self._file(name, ".bc"), bitcode.read_bytes())

    def _fingerprint(self, bitcode: Path, command: list[str]) -> str:
        """Equal for modules that differ in no more than the names of their files."""
        digest = hashlib.sha256(_cc1.optimization_level(command).encode())
        try:
            text = self.tools.run([self.tools.dis, str(bitcode), "-o", "-"])
        except ToolError as error:
            raise CorpusError(f"is no valid bitcode: {error}") from None
        for line in text.split(b"\n", 2):
            if not line.startswith((b"; ModuleID", b"source_filename")):
                digest.update(line)
        return digest.hexdigest()

    def _save(self) -> None:
        description: dict[str, object] = {}
        if self._override is not None:
            description["global_command_override"] = list(self._override)
        description["has_thinlto"] = self.thinlto
        description["modules"] = sorted(self._names)
        text = json.dumps(description, indent=2) + "\n"
        _journal.replace(self.directory / DESCRIPTION, text.encode())
        self._saved = time.monotonic()

    def close(self) -> None:
        """Writes the description and the list of what was skipped."""
        with self._lock, contextlib.closing(self._journal):
            self._save()
            skipped = [entry for entry in self._entries.values() if entry.result == SKIPPED]
            lines = sorted(f"{entry.name}: {entry.detail}\n" for entry in skipped)
            path = self.directory / SKIPPED_FILE
            if lines:
                _journal.replace(path, "".join(lines).encode(errors="backslashreplace"))
            else:
                path.unlink(missing_ok=True)

    def __enter__(self) -> CorpusWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _printable(text: str) -> str:
    """On one line: names of files can have anything."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )
