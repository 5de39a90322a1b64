"""Looks for the best inlining decisions of a module, one module at a time."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from .. import log
from ..corpus import Module
from ._evaluate import CompileFailed, Evaluation, Pair

# What a function adds to the loaded bytes beside its code: its entry in the unwind tables.
_UNWIND_ENTRY = 24
# How many pairs of decisions are tried at a function, each time when nothing else is left to try.
_COMBINATIONS = 3
# More moves are not tried at once.
_MOST = 1 << 16

Move = tuple[tuple[Pair, int], ...]
"""Decisions that are changed together, in order."""


class Evaluates(Protocol):
    """What a search needs of an Evaluator."""

    def heuristic(self, module: Module, features: Sequence[str] = ()) -> Evaluation: ...

    def decided(
        self, module: Module, decisions: Mapping[Pair, int], features: Sequence[str]
    ) -> Evaluation: ...


@dataclass
class Found:
    """What a search found for a module."""

    module: str
    baseline: Evaluation
    best: Evaluation
    decisions: dict[Pair, int] = field(default_factory=dict)
    """That lead to `best`: LLVM's heuristic decides on all other pairs."""
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
    other, so that sizes of functions tell what each has done; keeps what makes the module smaller
    by `metric`, "text" or "total"."""

    def __init__(
        self,
        evaluator: Evaluates,
        features: Sequence[str],
        budget: int,
        seed: int,
        metric: str = "text",
    ) -> None:
        self._evaluator, self._features = evaluator, features
        self._budget, self._seed, self._metric = budget, seed, metric

    def search(self, module: Module, start: Mapping[Pair, int] | None = None) -> Found:
        """With `start`, also from these decisions, if they are better than LLVM's."""
        trail = _Trail(self._evaluator, self._features, self._budget, self._metric, module)
        climb = _Climb(trail, random.Random(f"{self._seed} {module.name}"))
        if start and trail.left:
            climb.jump(start)
        while trail.left and climb.step():
            pass
        trail.found.gains = climb.gains()
        return trail.found


class RandomFlips:
    """Tries random changes of LLVM's decisions, and keeps the smallest result."""

    def __init__(
        self,
        evaluator: Evaluates,
        features: Sequence[str],
        budget: int,
        seed: int,
        metric: str = "text",
    ) -> None:
        self._evaluator, self._features = evaluator, features
        self._budget, self._seed, self._metric = budget, seed, metric

    def search(self, module: Module) -> Found:
        trail = _Trail(self._evaluator, self._features, self._budget, self._metric, module)
        first = majority(trail.found.baseline)
        chance = random.Random(f"{self._seed} {module.name}")
        while first and trail.left:
            share = 0.5 ** chance.randint(1, 6)
            flipped = [pair for pair in sorted(first) if chance.random() < share]
            # One at least: LLVM's own decisions are known.
            flipped = flipped or [chance.choice(sorted(first))]
            trail.evaluate({pair: 1 - first[pair] for pair in flipped})
        return trail.found


class _Trail:
    """The evaluations of a module, and the best of them."""

    def __init__(
        self,
        evaluator: Evaluates,
        features: Sequence[str],
        budget: int,
        metric: str,
        module: Module,
    ) -> None:
        self._evaluator, self._features, self._module = evaluator, features, module
        self._budget, self.metric = budget, metric
        baseline = evaluator.heuristic(module, features)
        self.found = Found(module.name, baseline, baseline, evaluations=1)

    @property
    def left(self) -> int:
        """How many more there may be."""
        return max(0, self._budget - self.found.evaluations)

    def evaluate(self, decisions: dict[Pair, int]) -> Evaluation | None:
        """None if that does not compile: legal decisions can break a compile, and are not the
        best then."""
        self.found.evaluations += 1
        try:
            result = self._evaluator.decided(self._module, decisions, self._features)
        except CompileFailed:
            return None
        if self.is_smaller(result, self.found.best):
            self.found.best, self.found.decisions = result, decisions
        return result

    def is_smaller(self, one: Evaluation, other: Evaluation) -> bool:
        if self.metric == "total":
            return (one.total, one.text) < (other.total, other.text)
        return (one.text, one.total) < (other.text, other.total)


class _Climb:
    """Stands at decisions that have been evaluated, and goes where it is better."""

    def __init__(self, trail: _Trail, chance: random.Random) -> None:
        self._trail, self._chance = trail, chance
        self._here = trail.found.baseline
        self._decisions: dict[Pair, int] = {}
        self._now = majority(self._here)
        self._tried: set[Move] = set()
        """Since their surroundings changed last."""
        self._most = _MOST
        """How many moves are tried at once."""
        self._saved: dict[Pair, tuple[int, float]] = {}
        """What a decision on a pair saved when it was tried last, in bytes."""

    def jump(self, decisions: Mapping[Pair, int]) -> bool:
        """Goes there, if it is better there."""
        wanted = dict(decisions)
        result = self._trail.evaluate(wanted)
        return result is not None and self._go(result, wanted)

    def _go(self, result: Evaluation, decisions: dict[Pair, int]) -> bool:
        if not self._trail.is_smaller(result, self._here):
            return False
        self._here, self._decisions, self._now = result, decisions, majority(result)
        return True

    def step(self) -> bool:
        """Tries some moves at once; False if there is nothing left to try."""
        chosen = self._choose()
        if not chosen:
            return False
        wanted = self._with(chosen)
        result = self._trail.evaluate(wanted)
        if result is None and len(chosen) > 1:
            self._most = len(chosen) // 2  # one of them is to blame
            return True
        self._tried.update(chosen)
        self._most = min(2 * self._most, _MOST)
        if result is None:
            return True
        saved = {
            move: sum(self._size(self._here, f) - self._size(result, f) for f in touched)
            for move, touched in chosen.items()
        }
        for move, bytes_ in saved.items():
            if len(move) == 1:
                ((pair, decision),) = move
                self._saved[pair] = (decision, bytes_)
        better = sorted((move for move in saved if saved[move] > 0), key=lambda m: (-saved[m], m))
        while better:
            if len(better) == len(chosen):
                gone = self._go(result, wanted)
            else:
                gone = self._trail.left > 0 and self.jump(self._with(better))
            if gone:
                self._note(better, saved)
                self._forget_around(better, chosen)
                return True
            # Moves can depend on each other after all; the best ones are tried without the rest.
            better = better[: len(better) // 2]
        if self._go(result, wanted):
            self._forget_around(list(chosen), chosen)
        return True

    def _with(self, moves: Collection[Move]) -> dict[Pair, int]:
        decisions = dict(self._decisions)
        for move in moves:
            decisions.update(move)
        return decisions

    def _size(self, evaluation: Evaluation, function: str) -> int:
        size = evaluation.compiled.functions.get(function, 0)
        return size + _UNWIND_ENTRY if size and self._trail.metric == "total" else size

    def _note(self, moves: Sequence[Move], saved: Mapping[Move, int]) -> None:
        """Of moves of several decisions, each has its share."""
        for move in moves:
            for pair, decision in move:
                self._saved[pair] = (decision, saved[move] / len(move))

    def _forget_around(self, moves: Sequence[Move], touched_by: Mapping[Move, set[str]]) -> None:
        """What surrounds a change may now be decided otherwise; but not the change itself."""
        touched = set().union(*(touched_by[move] for move in moves))
        self._tried = {
            move for move in self._tried if not any(touched & set(pair) for pair, _ in move)
        }
        self._tried.update(moves)
        self._tried.update(tuple((pair, 1 - value) for pair, value in move) for move in moves)

    def _choose(self) -> dict[Move, set[str]]:
        """Moves that have not been tried, whose effects are in functions that no other's are in;
        with these functions."""
        into: dict[str, set[str]] = defaultdict(set)
        for (caller, callee), inlined in self._now.items():
            if inlined:
                into[callee].add(caller)
        for moves in self._moves():
            waiting = [
                (move, set().union(*(containing(pair, into) for pair, _ in move)))
                for move in moves
                if move and move not in self._tried
            ]
            # Those that touch little come first, so that more can be tried at once.
            self._chance.shuffle(waiting)
            waiting.sort(key=lambda each: len(each[1]))
            taken: set[str] = set()
            chosen: dict[Move, set[str]] = {}
            for move, touched in waiting:
                if len(chosen) < self._most and not touched & taken:
                    taken |= touched
                    chosen[move] = touched
            if chosen:
                return chosen
        return {}

    def _moves(self) -> Iterator[list[Move]]:
        """Kinds of moves: each if there is nothing left of those before it."""
        now = sorted(self._now.items())
        yield [((pair, 1 - decision),) for pair, decision in now]
        # A function that is inlined everywhere may vanish; one that nowhere is, is there once.
        of_callee: dict[str, list[Pair]] = defaultdict(list)
        around: dict[str, list[Pair]] = defaultdict(list)
        for pair, _ in now:
            of_callee[pair[1]].append(pair)
            for function in dict.fromkeys(pair):  # in an order that is always the same
                around[function].append(pair)
        yield [_all_to(value, pairs, self._now) for pairs in of_callee.values() for value in (0, 1)]
        combined = []
        for pairs in around.values():
            for _ in range(_COMBINATIONS if len(pairs) > 1 else 0):
                two = sorted(self._chance.sample(pairs, 2))
                combined.append(tuple((pair, 1 - self._now[pair]) for pair in two))
        yield list(dict.fromkeys(combined))

    def gains(self) -> dict[Pair, float]:
        """As of Found."""
        best = majority(self._trail.found.best)
        return {
            pair: saved if best[pair] == decision else -saved
            for pair, (decision, saved) in self._saved.items()
            if pair in best
        }


def _all_to(value: int, pairs: Sequence[Pair], now: Mapping[Pair, int]) -> Move:
    return tuple((pair, value) for pair in pairs if now[pair] != value)


def containing(pair: Pair, into: Mapping[str, set[str]]) -> set[str]:
    """The functions whose size a decision can change: the two, and those that have them inside."""
    found = set(pair)
    waiting = list(pair)
    while waiting:
        for caller in into.get(waiting.pop(), ()):
            if caller not in found:
                found.add(caller)
                waiting.append(caller)
    return found


def _votes(evaluation: Evaluation) -> dict[Pair, list[int]]:
    votes: dict[Pair, list[int]] = defaultdict(list)
    for pair, decision in zip(evaluation.pairs, evaluation.decisions, strict=True):
        votes[pair].append(int(decision))
    return votes


def majority(evaluation: Evaluation) -> dict[Pair, int]:
    """A pair's decision; where costs have made LLVM decide both ways, that of most."""
    return {pair: int(2 * sum(each) >= len(each)) for pair, each in _votes(evaluation).items()}


def unanimous(evaluation: Evaluation) -> dict[Pair, int]:
    """A pair's decision; without pairs on which LLVM decides both ways, as it will again."""
    return {pair: each[0] for pair, each in _votes(evaluation).items() if len(set(each)) == 1}


def write_log(found: Found, path: str | os.PathLike[str]) -> None:
    """The best decisions with their features, and as their reward what they save in bytes.
    `replay:FILE?key=caller_name,callee_name` then decides the same."""
    asked = found.best.asked
    assert asked is not None
    replayed = unanimous(found.best)
    with log.LogWriter(path, asked.inputs, asked.outputs) as writer:
        for row, pair, reward in zip(asked, found.best.pairs, found.rewards(), strict=True):
            if pair in replayed:
                known = None if np.isnan(reward) else float(reward)
                writer.write(row.context, row.features, row.decision, known)
