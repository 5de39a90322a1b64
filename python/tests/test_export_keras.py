"""Keras -> ONNX: each backend in a process of its own, all at once."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import onnx
import pytest

from compiler_bridge import TensorSpec, export
from compiler_bridge.__main__ import main
from compiler_bridge.export import _model

NEEDED = {
    "tensorflow": ["tensorflow", "tf2onnx"],
    "jax": ["jax", "jax2onnx"],
    "torch": ["torch", "onnxscript"],
}
INPUTS = [TensorSpec("x", "float32", [16]), TensorSpec("n", "int64", [3])]
OUTPUTS = [TensorSpec("scores", "float32", [4]), TensorSpec("best", "int64", [])]

SCRIPT = """
import io, os, sys, traceback, warnings
warnings.simplefilter("ignore")
import keras
from compiler_bridge import TensorSpec, export

folder = sys.argv[1]
texts = {"name": "m", "version": "1", "training_data": "none", "license": "MIT"}
inputs = [TensorSpec("x", "float32", [16]), TensorSpec("n", "int64", [3])]
outputs = [TensorSpec("scores", "float32", [4]), TensorSpec("best", "int64", [])]

x, n = keras.Input((16,), name="x"), keras.Input((3,), dtype="int64", name="n")
rows = keras.layers.Flatten()(keras.layers.Embedding(10, 4)(n))
hidden = keras.layers.Dropout(0.5)(keras.layers.Dense(8, activation="gelu")(x))
scores = keras.layers.Dense(4)(keras.layers.Concatenate()([hidden, rows]))
model = keras.Model({"x": x, "n": n}, {"scores": scores, "best": keras.ops.argmax(scores, -1)})

said = io.StringIO()
sys.excepthook = lambda *what: traceback.print_exception(*what, file=sys.__stderr__)
sys.stdout = sys.stderr = said
os.write(2, b"<begin>")
export.from_keras(model, folder + "/m.onnx", inputs, outputs, by_name=True, **texts)
plain = keras.Sequential([keras.Input((2, 16)), keras.layers.LayerNormalization()])
both = TensorSpec("x", "float32", [1, 2, 16]), TensorSpec("y", "float32", [1, 2, 16])
export.from_keras(plain, folder + "/plain.onnx", both[:1], both[1], batched=False, **texts)
steps = keras.Sequential([keras.Input((5, 3)), keras.layers.GRU(6), keras.layers.Dense(2)])
both = TensorSpec("x", "float32", [5, 3]), TensorSpec("y", "float32", [2])
export.from_keras(steps, folder + "/steps.onnx", both[:1], both[1], **texts)
os.write(2, b"<end>")
both = TensorSpec("x", "float32", [1, 2, 16]), TensorSpec("y", "float32", [1, 2, 16])
try:
    export.from_keras(plain, folder + "/no.onnx", both[:1], TensorSpec("y", "bool"), **texts)
except export.ModelError as error:
    why = str(error)
sys.stdout = sys.__stdout__
print(repr(said.getvalue()))
print(why)
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """The processes by backend, and their folders."""
    started = {}
    for backend, modules in NEEDED.items():
        if all(importlib.util.find_spec(name) for name in ["keras", *modules]):
            folder = tmp_path_factory.mktemp(backend)
            quiet = {"KERAS_BACKEND": backend, "KERAS_HOME": str(folder / "home")}
            process = subprocess.Popen(
                [sys.executable, "-c", SCRIPT, str(folder)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={
                    **os.environ,
                    **quiet,
                    "TF_CPP_MIN_LOG_LEVEL": "0",
                    "CUDA_VISIBLE_DEVICES": "",
                },
            )
            started[backend] = process, folder
    yield started
    for process, _ in started.values():
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize("backend", NEEDED)
def test_a_model(running, backend):
    if backend not in running:
        pytest.skip(f"keras with {backend} is not installed")
    process, folder = running[backend]
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    said, why = out.splitlines()
    assert said == "''"
    assert "<begin><end>" in err  # nor do libraries in C++ say anything
    # batched is the default: the model would have seen one extent more.
    assert why.startswith("sample 0: the function fails: ") or "output 'y'" in why
    assert not (folder / "no.onnx").exists()
    model = onnx.load(folder / "m.onnx")
    signature = export.Signature.of(INPUTS, OUTPUTS)
    assert _model.graph_signature(model) == _model.stated_signature(model) == signature
    assert _model.metadata(model)["cbridge.name"] == "m"
    for name in ("m", "plain", "steps"):
        file = str(folder / f"{name}.onnx")
        assert main(["verify", file, "--samples=12", "--require=native"]) == 0


def test_a_backend_that_cannot(monkeypatch, tmp_path):
    class Keras:
        class backend:  # noqa: N801 - as Keras has it
            backend = staticmethod(lambda: "numpy")

    monkeypatch.setitem(sys.modules, "keras", Keras)
    with pytest.raises(export.ModelError, match="Keras has the backend 'numpy'; torch, jax and"):
        export.from_keras(print, tmp_path / "m.onnx", INPUTS, OUTPUTS, name="m", version="1")
