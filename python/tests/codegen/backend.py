"""Runs ONNX's tests of operators on generated code, and tells what came out.

python -m codegen.backend             a table: passed of all, by operator
python -m codegen.backend --write     and writes backend_exceptions.txt anew
python -m codegen.backend NAME...     only tests that begin so, with what is wrong in full
"""

from __future__ import annotations

import argparse
import collections
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx

from compiler_bridge.codegen import generate

from ._compiled import LEVELS, Answer, Array, Call, Generated, Toolchain, build, different_bits
from ._node_tests import NodeTest, foreign_types, node_tests

EXCEPTIONS = Path(__file__).with_name("backend_exceptions.txt")
# Quicker than without: what is not used is not compiled.
TOOLCHAIN = Toolchain(flags=("-O1",))


@dataclass
class Outcome:
    tests: list[NodeTest]
    failures: dict[str, str] = field(default_factory=dict)  # test to reason

    def passed(self, tests: Sequence[NodeTest]) -> int:
        return sum(test.name not in self.failures for test in tests)


def run(tests: list[NodeTest], toolchain: Toolchain = TOOLCHAIN) -> Outcome:
    outcome = Outcome(tests)
    models: dict[int, Generated] = {}
    for i, test in enumerate(tests):
        if foreign := foreign_types(test.model):
            outcome.failures[test.name] = f"type {', '.join(foreign)}"
            continue
        try:
            models[i] = generate(test.model, f"M{i}", namespace=f"N{i}")
        except Exception as error:
            outcome.failures[test.name] = f"{type(error).__name__}: {error}"
    program = build(models, toolchain)
    calls = [Call(i, tests[i].inputs, level) for i in models for level in LEVELS]
    answers = program.run(calls)
    for place, i in enumerate(models):
        pair = answers[2 * place : 2 * place + 2]
        names = [port.name for port in models[i].description.outputs]
        if reason := _wrong(tests[i], names, pair):
            outcome.failures[tests[i].name] = reason
    return outcome


def _wrong(test: NodeTest, names: Sequence[str], levels: Sequence[Answer]) -> str:
    """What is wrong with the answers of both levels, or nothing."""
    for answer, level in zip(levels, LEVELS, strict=True):
        if answer.error:
            return f"{level}: {answer.error}"
    if different_bits(levels[0].outputs, levels[1].outputs):
        return "levels differ"
    got = dict(zip(names, levels[0].outputs, strict=True))
    for name, wanted in test.outputs.items():
        if reason := _unlike(got[name], np.asarray(wanted), test):
            return f"output {name}: {reason}"
    return ""


def _unlike(got: Array, wanted: Array, test: NodeTest) -> str:
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"is {got.dtype}{list(got.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    try:
        if got.dtype.kind == "f":
            np.testing.assert_allclose(got, wanted, rtol=test.rtol, atol=test.atol)
        else:
            np.testing.assert_array_equal(got, wanted)
    except AssertionError as error:
        return " ".join(str(error).split())
    return ""


def listed() -> dict[str, str]:
    """Tests that are known not to pass, and why."""
    lines = [line for line in EXCEPTIONS.read_text().splitlines() if not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def table(outcome: Outcome) -> str:
    by_operator: dict[str, list[NodeTest]] = collections.defaultdict(list)
    for test in outcome.tests:
        by_operator[test.operator].append(test)
    own = {op: tests for op, tests in by_operator.items() if tests[0].group}
    lines = [f"{op:<28}{outcome.passed(own[op]):>5}/{len(own[op])}" for op in sorted(own)]
    groups = {
        "first group": [test for test in outcome.tests if test.group == 1],
        "second group": [test for test in outcome.tests if test.group == 2],
        "others": [test for test in outcome.tests if not test.group],
        "all": outcome.tests,
    }
    for name, tests in groups.items():
        share = outcome.passed(tests) / max(1, len(tests))
        lines.append(f"{name:<28}{outcome.passed(tests):>5}/{len(tests)}  {share:.1%}")
    return "\n".join(lines)


def write(failures: Mapping[str, str]) -> None:
    head = "# ONNX's tests that generated code does not pass; codegen.backend --write writes it.\n"
    lines = [f"{name}: {reason[:120]}\n" for name, reason in sorted(failures.items())]
    EXCEPTIONS.write_text(head + "".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write", action="store_true", help="write the list of exceptions anew")
    parser.add_argument("--all", action="store_true", help="tests of other operators, too")
    options = parser.parse_args()
    start = time.monotonic()
    tests = node_tests(every=options.all)
    if options.names:
        tests = [test for test in tests if test.name.startswith(tuple(options.names))]
    outcome = run(tests)
    if options.names:
        for test in tests:
            print(onnx.printer.to_text(test.model))
    for name, reason in sorted(outcome.failures.items()):
        print(f"{name}: {reason if options.names else reason[:200]}")
    print(table(outcome))
    print(f"{time.monotonic() - start:.0f} s")
    if options.write and not (options.names or options.all):
        write(outcome.failures)


if __name__ == "__main__":
    main()
