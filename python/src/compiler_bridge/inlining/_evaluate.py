"""Compiles modules by one inlining policy or another, again and again."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import numpy as np

from .. import log
from .._compile_worker import Compiled, CompileWorkers
from .._scratch import Scratch, in_memory
from ..corpus import CorpusError, Module, _jobs
from ..spec import TensorSpec

DECISION = TensorSpec("inlining_decision", "int64", (1,))
CALLER, CALLEE = "caller_name", "callee_name"
KEYS = (TensorSpec(CALLER, "str", (1,)), TensorSpec(CALLEE, "str", (1,)))

_T = TypeVar("_T")
Pair = tuple[str, str]
"""A caller and a callee: all calls of one by the other are decided alike."""


# How often a compile is begun that others have ended.
_ATTEMPTS = 3
# How the plugin begins what it says about itself: that LLVM's heuristic decides, and why.
_SAID = "cbridge:"


class CompileFailed(Exception):  # noqa: N818 - of a module, not of ours
    """A module that cannot be compiled; the message says why."""


class CompileEnded(CompileFailed):
    """Somebody else has ended the compile, or its worker: it may go well another time."""


class DidNotDecide(CompileFailed):
    """A policy that could not be opened, or failed; LLVM's heuristic decided in its place."""


def patiently(attempt: Callable[[], _T]) -> _T:
    """What it comes to, if it must be begun again. A compile depends on nothing but what it is
    told: what it makes must not depend on when others end it."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(CompileEnded):
            return attempt()
    return attempt()


@dataclass(frozen=True)
class Evaluation:
    """What a policy made of a module, and, if it was recorded, what it was asked and decided."""

    compiled: Compiled
    asked: log.Log | None = None

    @property
    def text(self) -> int:
        return self.compiled.text

    @property
    def total(self) -> int:
        return self.compiled.total

    @property
    def pairs(self) -> list[Pair]:
        """Of each decision."""
        assert self.asked is not None
        if not len(self.asked):
            return []
        callers, callees = self.asked.features[CALLER], self.asked.features[CALLEE]
        return [(a[0], b[0]) for a, b in zip(callers, callees, strict=True)]

    @property
    def decisions(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        assert self.asked is not None
        if not len(self.asked):
            return np.zeros(0, np.int64)
        return np.asarray(self.asked.decisions[DECISION.name][:, 0])


class Evaluator:
    """Evaluates policies on modules. Any thread may; at most as many at once as there are
    workers."""

    def __init__(
        self, plugin: Path, jobs: int, clang: str = "clang-19", timeout: float = 300.0
    ) -> None:
        self._workers = CompileWorkers(jobs, [plugin])
        self._plugin, self._clang, self._timeout = plugin, clang, timeout
        self._files = Scratch("cbridge-evaluate-", in_memory())
        self._of_driver: dict[Path, list[str]] = {}

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._workers.close()
        self._files.close()

    @property
    def workers(self) -> CompileWorkers:
        return self._workers

    def heuristic(self, module: Module, features: Sequence[str] = ()) -> Evaluation:
        """By LLVM's own heuristic; recorded with these features, if any."""
        if not features:
            return Evaluation(patiently(lambda: self._compile(module, None)))
        return self._recorded(module, "heuristic:", features)

    def runner(self, module: Module, runner: str) -> Evaluation:
        """By a model, which is not recorded."""
        return Evaluation(patiently(lambda: self._compile(module, runner)))

    def recorded(self, module: Module, runner: str, features: Sequence[str]) -> Evaluation:
        """By a model, recorded with these features beyond LLVM's."""
        return self._recorded(module, runner, features)

    def asked_at(self, module: Module, address: str, features: Sequence[str]) -> Compiled:
        """By whoever answers there, who is told these features beyond LLVM's, and who must begin
        anew after CompileEnded."""
        return self._compile(module, address, {"CBRIDGE_INLINE_FEATURES": ",".join(features)})

    def decided(
        self, module: Module, decisions: Mapping[Pair, int], features: Sequence[str]
    ) -> Evaluation:
        """As `decisions` say; LLVM's heuristic decides on all other pairs. Recorded."""
        if not decisions:
            return self._recorded(module, "heuristic:", features)
        with self._scratch() as folder:
            file = folder / "decisions.log"
            write_decisions(file, str(module.bitcode), decisions)
            runner = f"replay:{quote(str(file))}?key={CALLER},{CALLEE}"
            return self._recorded(module, runner, features)

    @contextmanager
    def _scratch(self) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp(dir=self._files.path))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _recorded(self, module: Module, runner: str, features: Sequence[str]) -> Evaluation:
        return patiently(lambda: self._record(module, runner, features))

    def _record(self, module: Module, runner: str, features: Sequence[str]) -> Evaluation:
        with self._scratch() as folder:
            logs = folder / "logs"
            sign = "&" if "?" in runner else "?"
            names = ",".join((*features, CALLER, CALLEE))
            compiled = self._compile(
                module,
                f"{runner}{sign}record={quote(str(logs))}/",
                {"CBRIDGE_INLINE_FEATURES": names},
            )
            asked = log.read(logs) if logs.is_dir() and any(logs.iterdir()) else _nothing_asked()
            return Evaluation(compiled, asked)

    def _compile(
        self, module: Module, runner: str | None, more: Mapping[str, str] | None = None
    ) -> Compiled:
        environment: dict[str, str | None] = {
            "CBRIDGE_DISABLE": None,
            "CBRIDGE_INLINE_EXPLAIN": None,
            "CBRIDGE_INLINE_FEATURES": None,
            "CBRIDGE_INLINE_MODEL": runner,
            **(more or {}),
        }
        if runner and module.thinlto_index is not None:
            raise CompileFailed(f"{module.name}: clang loads no pass plugins for ThinLTO")
        arguments = self._cc1_arguments(module)
        if runner:
            arguments = [*arguments, f"-fpass-plugin={self._plugin}"]
        with self._workers.one() as worker:
            done = worker.compile(arguments, environment=environment, timeout=self._timeout)
        if done.failure:
            kind = CompileEnded if done.was_ended else CompileFailed
            raise kind(f"{module.name}: {done.why}")
        said = next((line for line in done.printed.splitlines() if line.startswith(_SAID)), None)
        if runner and said:
            raise DidNotDecide(f"{module.name}: {said.removeprefix(_SAID).strip()}")
        return done

    def _cc1_arguments(self, module: Module) -> list[str]:
        """Those of `clang -cc1`, also where the module's are those of clang's driver."""
        if known := self._of_driver.get(module.bitcode):
            return known
        try:
            command = module.compile_command(self._clang, os.devnull)
        except (CorpusError, OSError) as error:
            raise CompileFailed(str(error)) from None
        if command[1] == "-cc1":
            return command[1:]
        try:
            told = subprocess.run(
                [*command, "-###"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="surrogateescape",
                timeout=self._timeout,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CompileFailed(f"{module.name}: {error}") from None
        jobs = _jobs.jobs(told.stderr, ("ir",))
        if told.returncode or not jobs:
            lines = [line for line in told.stderr.splitlines() if "error:" in line]
            why = lines[0] if lines else f"{self._clang} names no cc1 command"
            raise CompileFailed(f"{module.name}: {why}")
        self._of_driver[module.bitcode] = jobs[0].arguments
        return jobs[0].arguments


def write_decisions(file: Path, context: str, decisions: Mapping[Pair, int]) -> None:
    """For `replay:FILE?key=caller_name,callee_name`."""
    with log.LogWriter(file, KEYS, DECISION) as writer:
        for (caller, callee), decision in decisions.items():
            writer.write(context, {CALLER: caller, CALLEE: callee}, {DECISION.name: decision})


def _nothing_asked() -> log.Log:
    none = np.zeros(0, np.int64)
    return log.Log((), (), {}, {}, np.zeros(0), none, none, [], [], [])
