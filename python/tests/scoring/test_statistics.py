"""Paired comparison: against values that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from compiler_bridge.scoring._statistics import FEWEST_PAIRS, RESAMPLES, Verdict, compare


def test_all_alike():
    found = compare([100] * 10, [90] * 10)
    assert (found.pairs, found.baseline, found.policy) == (10, 1000, 900)
    for change in (found.total, found.mean):
        assert (change.value, change.low, change.high) == pytest.approx((-0.1, -0.1, -0.1))
    assert (found.less, found.equal, found.more) == (10, 0, 0)
    assert found.verdict is Verdict.BETTER


def test_total_and_geometric_mean():
    found = compare([100, 1000], [200, 500])
    assert found.total.value == pytest.approx(700 / 1100 - 1)
    assert found.mean.value == pytest.approx(0.0, abs=1e-12)
    found = compare([1, 1, 1], [2, 4, 8])
    assert found.mean.value == pytest.approx(3.0)


def test_what_is_zero_has_no_ratio():
    found = compare([0, 0, 100], [0, 5, 110])
    assert found.pairs == 3
    assert found.total.value == pytest.approx(0.15)
    assert found.mean.value == pytest.approx(0.1)
    assert found.mean.low == pytest.approx(0.1)
    assert compare([], []) is None
    assert compare([0, 0], [0, 0]) is None


def test_the_interval_is_that_of_theory():
    """For many pairs the bootstrap agrees with the normal approximation."""
    random = np.random.default_rng(7)
    logs = random.normal(-0.01, 0.05, 400)
    found = compare(np.full(400, 1000.0), 1000 * np.exp(logs))
    error = logs.std() / math.sqrt(len(logs))
    for edge, sign in ((found.mean.low, -1), (found.mean.high, 1)):
        assert math.log1p(edge) == pytest.approx(logs.mean() + sign * 1.96 * error, abs=0.1 * error)


def test_the_interval_covers():
    """Of intervals for samples whose mean is known, about 95 % hold it."""
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(60):
        logs = random.normal(0.02, 0.1, 60)
        found = compare(np.ones(60), np.exp(logs))
        covered += math.log1p(found.mean.low) <= 0.02 <= math.log1p(found.mean.high)
    assert 50 <= covered <= 60


def test_pairs_matter():
    """Modules differ by far more than policies; a comparison of sums alone could tell nothing."""
    random = np.random.default_rng(5)
    sizes = np.exp(random.normal(8, 2, 50))
    assert compare(sizes, sizes * 0.999).verdict is Verdict.BETTER
    assert compare(sizes, sizes * 1.001).verdict is Verdict.WORSE


def test_verdicts():
    assert compare([5] * 9, [5] * 9).verdict is Verdict.SAME
    assert compare([100] * 8, [90, 110] * 4).verdict is Verdict.UNCLEAR
    few = FEWEST_PAIRS - 1
    assert compare([100] * few, [90] * few).verdict is Verdict.TOO_FEW
    assert compare([100] * (few + 1), [90] * (few + 1)).verdict is Verdict.BETTER
    # One module of many that changed does not make a policy.
    assert compare([100] * 50, [100] * 49 + [50]).verdict is Verdict.UNCLEAR


def test_the_same_seed_gives_the_same_interval():
    random = np.random.default_rng(1)
    a, b = random.uniform(1, 2, 30), random.uniform(1, 2, 30)
    assert compare(a, b, seed=4) == compare(a, b, seed=4)
    assert compare(a, b, seed=4) != compare(a, b, seed=5)


def test_many_pairs_are_drawn_in_blocks(monkeypatch):
    random = np.random.default_rng(1)
    a, b = random.uniform(1, 2, 40), random.uniform(1, 2, 40)
    whole = compare(a, b)
    monkeypatch.setattr("compiler_bridge.scoring._statistics._BLOCK", 40 * 7)
    assert compare(a, b) == whole
    assert RESAMPLES % 7, "the last block has to be a smaller one"


def test_no_pairs():
    with pytest.raises(ValueError, match="no pairs"):
        compare([1, 2], [1])
