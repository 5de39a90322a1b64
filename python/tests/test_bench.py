"""The pieces of the benchmarks on which their verdicts rest."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from compiler_bridge import Runner

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(autouse=True)
def _bench_importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(BENCH))
    yield
    for name in [n for n in sys.modules if n.startswith(("_inline", "_cost", "_make", "_native"))]:
        del sys.modules[name]


def test_marked_lines_are_counted() -> None:
    from _cost_lines import count

    text = """
#include <cbridge/MLModelRunner.h>
auto Runner = open(); // cbridge
int Other = 0;
  // cbridge: begin
  // why
  Runner.ask(

      Site);
  // cbridge: end
more(); // cbridge is not at the end
"""
    assert count(text, "x.cpp").lines == 3
    assert count("x" * 100 + "; // cbridge\n", "x.cpp").folded == 2


@pytest.mark.parametrize("text", ["// cbridge: begin\n", "// cbridge: end\n"])
def test_half_a_marker_is_an_error(text: str) -> None:
    from _cost_lines import count

    with pytest.raises(SystemExit, match=r"x\.cpp.*other half"):
        count(text, "x.cpp")


def test_every_pass_of_the_cost_benchmark_is_marked() -> None:
    from _cost_lines import rows

    lines = {row["pass"]: row["lines"] for row in rows()}
    assert lines["new-pass"] == 3
    assert all(count > 0 for count in lines.values())


def test_records_that_differ_are_counted() -> None:
    from _inline_check import differing

    one = {"a": np.array([[1, 0], [2, 1], [3, 1]])}
    assert differing(one, one) == 0
    assert differing(one, {"a": np.array([[1, 0], [2, 0]])}) == 2  # another, and one missing
    assert differing(one, {"b": np.array([[1, 0]])}) == 4


def test_the_border_lies_in_the_widest_gap() -> None:
    from _inline_policy import widest_gap

    logits = np.concatenate([np.linspace(-1, -0.01, 200), np.linspace(0.05, 1, 200)])
    assert widest_gap(logits) == pytest.approx(0.02)


def test_a_policy_is_the_same_in_numpy_and_onnx(tmp_path: Path) -> None:
    from _inline_policy import DECISION, DEFAULT, fit, write_onnx

    random = np.random.default_rng(3)
    names = [f"feature_{i}" for i in range(38)]
    x = random.integers(-1000, 1000, (400, 38))
    decisions = (x[:, 0] + x[:, 1] > 0).astype(np.int64)
    policy = fit(names, x, decisions)
    wanted = policy.logits(x) > 0
    assert np.mean(wanted == decisions) > 0.6  # it has learnt something
    write_onnx(policy, False, tmp_path / "policy.onnx")
    write_onnx(policy, True, tmp_path / "equal.onnx")
    with (
        Runner(f"onnx:{tmp_path}/policy.onnx?on_error=fail") as own,
        Runner(f"onnx:{tmp_path}/equal.onnx?on_error=fail") as equal,
    ):
        for i, row in enumerate(x[:50]):
            features = {name: row[k : k + 1] for k, name in enumerate(names)}
            assert own.evaluate(features)[DECISION].item() == wanted[i]
            default = i % 3 == 0
            said = equal.evaluate(features | {DEFAULT: np.array([default], np.int64)})
            assert said[DECISION].item() == default
