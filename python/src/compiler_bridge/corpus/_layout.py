"""MLGO's layout of a corpus: a description, and per module bitcode and a command.

    corpus_description.json     {"has_thinlto": false, "modules": ["src/list.o", ...]}
    src/list.o.bc               bitcode before optimization
    src/list.o.cmd              the arguments of `clang -cc1`, separated by '\\0'
    src/list.o.thinlto.bc       the ThinLTO index, if has_thinlto

`global_command_override` in the description replaces all commands. Directories that mlgo-utils has
written can be opened, and it reads those of `CorpusWriter`.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from . import _cc1
from ._errors import CorpusError

DESCRIPTION = "corpus_description.json"
# What mlgo-utils writes where a person has to say how modules of local ThinLTO are compiled.
UNSPECIFIED = "<UNSPECIFIED>"
CLANG = "clang-19"


@dataclass(frozen=True)
class Module:
    """A module of a corpus. Nothing is read before it is needed."""

    name: str
    bitcode: Path
    thinlto_index: Path | None
    override: tuple[str, ...] | None

    @property
    def command_file(self) -> Path:
        return self.bitcode.with_name(self.bitcode.name.removesuffix(".bc") + ".cmd")

    @property
    def command(self) -> tuple[str, ...]:
        """The arguments it was compiled with: those of cc1 if the first is `-cc1`."""
        if self.override is not None:
            if UNSPECIFIED in self.override:
                raise CorpusError(
                    f"{self.name}: the corpus does not say how it is compiled; replace "
                    f"{UNSPECIFIED!r} in {DESCRIPTION} by the arguments of `clang -cc1`"
                )
            return self.override
        try:
            text = self.command_file.read_bytes()
        except FileNotFoundError:
            raise CorpusError(f"{self.command_file}: there is no such file") from None
        return tuple(os.fsdecode(word) for word in text.split(b"\0") if word)

    @property
    def level(self) -> str:
        """How its command optimizes, such as `-Oz`."""
        return _cc1.optimization_level(list(self.command))

    def compile_command(
        self, clang: str = CLANG, output: str | os.PathLike[str] = "-", extra: Sequence[str] = ()
    ) -> list[str]:
        """The command that makes an object of the module.

        Of the arguments it was compiled with, those stay that make the code. `extra` are further
        ones of cc1, such as ["-mllvm", "-inline-threshold=0"]; they come last, so that ["-O2"]
        chooses another level.
        """
        command = list(self.command)
        with suppress(OSError):  # clang tells why
            if not self.bitcode.stat().st_size:
                raise CorpusError(f"{self.bitcode}: is empty")  # which clang takes for no code
        if self.thinlto_index is not None:
            merged = ["-mllvm", "-thinlto-assume-merged", f"-fthinlto-index={self.thinlto_index}"]
            extra = [*merged, *extra]
        files = ["-x", "ir", str(self.bitcode), "-o", os.fspath(output)]
        if command[:1] == ["-cc1"]:
            words = _cc1.code_generation(command)
            return [clang, "-cc1", *words, *extra, "-emit-obj", *files]
        passed = [word for each in extra for word in ("-Xclang", each)]
        return [clang, *command, *passed, "-c", *files]


@dataclass(frozen=True)
class Corpus:
    """A corpus in a directory, to read."""

    directory: Path
    has_thinlto: bool
    override: tuple[str, ...] | None
    names: tuple[str, ...]

    @staticmethod
    def open(directory: str | os.PathLike[str]) -> Corpus:
        path = Path(directory)
        file = path / DESCRIPTION
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            what = "has no " + DESCRIPTION if path.is_dir() else "there is no such directory"
            raise CorpusError(f"{path}: {what}") from None
        except NotADirectoryError:
            raise CorpusError(f"{path}: is no directory") from None
        except UnicodeDecodeError:
            raise CorpusError(f"{file}: is no text in UTF-8") from None
        try:
            description = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{file}: is no JSON: {error}") from None
        if not isinstance(description, dict):
            raise CorpusError(f"{file}: expected an object")
        names = _words(file, description, "modules")
        if names is None:
            raise CorpusError(f"{file}: has no 'modules'")
        for name in names:
            if not name or name.startswith("/") or ".." in name.split("/"):
                raise CorpusError(f"{file}: module {name!r} is not inside the corpus")
        thinlto = description.get("has_thinlto", False)
        if not isinstance(thinlto, bool):
            raise CorpusError(f"{file}: 'has_thinlto' is neither true nor false")
        override = _words(file, description, "global_command_override")
        return Corpus(path, thinlto, override, tuple(dict.fromkeys(names)))

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Module]:
        return (self.module(name) for name in self.names)

    @property
    def modules(self) -> list[Module]:
        return list(self)

    def module(self, name: str) -> Module:
        index = self.directory / f"{name}.thinlto.bc" if self.has_thinlto else None
        return Module(name, self.directory / f"{name}.bc", index, self.override)


def _words(file: Path, description: dict[str, object], key: str) -> tuple[str, ...] | None:
    if key not in description:
        return None
    words = description[key]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise CorpusError(f"{file}: {key!r} is no list of strings")
    for word in words:
        if not is_native(word):
            raise CorpusError(f"{file}: {key!r} has {word!r}, which nothing can be called")
    return tuple(words)


def is_native(text: str) -> bool:
    """Whether a file can be called so, or an argument be it."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def levels(modules: Iterable[Module]) -> Counter[str]:
    """How many modules are compiled at which level; without those of which it is not known."""
    found: Counter[str] = Counter()
    for module in modules:
        with suppress(CorpusError):
            found[module.level] += 1
    return found
