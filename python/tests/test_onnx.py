"""`onnx:` from Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler_bridge import BridgeError, Runner, TensorSpec

GOLDEN = Path(__file__).parents[2] / "tests" / "golden" / "onnx"
AFFINE = f"onnx:{GOLDEN}/affine.onnx"
X, Y = TensorSpec("x", "float32", [4]), TensorSpec("y", "float32", [3])


def test_a_model_knows_its_signature():
    with Runner(AFFINE) as runner:
        assert runner.inputs == [X]
        assert runner.outputs == [Y]
        first = runner.evaluate({"x": [1, 2, 3, 4]})["y"]
    with Runner(AFFINE, [TensorSpec("unknown", "int64"), X], Y) as runner:
        runner.get_tensor("x")[:] = [1, 2, 3, 4]
        np.testing.assert_array_equal(runner.evaluate()["y"], first)


def test_half_a_signature_is_none():
    with pytest.raises(TypeError, match="both inputs and outputs, or neither"):
        Runner(AFFINE, [X])
    with pytest.raises(BridgeError, match="'constant:' does not know"):
        Runner("constant:4")


def test_what_cannot_be_read_is_named():
    with pytest.raises(BridgeError, match=r"nan_weight.onnx: tensor 'w': element 6 is not a"):
        Runner(f"onnx:{GOLDEN}/bad/nan_weight.onnx?on_error=fail", [X], Y)
    runner = Runner(f"onnx:{GOLDEN}/bad/truncated.onnx", [X], Y)
    assert "truncated.onnx" in runner.why_not
    assert runner.evaluate_or({"x": np.zeros(4, np.float32)}, lambda: "heuristic") == "heuristic"
