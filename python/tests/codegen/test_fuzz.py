"""A hundred random graphs: generated code, ONNX Runtime and another generator agree."""

from __future__ import annotations

import pytest

from .fuzz import BATCH, Tally, run

COUNT = 2 * BATCH


@pytest.fixture(scope="module")
def tally() -> Tally:
    return run(COUNT, seed=0, with_emx=True)


def test_answers_agree(tally: Tally) -> None:
    assert tally.failures == [], "\n\n".join(tally.failures)


def test_enough_was_compared(tally: Tally) -> None:
    assert tally.counts["graphs"] == COUNT
    assert tally.counts["compared"] >= 0.9 * COUNT, tally.text()
    assert tally.counts["unstable"] <= 0.01 * tally.counts["elements"], tally.text()


def test_the_other_generator_takes_some(tally: Tally) -> None:
    assert tally.counts["emx"] >= 0.25 * COUNT, tally.text()
    assert tally.counts["emx agrees"] >= 0.9 * tally.counts["emx"], tally.text()
