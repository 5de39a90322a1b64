"""Compiles by decisions that are drawn at random, as probable as a network says."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .._compile_worker import Compiled
from .._workers import for_each
from ..corpus import Module
from ..inlining._evaluate import CALLEE, CALLER, CompileFailed, Evaluator, Pair
from ..pool import CompilerPool
from ._features import EXTRA, FEATURES, Matrix
from ._network import Network, Vector

# How long a compiler waits for a decision.
_TIMEOUT = "60s"


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

    def __init__(self, evaluator: Evaluator, least: float = 0.02) -> None:
        """`least`: how improbable either decision can be."""
        self._evaluator, self._least = evaluator, least

    def run(
        self, network: Network, modules: Sequence[Module], seed: Sequence[int]
    ) -> list[Sample | None]:
        """A sample of each module; None if its compile failed. Draws depend on the seed and the
        place of the module alone, not on which compiler is faster."""
        jobs = len(self._evaluator.workers)
        episodes: dict[int, _Episode] = {}
        free = list(range(jobs))
        lock = threading.Lock()
        with CompilerPool(jobs) as pool:
            server = threading.Thread(target=self._serve, args=(pool, network, episodes))
            server.start()

            def work(place: int) -> Sample | None:
                with lock:
                    worker = free.pop()
                episode = episodes[worker] = _Episode(np.random.default_rng([*seed, place]))
                address = pool.addresses[worker]
                try:
                    compiled = self._evaluator.asked_at(
                        modules[place], f"{address}?timeout={_TIMEOUT}", (*EXTRA, CALLER, CALLEE)
                    )
                except CompileFailed:
                    return None
                finally:
                    with lock:
                        free.append(worker)
                return _sample(episode, compiled)

            try:
                places = list(range(len(modules)))
                return list(for_each(places, work, jobs, self._evaluator.workers))
            finally:
                pool.close()
                server.join()

    def _serve(self, pool: CompilerPool, network: Network, episodes: dict[int, _Episode]) -> None:
        for batch in pool:
            if not len(batch):
                continue
            rows = np.stack([batch[name][:, 0].astype(np.float32) for name in FEATURES], axis=1)
            callers, callees = batch[CALLER], batch[CALLEE]
            answers = np.zeros((len(batch), 1), np.int64)
            for i, worker in enumerate(batch.workers):
                answers[i, 0] = self._decide(
                    network, episodes[int(worker)], rows[i], (callers[i][0], callees[i][0])
                )
            batch.reply({"inlining_decision": answers})

    def _decide(self, network: Network, episode: _Episode, row: Vector, pair: Pair) -> int:
        score = network.score_of_one(row)
        likely = float(np.clip(1 / (1 + np.exp(-score)), self._least, 1 - self._least))
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
