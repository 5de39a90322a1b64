"""The models of the engine suite as functions of TensorFlow.

What they compute: tests/conformance/Reference.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TYPES += ["float32", "float64"]

WEIGHTS = [[1.0, 2.0, 3.0, 4.0], [-1.0, 0.0, 1.0, 0.0], [5.0, -5.0, 2.0, -2.0]]
BIASES = [10.0, 20.0, -30.0]
# What TFLite cannot gather goes through a type of the same size that it can.
SAME_SIZE = {"uint16": tf.int16, "uint32": tf.int32, "uint64": tf.int64, "float64": tf.int64}


def affine(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"y": tf.linalg.matvec(tf.constant(WEIGHTS), x) + tf.constant(BIASES)}


def argmax(scores: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"action": tf.argmax(scores)}


def dynamic(rows: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"sum": tf.reduce_sum(rows, axis=0), "doubled": rows * 2.0}


def elements(x: tf.Tensor) -> dict[str, tf.Tensor]:
    same = SAME_SIZE.get(x.dtype.name)
    moved = tf.gather(tf.bitcast(x, same) if same else x, [2, 0, 1])
    return {"y": tf.bitcast(moved, x.dtype) if same else moved}


def identity(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"y": tf.identity(x)}


def multi(ints: tf.Tensor, flag: tf.Tensor, reals: tf.Tensor) -> dict[str, tf.Tensor]:
    return {
        "scaled": tf.where(flag, reals * 2.0, reals),
        "total": tf.reduce_sum(ints, keepdims=True),
        "not_flag": tf.logical_not(flag),
    }


def no_inputs() -> dict[str, tf.Tensor]:
    return {"y": tf.constant([7, -7], tf.int64)}


def not_a_number(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"y": tf.math.log(x)}


def rank8(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """TFLite transposes at most six extents; those of 1 make no difference."""
    transposed = tf.transpose(tf.reshape(x, [2, 2, 2, 2, 3]))
    return {"y": tf.reshape(transposed, [3, 2, 1, 2, 1, 2, 1, 2])}


def scalar(x: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"y": 2.0 * x + 1.0}


def symbolic(a: tf.Tensor, b: tf.Tensor) -> dict[str, tf.Tensor]:
    return {"y": a + b}


def floats(name: str, shape: list[int | None]) -> tf.TensorSpec:
    return tf.TensorSpec(shape, tf.float32, name)


# By name: a function, and what it takes.
MODELS: dict[str, tuple[Callable[..., Any], list[tf.TensorSpec]]] = {
    "affine": (affine, [floats("x", [4])]),
    "argmax": (argmax, [floats("scores", [8])]),
    "batched": (affine, [floats("x", [1, 4])]),
    "dynamic": (dynamic, [floats("rows", [None, 3])]),
    "identity": (identity, [floats("x", [4])]),
    "multi": (
        multi,
        [
            tf.TensorSpec([3], tf.int64, "ints"),
            tf.TensorSpec([1], tf.bool, "flag"),
            floats("reals", [2, 2]),
        ],
    ),
    "no_inputs": (no_inputs, []),
    "not_a_number": (not_a_number, [floats("x", [1])]),
    "rank8": (rank8, [tf.TensorSpec([2, 1, 2, 1, 2, 1, 2, 3], tf.int32, "x")]),
    "scalar": (scalar, [floats("x", [])]),
    "symbolic": (symbolic, [tf.TensorSpec([None], tf.int64, name) for name in ("a", "b")]),
    **{f"elements_{kind}": (elements, [tf.TensorSpec([3], kind, "x")]) for kind in TYPES},
}
