"""Looks for the best inlining decisions of a module, one module at a time."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import log
from ..corpus import Module
from ._evaluate import CompileFailed, Evaluation, Evaluator, Pair


@dataclass
class Found:
    """What a search found for a module."""

    module: str
    baseline: Evaluation
    best: Evaluation
    decisions: dict[Pair, int] = field(default_factory=dict)
    """Where they are not LLVM's."""
    gains: dict[Pair, float] = field(default_factory=dict)
    """Bytes that the decision of `best` on a pair saves, where its opposite was tried."""
    evaluations: int = 0

    def rewards(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Of each decision of `best`; NaN where the opposite was not tried."""
        pairs = self.best.pairs
        sites: dict[Pair, int] = defaultdict(int)
        for pair in pairs:
            sites[pair] += 1
        return np.array([self.gains.get(pair, np.nan) / sites[pair] for pair in pairs])


class HillClimbing:
    """Tries the opposite of many decisions at once, in parts of the module that do not touch each
    other, so that sizes of functions tell what each has done; keeps what makes the module
    smaller."""

    def __init__(
        self, evaluator: Evaluator, features: Sequence[str], budget: int, seed: int
    ) -> None:
        self._evaluator, self._features = evaluator, features
        self._budget, self._seed = budget, seed

    def search(self, module: Module, start: Mapping[Pair, int] | None = None) -> Found:
        baseline = self._evaluator.heuristic(module, self._features)
        climb = _Climb(self._evaluator, self._features, module, baseline)
        if start:
            climb.jump(dict(start))
        chance = random.Random(f"{self._seed} {module.name}")
        while climb.found.evaluations < self._budget and climb.step(chance, self._budget):
            pass
        return climb.found


class RandomFlips:
    """Tries random changes of the decisions, and keeps the smallest result."""

    def __init__(
        self, evaluator: Evaluator, features: Sequence[str], budget: int, seed: int
    ) -> None:
        self._evaluator, self._features = evaluator, features
        self._budget, self._seed = budget, seed

    def search(self, module: Module) -> Found:
        baseline = self._evaluator.heuristic(module, self._features)
        climb = _Climb(self._evaluator, self._features, module, baseline)
        pairs = sorted(climb.current())
        chance = random.Random(f"{self._seed} {module.name}")
        first = climb.current()
        while pairs and climb.found.evaluations < self._budget:
            share = 0.5 ** chance.randint(1, 6)
            flipped = [pair for pair in pairs if chance.random() < share]
            climb.jump({pair: 1 - first[pair] for pair in flipped})
        return climb.found


class _Climb:
    def __init__(
        self,
        evaluator: Evaluator,
        features: Sequence[str],
        module: Module,
        baseline: Evaluation,
    ) -> None:
        self._evaluator, self._features, self._module = evaluator, features, module
        self.found = Found(module.name, baseline, baseline, evaluations=1)
        self._default = _by_pair(baseline)
        self._tried: set[Pair] = set()
        """Whose opposite was tried since its surroundings changed last."""

    def current(self) -> dict[Pair, int]:
        return _by_pair(self.found.best)

    def jump(self, decisions: dict[Pair, int]) -> bool:
        """Goes there, if it is better there."""
        result = self._evaluate(decisions)
        if result is None or not _is_smaller(result, self.found.best):
            return False
        self.found.best, self.found.decisions = result, decisions
        return True

    def _evaluate(self, decisions: dict[Pair, int]) -> Evaluation | None:
        self.found.evaluations += 1
        try:
            return self._evaluator.decided(self._module, decisions, self._features)
        except CompileFailed:
            return None  # legal decisions can break a compile; then they are not the best

    def step(self, chance: random.Random, budget: int) -> bool:
        """Tries some; False if there is nothing left to try."""
        now = self.current()
        chosen = self._independent(now, chance)
        if not chosen:
            return False
        opposite = {pair: 1 - now[pair] for pair in chosen}
        self._tried.update(chosen)
        result = self._evaluate({**self.found.decisions, **opposite})
        if result is None:
            return True
        sizes, base = result.compiled.functions, self.found.best
        saved = {
            pair: sum(base.compiled.functions.get(f, 0) - sizes.get(f, 0) for f in functions)
            for pair, functions in chosen.items()
        }
        for pair, bytes_ in saved.items():
            self.found.gains[pair] = -bytes_
        better = sorted((pair for pair in saved if saved[pair] > 0), key=lambda p: (-saved[p], p))
        while better and self.found.evaluations < budget:
            wanted = {**self.found.decisions, **{pair: opposite[pair] for pair in better}}
            if (len(better) == len(chosen) and self._accept(result, wanted)) or self.jump(wanted):
                for pair in better:
                    self.found.gains[pair] = saved[pair]
                self._forget_neighbours(chosen, better)
                break
            better = better[: len(better) // 2]
        return True

    def _accept(self, result: Evaluation, decisions: dict[Pair, int]) -> bool:
        if not _is_smaller(result, self.found.best):
            return False
        self.found.best, self.found.decisions = result, decisions
        return True

    def _independent(self, now: dict[Pair, int], chance: random.Random) -> dict[Pair, set[str]]:
        """Pairs that have not been tried, whose effects are in functions that no other's are in;
        with these functions."""
        into: dict[str, set[str]] = defaultdict(set)
        for (caller, callee), inlined in now.items():
            if inlined:
                into[callee].add(caller)
        waiting = sorted(pair for pair in now if pair not in self._tried)
        chance.shuffle(waiting)
        taken: set[str] = set()
        chosen = {}
        for pair in waiting:
            touched = _containing(pair, into)
            if not touched & taken:
                taken |= touched
                chosen[pair] = touched
        return chosen

    def _forget_neighbours(self, chosen: Mapping[Pair, set[str]], changed: Sequence[Pair]) -> None:
        """What surrounds a change may now be decided otherwise."""
        touched = set().union(*(chosen[pair] for pair in changed))
        near = {p for p in self._tried if p[0] in touched or p[1] in touched}
        self._tried -= near - set(changed)


def _containing(pair: Pair, into: Mapping[str, set[str]]) -> set[str]:
    """The functions whose size a decision can change: the two, and those that have them inside."""
    found = set(pair)
    waiting = list(pair)
    while waiting:
        for caller in into.get(waiting.pop(), ()):
            if caller not in found:
                found.add(caller)
                waiting.append(caller)
    return found


def _by_pair(evaluation: Evaluation) -> dict[Pair, int]:
    """A pair's decision; where a cost has made LLVM decide both ways, that of most."""
    votes: dict[Pair, list[int]] = defaultdict(list)
    for pair, decision in zip(evaluation.pairs, evaluation.decisions, strict=True):
        votes[pair].append(int(decision))
    return {pair: int(2 * sum(each) >= len(each)) for pair, each in votes.items()}


def _is_smaller(one: Evaluation, other: Evaluation) -> bool:
    return (one.text, one.total) < (other.text, other.total)


def write_log(found: Found, path: str) -> None:
    """The best decisions with their features, and as their reward what they save in bytes."""
    asked = found.best.asked
    assert asked is not None
    with log.LogWriter(path, asked.inputs, asked.outputs) as writer:
        for row, reward in zip(asked, found.rewards(), strict=True):
            writer.write(
                row.context, row.features, row.decision, None if np.isnan(reward) else reward
            )
