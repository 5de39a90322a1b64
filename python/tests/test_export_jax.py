"""JAX -> ONNX."""

from __future__ import annotations

import re
import warnings

import numpy as np
import onnx
import pytest

from compiler_bridge import TensorSpec, export
from compiler_bridge.__main__ import main
from compiler_bridge.export import _model

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what they say about each other
    jax = pytest.importorskip("jax")
    pytest.importorskip("jax2onnx")
jnp = jax.numpy

WEIGHTS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
X, Y = TensorSpec("x", "float32", [4]), TensorSpec("y", "float32", [3])
TEXTS = {"name": "m", "version": "1", "training_data": "none", "license": "MIT"}


def test_names_types_and_dynamic_extents(tmp_path, capfd):
    def function(flags, x, scale):
        scores = jnp.tanh(x @ WEIGHTS) + flags[:, None].astype(jnp.float32) * scale
        return {"scores": scores, "best": jnp.argmax(scores, -1)}

    inputs = [
        TensorSpec("scale", "int64", []),
        TensorSpec("x", "float32", [-1, 4]),
        TensorSpec("flags", "bool", [-1]),
    ]
    outputs = [TensorSpec("best", "int64", [-1]), TensorSpec("scores", "float32", [-1, 3])]
    path = tmp_path / "m.onnx"
    same = {"x": ["n"], "flags": ["n"]}
    with pytest.raises(export.ModelError, match=r"incompatible shapes.*; if extents are equal, "):
        export.from_jax(function, path, inputs, outputs, by_name=True, **TEXTS)
    assert not path.exists()
    export.from_jax(function, path, inputs, outputs, by_name=True, extents=same, **TEXTS)
    assert capfd.readouterr() == ("", "")
    signature = export.Signature.of(inputs, outputs)
    model = onnx.load(path)
    assert _model.graph_signature(model) == _model.stated_signature(model) == signature
    assert _model.metadata(model)["cbridge.license"] == "MIT"
    assert main(["verify", str(path), "--samples=12"]) == 0


def test_a_branch_on_a_value(tmp_path):
    def choose(x):
        if x.sum() > 0:  # the line that is named
            return x
        return -x

    line = choose.__code__.co_firstlineno + 1
    why = rf"branches on the value of a tensor \(test_export_jax.py, line {line}\): let jnp.where"
    with pytest.raises(export.ModelError, match=why):
        export.from_jax(choose, tmp_path / "m.onnx", [X], TensorSpec("y", "float32", [4]), **TEXTS)


def test_a_batch_and_odd_functions(tmp_path):
    path = tmp_path / "m.onnx"
    export.from_jax(lambda x: jax.nn.relu(x @ WEIGHTS), path, [X], Y, batched=True, **TEXTS)
    assert _model.graph_signature(onnx.load(path)) == export.Signature.of([X], Y)
    unused = TensorSpec("unused", "uint16", [2])
    outputs = [TensorSpec("same", "float32", [4]), TensorSpec("again", "float64", [4])]
    export.from_jax(lambda x, unused: (x, x), path, [X, unused], outputs, **TEXTS)
    assert _model.graph_signature(onnx.load(path)) == export.Signature.of([X, unused], outputs)
    export.from_jax(lambda: jnp.arange(3) * 0.5, path, [], Y, **TEXTS)
    assert _model.graph_signature(onnx.load(path)) == export.Signature.of([], Y)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x: x, "output 'y': the function gives shape [4], the signature has float[3]"),
        (lambda x: jnp.fft.fft(x)[:3].real, "unsupported type tensor(complex64)"),
        (lambda x: x[:3] if x[0] > 0 else -x[:3], "jax2onnx cannot export it: "),
        (lambda x: x[:7] @ jnp.ones(9), "sample 0: the function fails: TypeError"),
    ],
)
def test_mistakes_are_named_and_leave_no_file(tmp_path, capfd, function, why):
    with pytest.raises(export.ModelError, match=re.escape(why)):
        export.from_jax(function, tmp_path / "m.onnx", [X], Y, **TEXTS)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
