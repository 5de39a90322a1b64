"""The models of `./dev bench infer`: one set of weights, once per format.

Each is written below build/bench/models/NAME as an ONNX graph, a saved model of TensorFlow and a
TFLite folder, with a ring of inputs and what NumPy makes of them in double precision.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

VERSION = "3"  # of what is below: another one makes the models anew
# Inputs that are asked in turn: up to 8, but no more than a cache holds, as it holds what a pass
# has just computed.
RING, RING_BYTES = 8, 1 << 18
SEED = 42
HIDDEN, STEPS = 64, 4
NODES, SEQUENCE = 128, 16
RTT_SIZES = [64, 50_000]
Array = np.ndarray[Any, Any]
Arrays = dict[str, Any]  # of NumPy or of TensorFlow


@dataclass
class Ops:
    """What a formula needs beyond operators: of NumPy or of TensorFlow."""

    relu: Callable[[Any], Any]
    sigmoid: Callable[[Any], Any]
    tanh: Callable[[Any], Any]


NUMPY = Ops(lambda x: np.maximum(x, 0), lambda x: 1 / (1 + np.exp(-x)), np.tanh)


@dataclass
class Model:
    name: str
    inputs: dict[str, list[int]]
    output: list[int]
    weights: dict[str, Array]
    formula: Callable[[Ops, Arrays, Arrays], Any]
    # Nodes of the ONNX graph: operator, inputs, output, attributes.
    nodes: list[tuple[str, list[str], str, dict[str, Any]]]
    sample: Callable[[np.random.Generator, str, list[int]], Array]
    onnx_weights: dict[str, Array] = field(default_factory=dict)
    # Of the largest answer's size, since sums of many terms may cancel.
    tolerance: float = 1e-4


def normal(random: np.random.Generator, _: str, shape: list[int]) -> Array:
    values: Array = random.standard_normal(shape).astype(np.float32)
    return values


def layer(random: np.random.Generator, rows: int, columns: int) -> Array:
    values: Array = (random.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)
    return values


def mlp(random: np.random.Generator) -> Model:
    sizes = [64, 64, 64, 8]
    weights: dict[str, Array] = {}
    nodes: list[tuple[str, list[str], str, dict[str, Any]]] = []
    last = "x"
    for i, (rows, columns) in enumerate(pairwise(sizes)):
        weights[f"w{i}"] = layer(random, rows, columns)
        weights[f"b{i}"] = layer(random, columns, 1)[:, 0]
        end = i == len(sizes) - 2
        nodes.append(("Gemm", [last, f"w{i}", f"b{i}"], "y" if end else f"s{i}", {}))
        if not end:
            nodes.append(("Relu", [f"s{i}"], f"h{i}", {}))
        last = f"h{i}"

    def formula(ops: Ops, w: Arrays, x: Arrays) -> Any:
        h = ops.relu(x["x"] @ w["w0"] + w["b0"])
        h = ops.relu(h @ w["w1"] + w["b1"])
        return h @ w["w2"] + w["b2"]

    return Model("mlp", {"x": [1, 64]}, [1, 8], weights, formula, nodes, normal)


def fully_connected(random: np.random.Generator, size: int) -> Model:
    weights = {"w": layer(random, size, 1), "b": layer(random, 1, 1)[0]}
    return Model(
        f"fc{size}",
        {"x": [1, size]},
        [1, 1],
        weights,
        lambda _, w, x: x["x"] @ w["w"] + w["b"],
        [("Gemm", ["x", "w", "b"], "y", {})],
        normal,
    )


def lstm(random: np.random.Generator) -> Model:
    """The last state of an LSTM; gates in ONNX's order: input, output, forget, cell."""
    weights = {
        "w": layer(random, 64, 4 * HIDDEN),
        "r": layer(random, HIDDEN, 4 * HIDDEN),
        "b": layer(random, 4 * HIDDEN, 1)[:, 0],
    }

    def formula(ops: Ops, w: Arrays, x: Arrays) -> Any:
        outer = x["x"][:, 0, :] @ w["w"] + w["b"]
        h, c = 0 * outer[:1, :HIDDEN], 0 * outer[:1, :HIDDEN]
        for t in range(SEQUENCE):
            gates = outer[t : t + 1] + h @ w["r"]
            i, o, f, g = (gates[:, k * HIDDEN : (k + 1) * HIDDEN] for k in range(4))
            c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
            h = ops.sigmoid(o) * ops.tanh(c)
        return h[None, ...]

    return Model(
        "lstm16",
        {"x": [SEQUENCE, 1, 64]},
        [1, 1, HIDDEN],
        weights,
        formula,
        [("LSTM", ["x", "W", "R", "B"], "y", {"hidden_size": HIDDEN})],
        normal,
        onnx_weights={
            "W": np.ascontiguousarray(weights["w"].T)[None],
            "R": np.ascontiguousarray(weights["r"].T)[None],
            "B": np.concatenate([weights["b"], 0 * weights["b"]])[None],
        },
    )


def ggnn(random: np.random.Generator) -> Model:
    """A gated graph network: messages along an adjacency matrix, a GRU for each node."""
    weights = {"wm": layer(random, HIDDEN, HIDDEN), "wy": layer(random, HIDDEN, 1)}
    for letter in "zrn":
        weights[f"w{letter}"] = layer(random, HIDDEN, HIDDEN)
        weights[f"u{letter}"] = layer(random, HIDDEN, HIDDEN)
        weights[f"b{letter}"] = layer(random, HIDDEN, 1)[:, 0]

    def formula(ops: Ops, w: Arrays, x: Arrays) -> Any:
        h = x["h"]
        for _ in range(STEPS):
            m = x["a"] @ (h @ w["wm"])
            z = ops.sigmoid(m @ w["wz"] + h @ w["uz"] + w["bz"])
            r = ops.sigmoid(m @ w["wr"] + h @ w["ur"] + w["br"])
            n = ops.tanh(m @ w["wn"] + (r * h) @ w["un"] + w["bn"])
            h = n + z * (h - n)
        return h @ w["wy"]

    nodes: list[tuple[str, list[str], str, dict[str, Any]]] = []

    def add(operator: str, inputs: list[str], output: str) -> str:
        nodes.append((operator, inputs, output, {}))
        return output

    h = "h"
    for t in range(STEPS):

        def gate(name: str, own: str, step: int = t) -> str:
            left = add("Gemm", [f"m{step}", f"w{name}", f"b{name}"], f"{name}w{step}")
            right = add("MatMul", [own, f"u{name}"], f"{name}u{step}")
            both = add("Add", [left, right], f"{name}s{step}")
            return add("Tanh" if name == "n" else "Sigmoid", [both], f"{name}{step}")

        add("MatMul", [h, "wm"], f"o{t}")
        add("MatMul", ["a", f"o{t}"], f"m{t}")
        z, r = gate("z", h), gate("r", h)
        n = gate("n", add("Mul", [r, h], f"rh{t}"))
        add("Sub", [h, n], f"d{t}")
        add("Mul", [z, f"d{t}"], f"zd{t}")
        h = add("Add", [n, f"zd{t}"], f"h{t}")
    add("MatMul", [h, "wy"], "y")

    def sample(random: np.random.Generator, name: str, shape: list[int]) -> Array:
        if name == "h":
            return normal(random, name, shape)
        edges: Array = (random.random(shape) < 4 / NODES).astype(np.float32)
        edges /= np.maximum(edges.sum(1, keepdims=True), 1)
        return edges

    inputs = {"h": [NODES, HIDDEN], "a": [NODES, NODES]}
    return Model("ggnn128", inputs, [NODES, 1], weights, formula, nodes, sample)


def define() -> list[Model]:
    random = np.random.default_rng(SEED)
    return [
        mlp(random),
        fully_connected(random, 500),
        fully_connected(random, 50_000),
        lstm(random),
        ggnn(random),
    ]


def write_ring(model: Model, folder: Path) -> None:
    """inputs.bin: floats, one input after the other; answers.bin: doubles; weights.bin: floats, for
    what is written by hand; spec.txt: shapes."""
    size = sum(4 * int(np.prod(shape)) for shape in model.inputs.values())
    ring = max(2, min(RING, RING_BYTES // size))
    random = np.random.default_rng(SEED + 1)
    (folder / "weights.bin").write_bytes(b"".join(w.tobytes() for w in model.weights.values()))
    exact = {name: value.astype(np.float64) for name, value in model.weights.items()}
    with open(folder / "inputs.bin", "wb") as inputs, open(folder / "answers.bin", "wb") as answers:
        for _ in range(ring):
            x = {name: model.sample(random, name, shape) for name, shape in model.inputs.items()}
            for value in x.values():
                inputs.write(value.astype(np.float32).tobytes())
            wide = {name: value.astype(np.float64) for name, value in x.items()}
            answer = model.formula(NUMPY, exact, wide)
            assert list(answer.shape) == model.output
            answers.write(answer.tobytes())
    lines = [f"ring {ring}", f"tolerance {model.tolerance}"]
    lines += [" ".join(map(str, ["input", n, *shape])) for n, shape in model.inputs.items()]
    lines.append(" ".join(map(str, ["output", "y", *model.output])))
    (folder / "spec.txt").write_text("\n".join(lines) + "\n")


def signature(inputs: dict[str, list[int]], output: list[int]) -> str:
    def spec(name: str, shape: list[int]) -> dict[str, Any]:
        return {"name": name, "type": "float", "shape": shape}

    outputs = [spec("y", output)]
    return json.dumps({"inputs": [spec(n, s) for n, s in inputs.items()], "outputs": outputs})


def write_onnx(model: Model, path: Path) -> None:
    from onnx import TensorProto, checker, helper, numpy_helper, save

    def value(name: str, shape: list[int]) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    weights = model.onnx_weights or model.weights
    nodes = [
        # Of LSTM's outputs, the second is the last state.
        helper.make_node(
            operator, names, ["", output] if operator == "LSTM" else [output], **attributes
        )
        for operator, names, output, attributes in model.nodes
    ]
    graph = helper.make_graph(
        nodes,
        model.name,
        [value(name, shape) for name, shape in model.inputs.items()],
        [value("y", model.output)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(
        proto,
        {
            "cbridge.format": "1",
            "cbridge.name": model.name,
            "cbridge.version": VERSION,
            "cbridge.signature": signature(model.inputs, model.output),
        },
    )
    checker.check_model(proto)
    save(proto, str(path))


def write_tensorflow(model: Model, folder: Path) -> None:
    """saved/ with one signature `action`, and tflite/ with its output_spec.json."""
    import tensorflow as tf

    ops = Ops(tf.nn.relu, tf.sigmoid, tf.tanh)
    module = tf.Module()
    module.weights = {name: tf.constant(value) for name, value in model.weights.items()}
    # MLGO's names: what is fed and fetched is called as the pass calls it.
    action = tf.function(
        lambda **x: {"y": model.formula(ops, module.weights, x)},
        input_signature=None,
    ).get_concrete_function(
        **{name: tf.TensorSpec(shape, tf.float32, name) for name, shape in model.inputs.items()}
    )
    saved, lite = folder / "saved", folder / "tflite"
    tf.saved_model.save(module, str(saved), signatures={"action": action})
    lite.mkdir(exist_ok=True)
    converter = tf.lite.TFLiteConverter.from_saved_model(str(saved), signature_keys=["action"])
    (lite / "model.tflite").write_bytes(converter.convert())
    interpreter = tf.lite.Interpreter(str(lite / "model.tflite"))
    name, port = [*interpreter.get_output_details()[0]["name"].split(":"), "0"][:2]
    spec = {"name": name, "port": int(port), "type": "float", "shape": model.output}
    (lite / "output_spec.json").write_text(
        json.dumps([{"logging_name": "y", "tensor_spec": spec}], indent=1) + "\n"
    )


def make(root: Path, only: list[str], with_tensorflow: bool) -> None:
    """Writes what is not there yet; the stamp says that a folder is complete."""
    for size in RTT_SIZES:
        if with_tensorflow and f"rtt{size}" in only:
            make_rtt_tensorflow(root, size)
    for model in define():
        if model.name not in only:
            continue
        folder = root / model.name
        stamp = folder / "stamp"
        if not stamp.exists() or stamp.read_text() != VERSION:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            write_ring(model, folder)
            write_onnx(model, folder / "model.onnx")
            stamp.write_text(VERSION)
        if with_tensorflow and not (folder / "tflite/output_spec.json").exists():
            write_tensorflow(model, folder)


def rtt_weights(size: int) -> Array:
    index = np.arange(size, dtype=np.uint64)
    weights: Array = ((index * 2654435761) % 2**32 / 2**32 - 0.5).astype(np.float32)
    return weights


def make_rtt_tensorflow(root: Path, size: int) -> None:
    """rttSIZE/saved: TensorFlow compiles no extents that vary."""
    folder = root / f"rtt{size}"
    if (folder / "tflite/output_spec.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    weights = {"w": rtt_weights(size)[:, None]}
    write_tensorflow(
        Model(
            folder.name,
            {"x": [size]},
            [1],
            weights,
            lambda _, w, x: (x["x"][None, :] @ w["w"])[0],
            [],
            normal,
        ),
        folder,
    )


def make_rtt(folder: Path) -> tuple[Path, Path]:
    """Models of `./dev bench rtt`: for a vector of any size, whose length says how many weights are
    used, and for 64 floats; Dot.h has the same weights."""
    from onnx import TensorProto, helper, numpy_helper, save

    paths = folder / "any.onnx", folder / "small.onnx"
    if all(path.exists() for path in paths):
        return paths
    folder.mkdir(parents=True, exist_ok=True)
    weights = rtt_weights(50_000)
    zero = numpy_helper.from_array(np.zeros(1, np.int64), "zero")

    def write(path: Path, size: int | str, nodes: list[Any], constants: list[Any]) -> None:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [size])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
        graph = helper.make_graph(nodes, path.stem, [x], [y], constants)
        opset = [helper.make_opsetid("", 17)]
        save(helper.make_model(graph, opset_imports=opset, ir_version=8), str(path))

    write(
        paths[0],
        "n",
        [
            helper.make_node("Shape", ["x"], ["n"]),
            helper.make_node("Slice", ["w", "zero", "n"], ["used"]),
            # Of the ways to write this product, the fastest in ONNX Runtime.
            helper.make_node("Unsqueeze", ["used", "zero"], ["row"]),
            helper.make_node("Unsqueeze", ["x", "zero"], ["x_row"]),
            helper.make_node("Gemm", ["x_row", "row"], ["dot"], transB=1),
            helper.make_node("Squeeze", ["dot", "zero"], ["y"]),
        ],
        [numpy_helper.from_array(weights, "w"), zero],
    )
    small = numpy_helper.from_array(weights[:64, None].copy(), "w")
    write(paths[1], 64, [helper.make_node("MatMul", ["x", "w"], ["y"])], [small])
    return paths


def find_library() -> str | None:
    """The library of Python's onnxruntime, of which nothing is imported."""
    spec = find_spec("onnxruntime")
    for folder in (spec and spec.submodule_search_locations) or []:
        for file in sorted(Path(folder).glob("capi/libonnxruntime.so*")):
            return str(file)
    return None


if __name__ == "__main__":
    make(Path(sys.argv[1]), sys.argv[2:], "--tensorflow" in sys.argv)
