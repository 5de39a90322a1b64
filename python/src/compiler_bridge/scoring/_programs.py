"""Programs that modules of a corpus link to: what they compute, and in how many instructions.

`programs.json` in the corpus says how; its format is in docs/formats/programs.md.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._children import Finished
from ..corpus import Corpus, Toolchain
from ._errors import ScoreError
from ._measure import Broken, Compiler
from ._policy import digest

DESCRIPTION = "programs.json"
_COLLECTED = re.compile(r"Collected *: *(\d+)")
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
# So much of an output is kept to show where two differ.
_SHOWN = 1 << 16


@dataclass(frozen=True)
class Run:
    arguments: tuple[str, ...]
    stdin: Path | None
    files: tuple[Path, ...]
    expected: Path | None

    def inputs(self) -> list[Path]:
        return [path for path in (self.stdin, *self.files) if path]


@dataclass(frozen=True)
class Program:
    name: str
    modules: tuple[str, ...]
    language: str
    link: tuple[str, ...]
    runs: tuple[Run, ...]

    def fingerprint(self) -> Any:
        """What its outcome depends on, besides the modules."""
        return [
            [self.language, *self.link],
            [[*run.arguments] for run in self.runs],
            [[[path.name, digest(path)] for path in run.inputs()] for run in self.runs],
        ]


@dataclass(frozen=True)
class Outcome:
    """Of all runs: the instructions, if valgrind counted them, and per run the exit status, a
    digest of the output, and its beginning."""

    instructions: int | None
    runs: tuple[tuple[int, str, str], ...]


def read(corpus: Corpus) -> list[Program]:
    """The programs of a corpus; none if it does not tell."""
    file = corpus.directory / DESCRIPTION
    if file.exists() and not file.is_file():
        raise ScoreError(f"{file}: is no regular file")
    try:
        described = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise ScoreError(f"{file}: is no JSON: {error}") from None
    except RecursionError:
        raise ScoreError(f"{file}: is nested too deeply") from None
    programs = _field(file, described, "programs", list)
    found = [_program(f"{file}: program {i + 1}", corpus, each) for i, each in enumerate(programs)]
    names = [program.name for program in found]
    for name in names:
        if names.count(name) > 1:
            raise ScoreError(f"{file}: there are two programs {name!r}")
    return found


def _program(where: str, corpus: Corpus, described: Any) -> Program:
    name = _field(where, described, "name", str)
    where = f"{where} ({name})"
    _check_keys(where, described, ("name", "modules", "language", "link", "runs"))
    modules: list[str] = []
    for pattern in _strings(where, described, "modules"):
        # Names may have characters that patterns have, too.
        exact = pattern in corpus.names
        matching = [pattern] if exact else fnmatch.filter(corpus.names, pattern)
        if not matching:
            raise ScoreError(f"{where}: no module of the corpus is {pattern!r}")
        modules += [module for module in matching if module not in modules]
    if not modules:
        raise ScoreError(f"{where}: has no 'modules'")
    language = _field(where, described, "language", str, "c")
    if language not in ("c", "c++"):
        raise ScoreError(f"{where}: 'language' is {language!r}; expected c or c++")
    runs = _field(where, described, "runs", list)
    if not runs:
        raise ScoreError(f"{where}: 'runs' is empty")
    return Program(
        name,
        tuple(modules),
        language,
        _strings(where, described, "link"),
        tuple(_run(f"{where}: run {i + 1}", corpus, each) for i, each in enumerate(runs)),
    )


def _run(where: str, corpus: Corpus, described: Any) -> Run:
    _check_keys(where, described, ("arguments", "stdin", "files", "expected"))

    def path(name: str) -> Path:
        found = corpus.directory / name
        if not found.is_file():
            raise ScoreError(f"{where}: there is no file {found}")
        return found

    stdin = _field(where, described, "stdin", str, "")
    expected = _field(where, described, "expected", str, "")
    return Run(
        _strings(where, described, "arguments"),
        path(stdin) if stdin else None,
        tuple(path(name) for name in _strings(where, described, "files")),
        path(expected) if expected else None,
    )


def _check_object(where: object, described: Any) -> None:
    if not isinstance(described, dict):
        raise ScoreError(f"{where}: expected an object")


def _check_keys(where: str, described: Any, keys: Sequence[str]) -> None:
    _check_object(where, described)
    for key in described:
        if key not in keys:
            raise ScoreError(f"{where}: unknown key {key!r}; there are {', '.join(keys)}")


def _field(where: object, described: Any, key: str, kind: type, default: Any = None) -> Any:
    _check_object(where, described)
    value = described.get(key, default)
    if not isinstance(value, kind):
        what = "is missing" if value is None else f"is no {'list' if kind is list else 'string'}"
        raise ScoreError(f"{where}: {key!r} {what}")
    if isinstance(value, str):
        _check_text(where, key, value)
    return value


def _check_text(where: object, key: str, text: str) -> None:
    """JSON can have strings that no file and no argument can."""
    try:
        possible = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise ScoreError(f"{where}: {key!r} has a NUL or half a character: {_quoted(text)}")


def _strings(where: str, described: Any, key: str) -> tuple[str, ...]:
    words = _field(where, described, key, list, [])
    if not all(isinstance(word, str) for word in words):
        raise ScoreError(f"{where}: {key!r} is no list of strings")
    for word in words:
        _check_text(where, key, word)
    return tuple(words)


class Bench:
    """Links programs and runs them; under valgrind if there is one."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self.valgrind = shutil.which("valgrind")

    def outcome(self, program: Program, objects: Sequence[Path], folder: Path) -> Outcome:
        binary = folder / "program"
        tools = Toolchain(self._compiler.clang)
        driver = tools.clangxx if program.language == "c++" else tools.clang
        command = [driver, *map(str, objects), *program.link, "-o", str(binary)]
        done = self._compiler.children.run(command, self._compiler.timeout)
        if done.status != 0:
            raise Broken(f"does not link: {done.why}")
        count: int | None = 0
        runs = []
        for number, run in enumerate(program.runs):
            place = folder / f"run{number}"
            status, output, instructions = self._run(binary, run, place)
            count = None if count is None or instructions is None else count + instructions
            runs.append((status, digest(output), _beginning(output)))
            shutil.rmtree(place)
            output.unlink()
        binary.unlink()
        return Outcome(count, tuple(runs))

    def _run(self, binary: Path, run: Run, place: Path) -> tuple[int, Path, int | None]:
        place.mkdir()
        for file in run.files:
            shutil.copyfile(file, place / file.name)
        output = place.with_suffix(".out")
        command = [str(binary), *run.arguments]
        logs = place.with_suffix(".log")
        if self.valgrind:
            logs.mkdir()
            # Of the tools that count exactly it is the fastest; a file per process that forks off.
            tool = ["--tool=callgrind", "--callgrind-out-file=/dev/null", f"--log-file={logs}/%p"]
            command = [self.valgrind, *tool, *command]
        done: Finished = self._compiler.children.run(
            command,
            self._compiler.timeout,
            environment=_ENVIRONMENT,
            folder=place,
            stdin=run.stdin,
            stdout=output,
        )
        if done.status is None:
            raise Broken("takes too long to run")
        if not self.valgrind:
            return done.status, output, None
        counts = [_COLLECTED.findall(log.read_text(errors="replace")) for log in logs.iterdir()]
        shutil.rmtree(logs)
        return done.status, output, sum(int(count) for each in counts for count in each)


def _beginning(path: Path) -> str:
    with open(path, "rb") as file:
        return file.read(_SHOWN).decode(errors="backslashreplace")


def check_expected(program: Program, outcome: Outcome) -> None:
    """Broken if the output is not what the corpus says it must be."""
    for number, (run, (status, seen, text)) in enumerate(
        zip(program.runs, outcome.runs, strict=True)
    ):
        if run.expected and digest(run.expected) != seen:
            wanted = status, digest(run.expected), _beginning(run.expected)
            why = _differing(wanted, (status, seen, text))
            ended = f", {_status(status)}" if status else ""
            raise Broken(f"run {number + 1}: is not what is expected: {why}{ended}")


def difference(baseline: Outcome, policy: Outcome) -> str | None:
    """How what the programs did differs; None if it does not."""
    for number, (a, b) in enumerate(zip(baseline.runs, policy.runs, strict=True)):
        if (a[0], a[1]) != (b[0], b[1]):
            return f"run {number + 1}: {_differing(a, b)}"
    return None


def _differing(wanted: tuple[int, str, str], seen: tuple[int, str, str]) -> str:
    if wanted[0] != seen[0]:
        return f"{_status(seen[0])} instead of {_status(wanted[0])}"
    # One line more than there is, so that an output that ends too early differs in that line.
    wanted_lines, seen_lines = ([*text[2].split("\n"), None] for text in (wanted, seen))
    for number, (a, b) in enumerate(zip(wanted_lines, seen_lines, strict=False)):
        if a != b:
            return f"line {number + 1} of the output is {_quoted(b)} instead of {_quoted(a)}"
    return "the output differs"


def _status(status: int) -> str:
    return Finished(status, 0.0, "").why


def _quoted(line: str | None) -> str:
    if line is None:
        return "missing"
    return repr(line if len(line) <= 60 else line[:57] + "...")
