"""What networks make of modules, with as few compiles as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np

from .._progress import Progress
from .._scratch import Scratch
from .._workers import for_each
from ..codegen import generate, weights_file
from ..codegen._toolchain import build_so
from ..corpus import Module
from ..inlining._evaluate import CompileFailed, DidNotDecide, Evaluation, Evaluator
from ._features import EXTRA, Matrix, matrix
from ._network import Network

# Of one module; more are forgotten.
_REMEMBERED = 24
# Scores of which another order of additions may change the sign.
_UNSURE = 1e-3


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A compile: what was asked, what was decided, and what came out."""

    rows: Matrix
    decisions: np.ndarray[tuple[int], np.dtype[np.int64]]
    evaluation: Evaluation

    @classmethod
    def of(cls, evaluation: Evaluation) -> Trajectory:
        assert evaluation.asked is not None
        return cls(matrix(evaluation.asked.features), evaluation.decisions, evaluation)

    @property
    def text(self) -> int:
        return self.evaluation.text

    @property
    def total(self) -> int:
        return self.evaluation.total


class Rollouts:
    """Compiles modules by networks. A network that decides at every call as another one did is not
    asked again: a compile depends on nothing but its decisions.

    All networks must be of one architecture and look at features in the same way."""

    def __init__(self, evaluator: Evaluator, modules: Sequence[Module]) -> None:
        self._evaluator = evaluator
        self._files: Scratch | None = None
        # By their bitcode: two corpora may each have a module of one name.
        self._known: dict[Path, list[Trajectory]] = {}
        self.compiles = 0
        self.failed: dict[Module, str] = {}
        """Those that cannot be compiled, and why."""
        baselines = for_each(
            modules,
            self._by_heuristic,
            len(evaluator.workers),
            evaluator.workers,
            Progress("baseline", len(modules)),
        )
        for module, found in zip(modules, baselines, strict=True):
            if isinstance(found, Trajectory):
                self._known[module.bitcode] = [found]
            else:
                self.failed[module] = found

    def close(self) -> None:
        if self._files is not None:
            self._files.close()

    def __contains__(self, module: Module) -> bool:
        """Whether it can be compiled."""
        return module.bitcode in self._known

    def baseline(self, module: Module) -> Trajectory:
        """By LLVM's heuristic."""
        return self._known[module.bitcode][0]

    def _by_heuristic(self, module: Module) -> Trajectory | str:
        try:
            return Trajectory.of(self._evaluator.heuristic(module, EXTRA))
        except DidNotDecide:
            raise
        except CompileFailed as why:
            return str(why).removeprefix(f"{module.name}: ")

    def run(self, network: Network, modules: Sequence[Module]) -> list[Trajectory]:
        """A trajectory for each module. One whose compile fails gets its baseline's."""
        found = self._remembered(network, modules)
        missing = [i for i, each in enumerate(found) if each is None]
        if missing:
            runner = self._runner(network)
            self.compiles += len(missing)

            def work(i: int) -> Trajectory:
                try:
                    return Trajectory.of(self._evaluator.recorded(modules[i], runner, EXTRA))
                except DidNotDecide:
                    raise
                except CompileFailed:
                    return self.baseline(modules[i])

            workers = self._evaluator.workers
            for i, made in zip(
                missing, for_each(missing, work, len(workers), workers), strict=True
            ):
                found[i] = made
                known = self._known[modules[i].bitcode]
                known.append(made)
                # The baseline stays.
                del known[1 : len(known) - _REMEMBERED + 1]
        return [each for each in found if each is not None]

    def _remembered(self, network: Network, modules: Sequence[Module]) -> list[Trajectory | None]:
        """By rounds, the latest first: all modules of a round are looked at together."""
        found: list[Trajectory | None] = [None] * len(modules)
        waiting = list(range(len(modules)))
        for back in range(1, _REMEMBERED + 2):
            tried = [
                (i, known[-back])
                for i in waiting
                if len(known := self._known[modules[i].bitcode]) >= back
            ]
            if not tried:
                break
            rows = np.concatenate([each.rows for _, each in tried])
            wanted = np.concatenate([each.decisions for _, each in tried])
            scores = network.scores(network.standardized(rows))
            # The compiled network rounds otherwise: where that may matter, it is asked.
            same = ((scores > 0) == wanted) & (np.abs(scores) > _UNSURE)
            place = 0
            for i, each in tried:
                if same[place : place + len(each.decisions)].all():
                    found[i] = each
                place += len(each.decisions)
            waiting = [i for i in waiting if found[i] is None]
        return found

    def _runner(self, network: Network) -> str:
        """The library is compiled once; each network is a file of weights."""
        made = generate(network.as_onnx(), "Policy", weights="file")
        if self._files is None:
            self._files = Scratch("cbridge-rollouts-")
            (self._files.path / "Policy.so").write_bytes(build_so(made))
        library, file = (self._files.path / f"Policy.{each}" for each in ("so", "weights"))
        file.write_bytes(weights_file(made.description, made.weights))
        return f"native:{quote(str(library))}?weights={quote(str(file))}"


def saving(trajectories: Sequence[Trajectory], baselines: Sequence[Trajectory]) -> float:
    """The share of all code that is saved."""
    before = sum(each.text for each in baselines)
    return 1 - sum(each.text for each in trajectories) / before if before else 0.0
