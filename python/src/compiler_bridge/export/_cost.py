"""What a model costs: multiply-adds and weights."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _model

Shapes = dict[str, list[int] | None]


@dataclass
class Cost:
    """An estimate for one evaluation; `unknown` are the operators that are not in it."""

    multiply_adds: int = 0
    unknown: Counter[str] = field(default_factory=Counter)

    def add(self, other: Cost, times: int = 1) -> None:
        self.multiply_adds += other.multiply_adds * times
        self.unknown.update(other.unknown)


@dataclass(frozen=True)
class Weights:
    parameters: int
    size: int  # bytes
    not_finite: list[str]  # what is wrong, by name


def operators(model: Any) -> Counter[tuple[str, str]]:
    """How often each (domain, operator) is there, in bodies of loops and branches, too."""
    found: Counter[tuple[str, str]] = Counter()
    for graph in _model.all_graphs(model.graph):
        for node in graph.node:
            domain = "" if node.domain == "ai.onnx" else node.domain
            found[domain, node.op_type] += 1
    return found


def weights(model: Any) -> Weights:
    """Counts initializers and constants."""
    parameters = size = 0
    wrong = []
    for graph in _model.all_graphs(model.graph):
        tensors = [(tensor.name, tensor) for tensor in graph.initializer]
        for node in graph.node:
            if node.op_type == "Constant":
                tensors += [(node.output[0], a.t) for a in node.attribute if a.name == "value"]
        for name, tensor in tensors:
            array = _model.to_array(tensor)
            parameters += array.size
            size += array.nbytes if array.dtype != object else sum(map(len, tensor.string_data))
            if array.dtype.kind != "f":
                continue
            # As the engine has it: an infinite scalar masks scores.
            infinite = int(np.isinf(array).sum()) if array.size > 1 else 0
            counts = {"NaN": int(np.isnan(array).sum()), "Inf": infinite}
            bad = " and ".join(f"{count} {what}" for what, count in counts.items() if count)
            if bad:
                wrong.append(f"{name!r}: {bad} among {array.size} values")
    return Weights(parameters, size, wrong)


def cost(model: Any, extent: int) -> Cost:
    """Multiply-adds of matrix products, convolutions and recurrences, with this for each dynamic
    extent. Loops whose length is not known count once."""
    onnx = _model.require("onnx", "an estimate")
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for value in fixed.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if not dim.HasField("dim_value"):
                dim.dim_value = extent
    for value in fixed.graph.output:
        value.type.tensor_type.ClearField("shape")
    del fixed.graph.value_info[:]
    try:
        fixed = onnx.shape_inference.infer_shapes(fixed, data_prop=True)
    except Exception:  # what it does not know is counted as unknown
        fixed = model
    return _graph_cost(fixed.graph, {})


def _shapes(graph: Any, outer: Shapes) -> Shapes:
    shapes = dict(outer)
    for value in [*graph.input, *graph.value_info, *graph.output]:
        tensor = value.type.tensor_type
        dims = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
        shapes[value.name] = dims if tensor.HasField("shape") and -1 not in dims else None
    for tensor in graph.initializer:
        shapes[tensor.name] = list(tensor.dims)
    for node in graph.node:
        if node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.name == "value":
                    shapes[node.output[0]] = list(attribute.t.dims)
    return shapes


def _graph_cost(graph: Any, outer: Shapes) -> Cost:
    shapes = _shapes(graph, outer)
    constants = {tensor.name: tensor for tensor in graph.initializer}
    total = Cost()
    for node in graph.node:
        inner = [_graph_cost(body, shapes) for body in _model.subgraphs(node)]
        if node.op_type == "If" and inner:
            total.add(max(inner, key=lambda each: each.multiply_adds))
        elif inner:
            times = _times(node, shapes, constants)
            for each in inner:
                total.add(each, times or 1)
            if times is None:
                total.unknown[node.op_type] += 1
        elif node.op_type in _COUNTED:
            try:
                total.multiply_adds += _COUNTED[node.op_type](node, shapes)
            except (KeyError, TypeError, IndexError, ValueError):
                total.unknown[node.op_type] += 1
        elif node.domain not in ("", "ai.onnx", "ai.onnx.ml"):
            total.unknown[f"{node.domain}::{node.op_type}"] += 1
    return total


def _times(node: Any, shapes: Shapes, constants: dict[str, Any]) -> int | None:
    """How often a body runs."""
    if node.op_type == "Loop" and node.input[0] in constants:
        return int(_model.to_array(constants[node.input[0]]).item())
    if node.op_type == "Scan":
        count = next((a.i for a in node.attribute if a.name == "num_scan_inputs"), 0)
        shape = shapes.get(node.input[-1]) if count else None
        return shape[0] if shape else None
    return None


def _shape(shapes: Shapes, name: str) -> list[int]:
    shape = shapes[name]
    if shape is None:
        raise KeyError(name)
    return shape


def _attribute(node: Any, name: str, default: Any = None) -> Any:
    for attribute in node.attribute:
        if attribute.name == name:
            return attribute.i if attribute.type == 2 else attribute.s.decode()
    return default


def _matmul(node: Any, shapes: Shapes) -> int:
    a, b = _shape(shapes, node.input[0]), _shape(shapes, node.input[1])
    rows, columns = (a[-2] if len(a) > 1 else 1), (b[-1] if len(b) > 1 else 1)
    batch = np.broadcast_shapes(tuple(a[:-2]), tuple(b[:-2]))
    return math.prod(batch) * rows * a[-1] * columns


def _gemm(node: Any, shapes: Shapes) -> int:
    a, b = _shape(shapes, node.input[0]), _shape(shapes, node.input[1])
    if _attribute(node, "transA", 0):
        a = a[::-1]
    return a[0] * a[1] * (b[0] if _attribute(node, "transB", 0) else b[1])


def _conv(node: Any, shapes: Shapes) -> int:
    kernel = _shape(shapes, node.input[1])
    return math.prod(_shape(shapes, node.output[0])) * math.prod(kernel[1:])


def _conv_transpose(node: Any, shapes: Shapes) -> int:
    kernel = _shape(shapes, node.input[1])
    return math.prod(_shape(shapes, node.input[0])) * math.prod(kernel[1:])


def _recurrence(node: Any, shapes: Shapes) -> int:
    steps, batch = _shape(shapes, node.input[0])[:2]
    if _attribute(node, "layout", 0):
        steps, batch = batch, steps
    both = math.prod(_shape(shapes, node.input[1])) + math.prod(_shape(shapes, node.input[2]))
    return steps * batch * both


def _einsum(node: Any, shapes: Shapes) -> int:
    left = _attribute(node, "equation").replace(" ", "").partition("->")[0].split(",")
    if len(left) < 2 or any("." in term for term in left):
        raise ValueError
    extents: dict[str, int] = {}
    for term, name in zip(left, node.input, strict=True):
        for letter, extent in zip(term, _shape(shapes, name), strict=True):
            extents[letter] = max(extent, extents.get(letter, 1))
    return math.prod(extents.values())


_COUNTED = {
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "Gemm": _gemm,
    "Conv": _conv,
    "ConvInteger": _conv,
    "ConvTranspose": _conv_transpose,
    "LSTM": _recurrence,
    "GRU": _recurrence,
    "RNN": _recurrence,
    "Einsum": _einsum,
}
