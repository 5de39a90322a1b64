"""Models that together have every operator."""

from __future__ import annotations

from compiler_bridge.codegen import generate

from ._compiled import Generated
from ._node_tests import NodeTest, foreign_types, node_tests
from .backend import listed


def selection(most: int) -> dict[int, NodeTest]:
    """For each operator so many of the tests that pass, at most, of different types."""
    chosen: dict[str, dict[str, NodeTest]] = {}
    exceptions = listed()
    for test in node_tests():
        if test.name in exceptions or not test.group or foreign_types(test.model):
            continue
        of_operator = chosen.setdefault(test.operator, {})
        if len(of_operator) < most:
            values = (*test.inputs.values(), *test.outputs.values())
            of_operator.setdefault(str(values[0].dtype), test)
    tests = [test for of_operator in chosen.values() for test in of_operator.values()]
    return dict(enumerate(tests))


def generated(tests: dict[int, NodeTest], *, fast: bool = False) -> dict[int, Generated]:
    return {
        i: generate(test.model, f"M{i}", namespace=f"N{i}", fast=fast) for i, test in tests.items()
    }
