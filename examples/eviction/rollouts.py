"""What policies make of programs, with as few compiles and runs as possible."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from policy import POSITIONS, Allowed, Rows, rows_of
from programs import LEVEL, Bench, ExampleError, Program, call

from compiler_bridge.llvm import InteractiveHost
from compiler_bridge.training import Choices

Decide = Callable[[Rows, Allowed], int]
# Of one source; more are forgotten.
_REMEMBERED = 24


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A compile: what was asked, what was decided, and the object that came out."""

    questions: list[tuple[Rows, Allowed]]
    decisions: list[int]
    object_file: Path

    def is_of(self, decide: Decide) -> bool:
        """Whether a policy would decide so at every question; what is asked first does not depend
        on it, and what is asked next only on the decisions before."""
        pairs = zip(self.questions, self.decisions, strict=True)
        return all(decide(*question) == decision for question, decision in pairs)


class Rollouts:
    """Compiles programs by policies and runs them. Sources are optimized once, and kept as bitcode
    of which clang makes the same object as of the source; a policy that decides at every question
    as another one did is not compiled again, and programs that are the same do not run again."""

    def __init__(self, bench: Bench, programs: Sequence[Program]) -> None:
        self._bench = bench
        self._folder = Path(tempfile.mkdtemp(prefix="cbridge-evict-"))
        self._known: dict[Path, list[Trajectory]] = {}
        self._counts: dict[tuple[str, ...], int] = {}
        self.compiles = self.runs = 0
        self._bitcode: dict[Path, Path] = {}
        self._greedy: dict[Path, Path] = {}
        self.baseline: dict[str, int] = {}
        try:
            for program in programs:
                for source in program.sources:
                    self._prepare(program, source)
                objects = [self._greedy[source] for source in program.sources]
                self.baseline[program.name] = self._executed(program, objects)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def executed(self, decide: Decide, program: Program) -> int:
        """Instructions of the program, compiled by a policy."""
        made = [self._compiled(program, source, decide) for source in program.sources]
        return self._executed(program, [each.object_file for each in made])

    def saving(self, decide: Decide, programs: Sequence[Program]) -> float:
        """The share of instructions that is saved, on average of the programs."""
        ratios = [self.executed(decide, each) / self.baseline[each.name] for each in programs]
        return 1 - sum(ratios) / len(ratios)

    def choices(self, decide: Decide, programs: Sequence[Program]) -> Choices:
        """A policy's decisions, to be imitated."""
        made = [self._compiled(p, source, decide) for p in programs for source in p.sources]
        questions = [question for each in made for question in each.questions]
        if not questions:
            raise ExampleError("no program has a register to decide on")
        decisions = np.array([i for each in made for i in each.decisions], np.int64)
        return Choices(
            np.stack([rows for rows, _ in questions]),
            np.stack([allowed for _, allowed in questions]),
            decisions,
            np.ones(len(decisions), np.float32),
        )

    def same_objects(self, decide: Decide, programs: Sequence[Program]) -> tuple[int, int]:
        """How many objects are greedy's, byte by byte, and of how many."""
        pairs = [
            (self._compiled(p, source, decide).object_file, self._greedy[source])
            for p in programs
            for source in p.sources
        ]
        return sum(a.read_bytes() == b.read_bytes() for a, b in pairs), len(pairs)

    def _prepare(self, program: Program, source: Path) -> None:
        stem = self._folder / f"{program.name}-{source.name}"
        bitcode, made = stem.with_suffix(".bc"), stem.with_suffix(".greedy.o")
        call([*program.clang, LEVEL, "-emit-llvm", "-c", source, "-o", bitcode])
        call([*_from_bitcode(program, bitcode), "-o", made])
        self._bitcode[source], self._greedy[source] = bitcode, made

    def _compiled(self, program: Program, source: Path, decide: Decide) -> Trajectory:
        known = self._known.setdefault(source, [])
        for each in reversed(known):
            if each.is_of(decide):
                return each
        self.compiles += 1
        questions: list[tuple[Rows, Allowed]] = []
        decisions: list[int] = []
        made = self._folder / f"{self.compiles}.o"
        command = [*_from_bitcode(program, self._bitcode[source]), "-o", str(made)]
        with InteractiveHost(decisions="evict") as host:
            for request in host.run([*command, *host.flags()], stderr=subprocess.DEVNULL):
                question = rows_of(request)
                decision = decide(*question)
                assert 0 <= decision < POSITIONS
                questions.append(question)
                decisions.append(decision)
                host.reply(decision)
            if host.returncode:
                # As cbridge-clang does where a model leads to nothing.
                made = self._greedy[source]
        known.append(Trajectory(questions, decisions, made))
        if len(known) > _REMEMBERED:
            self._forget(known.pop(0))
        return known[-1]

    def _forget(self, old: Trajectory) -> None:
        if old.object_file not in self._greedy.values():
            old.object_file.unlink()

    def _executed(self, program: Program, objects: Sequence[Path]) -> int:
        digests = [hashlib.sha256(each.read_bytes()).hexdigest() for each in objects]
        key = (program.name, *digests)
        if key not in self._counts:
            self.runs += 1
            self._counts[key] = self._bench.executed(program, objects)
        return self._counts[key]


def _from_bitcode(program: Program, bitcode: Path) -> list[str]:
    return [program.clang[0], LEVEL, "-Xclang", "-disable-llvm-passes", "-c", str(bitcode)]
