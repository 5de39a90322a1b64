"""Writes the TFLite models of the engine suite: make_tflite_conformance.py DIR

What they compute: tests/conformance/Reference.cpp. They are kept in tests/golden/tflite, so that
only their maker needs TensorFlow.
"""

from __future__ import annotations

import sys
from pathlib import Path

from make_tflite import TYPES, c_name, tf, write

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


def main() -> None:
    root = Path(sys.argv[1])

    def floats(name: str, shape: list[int | None]) -> tf.TensorSpec:
        return tf.TensorSpec(shape, tf.float32, name)

    four, three = floats("x", [4]), {"y": ("float32", [3])}
    write(root / "affine", affine, [four], three)
    write(root / "argmax", argmax, [floats("scores", [8])], {"action": ("int64", [1])})
    write(root / "batched", affine, [floats("x", [1, 4])], {"y": ("float32", [1, 3])})
    doubled = {"sum": ("float32", [3]), "doubled": ("float32", [-1, 3])}
    write(root / "dynamic", dynamic, [floats("rows", [None, 3])], doubled)
    for kind in TYPES:
        given = tf.TensorSpec([3], kind, "x")
        write(root / f"elements_{c_name(kind)}", elements, [given], {"y": (kind, [3])})
    write(root / "identity", identity, [four], {"y": ("float32", [4])})
    several = [tf.TensorSpec([3], tf.int64, "ints"), tf.TensorSpec([1], tf.bool, "flag")]
    several.append(floats("reals", [2, 2]))
    decisions = {"scaled": ("float32", [2, 2]), "total": ("int64", [1]), "not_flag": ("bool", [1])}
    write(root / "multi", multi, several, decisions)
    write(root / "no_inputs", no_inputs, [], {"y": ("int64", [2])})
    write(root / "not_a_number", not_a_number, [floats("x", [1])], {"y": ("float32", [1])})
    cube = tf.TensorSpec([2, 1, 2, 1, 2, 1, 2, 3], tf.int32, "x")
    write(root / "rank8", rank8, [cube], {"y": ("int32", [3, 2, 1, 2, 1, 2, 1, 2])})
    write(root / "scalar", scalar, [floats("x", [])], {"y": ("float32", [])})
    pair = [tf.TensorSpec([None], tf.int64, name) for name in ("a", "b")]
    write(root / "symbolic", symbolic, pair, {"y": ("int64", [-1])})


if __name__ == "__main__":
    main()
