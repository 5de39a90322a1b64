"""Paired comparison: how a policy's figures differ from the baseline's, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

# With fewer pairs not even all of them pointing one way would be significant at 5 %: 2 / 2^5.
FEWEST_PAIRS = 6
RESAMPLES = 10_000
# Resamples are drawn in blocks of so many numbers, so that large corpora need little memory.
_BLOCK = 1 << 20

Array = np.ndarray[Any, np.dtype[np.float64]]


class Verdict(str, Enum):
    """What an interval says; figures are such that less is better."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "identical"
    UNCLEAR = "no difference that can be told"
    TOO_FEW = "too few to tell"


@dataclass(frozen=True)
class Change:
    """A relative change, -0.01 is one percent less, with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """The pairs of one metric."""

    pairs: int
    baseline: float
    policy: float
    total: Change
    mean: Change  # geometric, of the ratios; over pairs that are both above 0
    less: int
    equal: int
    more: int
    verdict: Verdict

    @property
    def has_interval(self) -> bool:
        """Whether there are enough pairs for the intervals to mean anything."""
        return self.pairs >= FEWEST_PAIRS


def compare(baseline: Any, policy: Any, seed: int = 0) -> Comparison | None:
    """Compares pair by pair; None if there is none. The same input gives the same intervals."""
    a = np.asarray(baseline, dtype=np.float64)
    b = np.asarray(policy, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"no pairs: {a.shape} and {b.shape}")
    if len(a) == 0 or a.sum() <= 0:
        return None
    total, mean = _resampled(a, b, seed)
    return Comparison(
        pairs=len(a),
        baseline=float(a.sum()),
        policy=float(b.sum()),
        total=total,
        mean=mean,
        less=int((b < a).sum()),
        equal=int((b == a).sum()),
        more=int((b > a).sum()),
        verdict=_verdict(a, b, total),
    )


def _resampled(a: Array, b: Array, seed: int) -> tuple[Change, Change]:
    """Percentile bootstrap over pairs, of the ratio of sums and of the geometric mean of ratios."""
    count = len(a)
    positive = (a > 0) & (b > 0)
    logs = np.zeros(count)
    logs[positive] = np.log(b[positive] / a[positive])
    random = np.random.default_rng(seed)
    rows = max(1, _BLOCK // count)
    totals, means = [], []
    for start in range(0, RESAMPLES, rows):
        drawn = random.integers(0, count, (min(rows, RESAMPLES - start), count))
        sums = a[drawn].sum(axis=1)
        # A resample of nothing but empty modules says nothing.
        known = sums > 0
        totals.append(b[drawn].sum(axis=1)[known] / sums[known])
        counted = positive[drawn].sum(axis=1)
        means.append(np.exp(logs[drawn].sum(axis=1)[counted > 0] / counted[counted > 0]))
    mean = np.exp(logs.sum() / positive.sum()) if positive.any() else 1.0
    return (
        _change(b.sum() / a.sum(), np.concatenate(totals)),
        _change(float(mean), np.concatenate(means)),
    )


def _change(ratio: float, resamples: Array) -> Change:
    if not len(resamples):
        return Change(ratio - 1, ratio - 1, ratio - 1)
    low, high = np.percentile(resamples, [2.5, 97.5])
    return Change(float(ratio) - 1, float(low) - 1, float(high) - 1)


def _verdict(a: Array, b: Array, total: Change) -> Verdict:
    if np.array_equal(a, b):
        return Verdict.SAME
    if len(a) < FEWEST_PAIRS:
        return Verdict.TOO_FEW
    if total.high < 0:
        return Verdict.BETTER
    if total.low > 0:
        return Verdict.WORSE
    return Verdict.UNCLEAR
