"""ONNX's own tests of operators pass, at both levels and with equal bits."""

from __future__ import annotations

import pytest

from ._node_tests import node_tests
from .backend import Outcome, listed, run


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return run(node_tests())


def test_what_is_not_listed_passes(outcome: Outcome) -> None:
    known = listed()
    assert {name: why for name, why in outcome.failures.items() if name not in known} == {}


def test_what_is_listed_does_not_pass(outcome: Outcome) -> None:
    assert sorted(set(listed()) - set(outcome.failures)) == []


def test_at_most_a_tenth_is_listed(outcome: Outcome) -> None:
    own = [test for test in outcome.tests if test.group == 1]
    assert len(own) > 700
    assert outcome.passed(own) >= 0.9 * len(own)


def test_the_list_is_sorted_and_gives_reasons() -> None:
    assert list(listed()) == sorted(listed())
    assert all(listed().values())
