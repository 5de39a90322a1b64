"""Writes the models that the tests of tflite: use: make_tflite.py DIRECTORY

They are kept in tests/golden/tflite, so that only their maker needs TensorFlow.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from engine_models import TYPES

C_NAMES = {"float32": "float", "float64": "double", "bool": "bool"}


def c_name(kind: str) -> str:
    return C_NAMES.get(kind, kind + "_t")


def write(
    directory: Path,
    function: Callable[..., Any],
    inputs: list[tf.TensorSpec],
    outputs: dict[str, tuple[str, list[int]]],
    signature: str = "action",
) -> None:
    """A function as a model; outputs are types and shapes as a pass sees them."""
    module = tf.Module()
    module.call = tf.function(function, input_signature=inputs)
    with tempfile.TemporaryDirectory() as saved:
        tf.saved_model.save(module, saved, signatures={signature: module.call})
        converter = tf.lite.TFLiteConverter.from_saved_model(saved, signature_keys=[signature])
        content = converter.convert()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "model.tflite").write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is to move to another package
        interpreter = tf.lite.Interpreter(model_content=content)
    tensors = interpreter.get_signature_runner(signature).get_output_details()
    spec = []
    for name, (kind, shape) in outputs.items():
        tensor, port = tensors[name]["name"].rsplit(":", 1)
        described = {"name": tensor, "port": int(port), "type": c_name(kind), "shape": shape}
        spec.append({"logging_name": name, "tensor_spec": described})
    (directory / "output_spec.json").write_text(json.dumps(spec, indent=2) + "\n")
    print(directory.name, len(content), "bytes")


def inline(
    callee_users: tf.Tensor, caller_users: tf.Tensor, inlining_default: tf.Tensor
) -> dict[str, tf.Tensor]:
    """As MLGO's: 1 if 2 * callee_users > caller_users + 3. The default is not looked at."""
    features = tf.stack([callee_users, caller_users], axis=1)
    weights = tf.constant([[2.0], [-1.0]])
    logits = tf.matmul(tf.cast(features, tf.float32), weights) - 3.0
    return {"inlining_decision": tf.cast(tf.reshape(logits, [1]) > 0, tf.int64)}


def rows(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """Two outputs, of any number of rows: a product with small numbers, and sums."""
    weights = tf.constant([[1.0, -1.0], [0.5, 2.0], [0.25, 4.0]])
    return {"product": tf.nn.relu(tf.matmul(x, weights)), "sums": tf.reduce_sum(x, axis=1)}


def types(**given: tf.Tensor) -> dict[str, tf.Tensor]:
    """Gives back what it gets, of every type, in another shape."""
    return {f"{name}_back": tf.reshape(value, [1, 3]) for name, value in given.items()}


def not_a_number(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"y": x * np.float32("nan") + np.float32("inf")}


def text(words: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"y": tf.reshape(words, [1, 2])}


def sliced(x: tf.Tensor, start: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"y": tf.slice(x, start, [2])}


def main() -> None:
    root = Path(sys.argv[1])
    scalars = [
        tf.TensorSpec([1], tf.int64, name)
        for name in ("callee_users", "caller_users", "inlining_default")
    ]
    write(root / "inline", inline, scalars, {"inlining_decision": ("int64", [1])})
    write(
        root / "rows",
        rows,
        [tf.TensorSpec([None, 3], tf.float32, "x")],
        {"product": ("float32", [-1, 2]), "sums": ("float32", [-1])},
        "serving_default",
    )
    # A function with an argument for each type.
    scope: dict[str, Any] = {"types": types}
    exec(f"def call({', '.join(TYPES)}): return types(**locals())", scope)
    write(
        root / "types",
        scope["call"],
        [tf.TensorSpec([3], kind, kind) for kind in TYPES],
        {f"{kind}_back": (kind, [3]) for kind in TYPES},
    )
    floats = [tf.TensorSpec([2], tf.float32, "x")]
    write(root / "nan", not_a_number, floats, {"y": ("float32", [2])})
    words = [tf.TensorSpec([2], tf.string, "words")]
    write(root / "text", text, words, {"y": ("int64", [2])})
    places = [tf.TensorSpec([4], tf.float32, "x"), tf.TensorSpec([1], tf.int32, "start")]
    write(root / "slice", sliced, places, {"y": ("float32", [2])})


if __name__ == "__main__":
    main()
