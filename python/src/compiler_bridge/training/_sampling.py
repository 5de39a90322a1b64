"""Compiles by decisions that are drawn at random, as probable as a network says."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from .._compile_worker import Compiled
from .._workers import for_each
from ..corpus import Module
from ..inlining._evaluate import (
    CALLEE,
    CALLER,
    CompileEnded,
    CompileFailed,
    DidNotDecide,
    Evaluator,
    Pair,
    patiently,
)
from ..pool import CompilerPool
from ._features import EXTRA, FEATURES, Matrix
from ._network import Network, Vector

# How long a compiler waits for a decision.
_TIMEOUT = "60s"
# Addresses beyond one per worker. Where a compile was ended, its last question may still come: no
# other asks there.
_SPARE = 16
# How improbable either decision can be.
_LEAST = 0.002
# Beyond these, temperatures tell no decisions apart, or all.
_COLDEST, _HOTTEST = 0.005, 50.0


def likelihood(scores: Vector, temperature: float) -> Vector:
    """How probable inlining is. Where it is warmer, decisions that the network is less sure of are
    drawn otherwise more often."""
    # Far from 0 nothing changes any more, and exponentials would overflow.
    near = np.clip(scores / temperature, -50, 50)
    found: Vector = np.clip(1 / (1 + np.exp(-near)), _LEAST, 1 - _LEAST)
    return found


def temperature_for(scores: Vector, share: float) -> float:
    """At which about this share of decisions is drawn against the network's choice."""
    low, high = np.log(_COLDEST), np.log(_HOTTEST)
    for _ in range(30):
        middle = (low + high) / 2
        against = likelihood(-np.abs(scores), float(np.exp(middle)))
        if len(scores) and against.mean() > share:
            high = middle
        else:
            low = middle
    return float(np.exp(low))


@dataclass
class Sample:
    """A compile whose decisions were drawn. `likely` are the probabilities of inlining that they
    were drawn by, `scores` the network's."""

    rows: Matrix
    pairs: list[Pair]
    scores: Vector
    likely: Vector
    decisions: np.ndarray[tuple[int], np.dtype[np.int64]]
    compiled: Compiled

    @property
    def explored(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which decisions are not the network's first choice."""
        return np.asarray((self.scores > 0) != self.decisions.astype(bool))


@dataclass
class _Episode:
    chance: np.random.Generator
    rows: list[Vector] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    likely: list[float] = field(default_factory=list)
    decisions: list[int] = field(default_factory=list)


class Sampler:
    """Answers compilers over shared memory."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def run(
        self,
        network: Network,
        modules: Sequence[Module],
        seed: Sequence[int],
        temperature: float = 1.0,
    ) -> list[Sample | None]:
        """A sample of each module; None if its compile failed. Draws depend on the seed and the
        place of the module alone, not on which compiler is faster."""
        jobs = len(self._evaluator.workers)
        episodes: dict[int, _Episode] = {}
        free = deque(range(jobs + _SPARE))
        failures: list[Exception] = []
        with CompilerPool(len(free)) as pool:
            answer = partial(_decide, network, temperature)

            def serve() -> None:
                try:
                    _serve(pool, answer, episodes)
                except Exception as error:
                    failures.append(error)
                    pool.close()  # so that no compiler waits for an answer

            server = threading.Thread(target=serve)
            server.start()

            def draw(place: int) -> Sample:
                try:
                    at = free.popleft()
                except IndexError:
                    raise CompileFailed("compiles are ended again and again") from None
                episode = episodes[at] = _Episode(np.random.default_rng([*seed, place]))
                address = f"{pool.addresses[at]}?timeout={_TIMEOUT}"
                names = (*EXTRA, CALLER, CALLEE)
                try:
                    compiled = self._evaluator.asked_at(modules[place], address, names)
                except CompileEnded:
                    raise
                except CompileFailed:
                    free.append(at)
                    raise
                free.append(at)
                return _sample(episode, compiled)

            def work(place: int) -> Sample | None:
                try:
                    return patiently(lambda: draw(place))
                except DidNotDecide:
                    raise
                except CompileFailed:
                    return None

            try:
                places = list(range(len(modules)))
                found = list(for_each(places, work, jobs, self._evaluator.workers))
            except DidNotDecide:
                if not failures:
                    raise
            finally:
                pool.close()
                server.join()
        if failures:
            raise failures[0]
        return found


_Answer = Callable[[_Episode, Vector, Pair], int]


def _serve(pool: CompilerPool, answer: _Answer, episodes: dict[int, _Episode]) -> None:
    for batch in pool:
        if not len(batch):
            continue
        rows = np.stack([batch[name][:, 0].astype(np.float32) for name in FEATURES], axis=1)
        callers, callees = batch[CALLER], batch[CALLEE]
        answers = np.zeros((len(batch), 1), np.int64)
        for i, at in enumerate(batch.workers):
            pair = (callers[i][0], callees[i][0])
            answers[i, 0] = answer(episodes[int(at)], rows[i], pair)
        batch.reply({"inlining_decision": answers})


def _decide(
    network: Network, temperature: float, episode: _Episode, row: Vector, pair: Pair
) -> int:
    score = network.score_of_one(row)
    likely = float(likelihood(np.array([score], np.float32), temperature)[0])
    decision = int(episode.chance.random() < likely)
    episode.rows.append(row)
    episode.pairs.append(pair)
    episode.scores.append(score)
    episode.likely.append(likely)
    episode.decisions.append(decision)
    return decision


def _sample(episode: _Episode, compiled: Compiled) -> Sample:
    rows = np.stack(episode.rows) if episode.rows else np.zeros((0, len(FEATURES)), np.float32)
    return Sample(
        rows,
        episode.pairs,
        np.array(episode.scores, np.float32),
        np.array(episode.likely, np.float32),
        np.array(episode.decisions, np.int64),
        compiled,
    )
