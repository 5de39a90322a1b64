"""Trains an inlining policy: imitation first, then policy search, with checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from .._words import plural
from ..corpus import Module
from ..export import ModelError
from ..inlining._evaluate import Evaluator
from ..scoring._statistics import Comparison, compare
from . import _checkpoint, _examples
from ._checkpoint import Point, State
from ._credit import credit
from ._evolution import Evolution
from ._imitation import Examples, enough_epochs, imitate
from ._network import Network
from ._ppo import Ppo
from ._rollout import Rollouts, saving
from ._sampling import Sampler, temperature_for

METHODS = ("ppo", "es")
# Of the streams of random numbers, so that none is another's.
_BATCHES, _DRAWS, _WEIGHTS, _SHOWN = range(4)
# Modules of the training corpus whose size is shown.
_MOST_SHOWN = 150
# Of a step's network in the average.
_SHARE = 0.2
# Of decisions that `ppo` tries otherwise. A network that has become sure of all it decides would
# try nothing, and what it learned from then on would be noise.
_EXPLORED = 0.06


@dataclass(frozen=True)
class Plan:
    """All that a result depends on, beside what it is given."""

    method: str = "ppo"
    steps: int = 100
    batch: int = 64
    """Modules per step."""
    pairs: int = 8
    """Of `es`: changes per step, each in both directions."""
    seed: int = 0
    hidden: tuple[int, ...] = (64, 32)
    epochs: int | None = None
    """Of imitation; none: as many as it takes."""
    every: int = 5
    """Steps from one validation to the next."""
    patience: int = 10
    """Validations without anything better, after which it stops."""
    device: str = "cpu"


Report = Callable[[State, bool], None]
"""Called after each step, and told whether it was validated."""


class Training:
    def __init__(
        self,
        evaluator: Evaluator,
        plan: Plan,
        training: Sequence[Module],
        validation: Sequence[Module],
        folder: Path,
        *,
        start: Network | None = None,
        search: Path | None = None,
        inputs: Mapping[str, str] | None = None,
        left_out: Callable[[Module, str], None] = lambda module, why: None,
    ) -> None:
        """`inputs`: digests of the corpora, `start` and `search`, by option. `left_out` is told
        which modules cannot be compiled, and why."""
        self._plan, self._folder = plan, folder
        self._start, self._search = start, search
        self._signed, self._inputs = asdict(plan), inputs
        del self._signed["steps"]  # more may follow
        # Before anything is compiled: it may be refused.
        self._state = _checkpoint.load(folder, self._signed, inputs)
        self._rollouts = known = Rollouts(evaluator, [*training, *validation])
        for module, why in known.failed.items():
            left_out(module, why)
        # A module without a question is the same for every policy.
        self._training = [m for m in training if m in known and len(known.baseline(m).decisions)]
        self._validation = [m for m in validation if m in known]
        if not self._training:
            raise ModelError("no module of the corpus has a call to decide on")
        if not any(len(known.baseline(m).decisions) for m in self._validation):
            # All policies would be the same there, and the first be called the best.
            what = "has a call to decide on" if self._validation else "can be compiled"
            raise ModelError(f"no validation module {what}")
        modules = len(training) + len(validation) - len(known.failed)
        if self._state is not None and self._state.modules != modules:
            raise ModelError(
                f"{folder}: its checkpoint is of {self._state.modules} modules that could be "
                f"compiled, now {modules} can; try again, or name another folder"
            )
        self._modules = modules
        self._sampler = Sampler(evaluator)
        chosen = self._chance(_SHOWN).permutation(len(self._training))[:_MOST_SHOWN]
        self._shown = [self._training[i] for i in sorted(chosen)]

    def close(self) -> None:
        self._rollouts.close()

    @property
    def begun(self) -> int | None:
        """The step that it goes on from, if there is a checkpoint."""
        return None if self._state is None else self._state.step

    @property
    def shown(self) -> str:
        """The modules of the learning curve."""
        training = plural(len(self._shown), "training module")
        return f"{len(self._validation)} validation and {training}"

    @property
    def validated(self) -> str:
        """The modules by which the best is chosen."""
        return plural(len(self._validation), "validation module")

    def run(self, report: Report) -> State:
        """Trains to the end, from the latest checkpoint if there is one. Nothing before the last
        step depends on how many there are."""
        state = self._state
        if state is None:
            network = self._warm_start()
            state = State(network, network, network, network, modules=self._modules)
            self._validate(state)
            self._save(state)
        report(state, state.history[-1].step == state.step)
        while state.step < self._plan.steps and not self._is_stuck(state):
            self._step(state)
            due = state.step % self._plan.every == 0
            if due:
                self._validate(state)
            self._save(state)
            report(state, due)
        if state.step == self._plan.steps and state.history[-1].step != state.step:
            # No checkpoint has this validation: with more steps there would be none here.
            state = replace(state, history=[*state.history])
            self._validate(state)
            report(state, True)
        return state

    def _save(self, state: State) -> None:
        _checkpoint.save(self._folder, self._signed, state, self._inputs)

    def learned(self, state: State) -> Comparison | None:
        """The best network against that before the first step, by code of validation modules."""
        start, best = (
            [each.text for each in self._rollouts.run(network, self._validation)]
            for network in (state.start, state.best)
        )
        return compare(start, best, self._plan.seed)

    def _warm_start(self) -> Network:
        examples = self._examples()
        plan = self._plan
        network = self._start or Network.fresh(examples.rows, plan.hidden, [plan.seed, _WEIGHTS])
        if self._start is not None and self._search is None:
            return network
        epochs = plan.epochs or enough_epochs(len(examples.rows))
        return imitate(network, examples, epochs=epochs, seed=plan.seed, device=plan.device)

    def _examples(self) -> Examples:
        if self._search is not None:
            return _examples.of_search(self._search)
        return _examples.of_heuristic(self._rollouts.baseline(m) for m in self._training)

    def _chance(self, *stream: int) -> np.random.Generator:
        return np.random.default_rng([self._plan.seed, *stream])

    def _step(self, state: State) -> None:
        plan = self._plan
        count = min(plan.batch, len(self._training))
        chosen = self._chance(_BATCHES, state.step).permutation(len(self._training))[:count]
        modules = [self._training[i] for i in sorted(chosen)]
        if plan.method == "es":
            self._evolve(state, modules)
        else:
            self._explore(state, modules)
        state.average = state.average.towards(state.network, _SHARE)
        state.step += 1

    def _evolve(self, state: State, modules: Sequence[Module]) -> None:
        usual = [self._rollouts.baseline(module) for module in modules]
        search = Evolution(
            state.network,
            self._plan.seed,
            self._plan.pairs,
            steps=state.step,
            first=state.first,
            second=state.second,
        )
        search.step(lambda network: saving(self._rollouts.run(network, modules), usual))
        state.network, state.first, state.second = search.network, search.first, search.second

    def _explore(self, state: State, modules: Sequence[Module]) -> None:
        usual = self._rollouts.run(state.network, modules)
        scores = [state.network.scores(state.network.standardized(each.rows)) for each in usual]
        temperature = temperature_for(np.concatenate(scores), _EXPLORED)
        seed = (self._plan.seed, _DRAWS, state.step)
        drawn = self._sampler.run(state.network, modules, seed, temperature)
        samples, worth = [], []
        for sample, before in zip(drawn, usual, strict=True):
            if sample is not None and len(sample.decisions):
                samples.append(sample)
                worth.append(credit(sample, before.evaluation.compiled.functions))
        if samples:
            learner = Ppo(device=self._plan.device)
            state.network = learner.update(state.network, samples, worth, state.step)

    def _validate(self, state: State) -> None:
        point = Point(
            state.step,
            self._saving(state.average, self._shown),
            self._saving(state.average, self._validation),
            self._rollouts.compiles,
        )
        if not state.history or point.validation > state.best_point.validation:
            state.best = state.average
        state.history.append(point)

    def _saving(self, network: Network, modules: Sequence[Module]) -> float:
        usual = [self._rollouts.baseline(module) for module in modules]
        return saving(self._rollouts.run(network, modules), usual)

    def _is_stuck(self, state: State) -> bool:
        since = [point for point in state.history if point.step > state.best_point.step]
        return len(since) >= self._plan.patience
