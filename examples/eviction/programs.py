"""Programs that are compiled and run, and whose executed instructions are counted."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIST = Path(__file__).resolve().parents[1] / "programs" / "programs.json"
LEVEL = "-O2"
COUNTERS = ("perf", "valgrind")
_STANDARDS = {"c": ("clang-19", "-std=c11"), "c++": ("clang++-19", "-std=c++17")}
# What a program sees of its surroundings is the same everywhere: it costs instructions, too.
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
_SECONDS = 300
_COLLECTED = re.compile(r"Collected *: *(\d+)")


class ExampleError(Exception):
    """What keeps us from training or measuring, in one line."""


@dataclass(frozen=True)
class Program:
    """One of programs.json, whose format is told beside it."""

    name: str
    language: str
    sources: tuple[Path, ...]
    arguments: tuple[str, ...]
    stdin: Path | None
    expected: Path

    @property
    def clang(self) -> list[str]:
        return [*_STANDARDS[self.language]]


def read(file: Path = LIST) -> dict[str, Program]:
    """The programs of a list, by name."""
    try:
        described: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["programs"]
        return {each["name"]: _program(file.parent / each["name"], each) for each in described}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ExampleError(f"{file}: is no list of programs: {error}") from None


def _program(folder: Path, described: dict[str, Any]) -> Program:
    return Program(
        described["name"],
        described["language"],
        tuple(folder / name for name in described["sources"]),
        tuple(described["arguments"]),
        folder / described["stdin"] if described["stdin"] else None,
        folder / described["expected"],
    )


def chosen(programs: dict[str, Program], names: Sequence[str]) -> list[Program]:
    for name in names:
        if name not in programs:
            raise ExampleError(f"there is no program {name!r}; there are {', '.join(programs)}")
    return [programs[name] for name in names]


def call(command: Sequence[str | os.PathLike[str]], **options: Any) -> str:
    """What a command prints on standard error; ExampleError if it fails."""
    try:
        done = subprocess.run(
            command, timeout=_SECONDS, stderr=subprocess.PIPE, check=False, **options
        )
    except FileNotFoundError:
        raise ExampleError(f"there is no {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise ExampleError(f"{command[0]} takes more than {_SECONDS} s") from None
    printed: str = done.stderr.decode(errors="replace")
    if done.returncode:
        said = [line for line in printed.splitlines() if line.strip()]
        why = said[0] if said else f"exit status {done.returncode}"
        raise ExampleError(f"{' '.join(map(str, command))}: {why}")
    return printed


class Bench:
    """Links programs, runs them in folders of its own, and counts what they execute."""

    def __init__(self, counter: str = "auto") -> None:
        self.counter = _counter(counter)
        self._folder = Path(tempfile.mkdtemp(prefix="cbridge-evict-"))

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def executed(self, program: Program, objects: Sequence[Path]) -> int:
        """Instructions of a run, libraries included. Its output must be the expected one."""
        place = self._folder / program.name
        if not place.exists():
            left_out = shutil.ignore_patterns("*.c", "*.cpp", "*.h")
            shutil.copytree(program.expected.parent, place, ignore=left_out)
        # The name is a part of what the program sees.
        binary = place / "program.exe"
        call([program.clang[0], *objects, "-o", binary])
        output, report = self._folder / "output", self._folder / "report"
        with open(program.stdin or os.devnull, "rb") as stdin, open(output, "wb") as stdout:
            call(
                [*_counting(self.counter, report), "./program.exe", *program.arguments],
                cwd=place,
                env=_ENVIRONMENT,
                stdin=stdin,
                stdout=stdout,
            )
        if output.read_bytes() != program.expected.read_bytes():
            raise ExampleError(f"{program.name}: does not print what it should")
        return _counted(self.counter, report)


def _counting(counter: str, report: Path) -> list[str]:
    if counter == "perf":
        # Addresses that are drawn at random take more or fewer instructions to look up.
        perf = ["perf", "stat", "-x,", "-e", "instructions:u", "-o", str(report)]
        return ["setarch", "-R", *perf]
    # Of valgrind's tools that count exactly it is the fastest.
    quiet = ["--callgrind-out-file=/dev/null", f"--log-file={report}"]
    return ["valgrind", "--tool=callgrind", *quiet]


def _counted(counter: str, report: Path) -> int:
    text = report.read_text(errors="replace")
    if counter == "perf":
        lines = [line.split(",") for line in text.splitlines() if "instructions" in line]
        if not lines or not lines[0][0].isdigit():
            why = lines[0][0] if lines else "nothing"
            raise ExampleError(f"perf counts no instructions here: {why}")
        return int(lines[0][0])
    if not (found := _COLLECTED.findall(text)):
        raise ExampleError("valgrind has not told how many instructions it counted")
    return int(found[0])


def _counter(wanted: str) -> str:
    """The first that works here."""
    why = []
    for counter in COUNTERS if wanted == "auto" else (wanted,):
        with tempfile.TemporaryDirectory(prefix="cbridge-evict-") as folder:
            report = Path(folder) / "report"
            try:
                call([*_counting(counter, report), "true"], stdout=subprocess.DEVNULL)
                _counted(counter, report)
            except (ExampleError, OSError) as error:
                why.append(str(error))
            else:
                return counter
    raise ExampleError(
        f"executed instructions cannot be counted: {'; '.join(why)}. Install the Debian package "
        "valgrind, which counts on every machine"
    )
