"""Evolution strategies: random changes of all weights, of which the better ones count more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ._network import Network, Vector

Fitness = Callable[[Network], float]


@dataclass
class Evolution:
    """A network that gets better by steps; its state is all there is, so that it can be stored
    and taken up again."""

    network: Network
    seed: int
    pairs: int = 8
    """Changes per step; each is tried in both directions."""
    sigma: float = 0.03
    """How large a change is, against the weights of its layer."""
    rate: float = 0.03
    steps: int = 0
    first: Vector = field(default_factory=lambda: np.zeros(0, np.float32))
    second: Vector = field(default_factory=lambda: np.zeros(0, np.float32))

    def step(self, fitness: Fitness) -> list[float]:
        """Tries changes and goes where they were good; what each was worth."""
        chance = np.random.default_rng([self.seed, self.steps])
        self.steps += 1
        centre = self.network.parameters()
        spread = self._spread()
        gradient = np.zeros_like(centre)
        changes, worth = [], []
        for _ in range(self.pairs):
            change = chance.standard_normal(len(centre)).astype(np.float32) * spread
            changes.append(change)
            for sign in (1, -1):
                worth.append(fitness(self.network.with_parameters(centre + sign * change)))
        ranks = _centred_ranks(np.array(worth))
        for change, plus, minus in zip(changes, ranks[::2], ranks[1::2], strict=True):
            gradient += (plus - minus) * change / np.maximum(spread, 1e-9)
        gradient /= max(float(np.linalg.norm(gradient)), 1e-9) / np.sqrt(len(gradient))
        self.network = self.network.with_parameters(centre + self._adam(gradient) * spread)
        return worth

    def _spread(self) -> Vector:
        """Per weight: large layers have large weights."""
        parts = []
        for weights, bias in self.network.layers:
            typical = float(np.sqrt(np.mean(weights**2)))
            parts.append(np.full(weights.size + bias.size, self.sigma * typical, np.float32))
        return np.concatenate(parts)

    def _adam(self, gradient: Vector) -> Vector:
        if not len(self.first):
            self.first, self.second = np.zeros_like(gradient), np.zeros_like(gradient)
        self.first = 0.9 * self.first + 0.1 * gradient
        self.second = 0.99 * self.second + 0.01 * gradient**2
        first = self.first / (1 - 0.9**self.steps)
        second = self.second / (1 - 0.99**self.steps)
        return np.asarray(self.rate / self.sigma * first / (np.sqrt(second) + 1e-8), np.float32)


def _centred_ranks(values: Vector) -> Vector:
    """From -0.5 to 0.5; equal values have equal ranks."""
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values), np.float64)
    ranks[order] = np.arange(len(values))
    for value in np.unique(values):
        same = values == value
        ranks[same] = ranks[same].mean()
    return (ranks / max(len(values) - 1, 1) - 0.5).astype(np.float32)
