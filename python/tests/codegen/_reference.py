"""What ONNX Runtime says of a graph, and how far that can be trusted.

An answer is near the reference if |a - b| <= absolute + relative * |b| + 8 * s, where s is how far
the reference itself moves if every result that was rounded moves by a few units in the last place.
Where a whole number, a truth value or the kind of a number (finite or not) changes by that, as with
near ties, nothing is compared."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from compiler_bridge.export._operators import library_for

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when it is loaded
import onnxruntime

Array = np.ndarray[Any, Any]

TOLERANCE = {"float32": (1e-5, 1e-4), "float64": (1e-11, 1e-11)}  # absolute, relative
_NOISE: dict[int, float] = {TensorProto.FLOAT: 1e-6, TensorProto.DOUBLE: 1e-13}
_NOISY_RUNS = 4

# Results that are as exact as their operands; all others are rounded.
_EXACT = """
    Abs Neg Floor Ceil Round Sign Relu Identity Clip Min Max Where Cast Transpose Reshape Flatten
    Squeeze Unsqueeze Expand Tile Pad Slice Concat Split Gather GatherElements GatherND Trilu OneHot
    EyeLike Range ConstantOfShape ArgMax ArgMin TopK ReduceMax ReduceMin Shape Size"""
# Those that take what is nearly equal from each other and enlarge the rest: what they do to values
# that are equal depends on how a mean is rounded.
_ENLARGING = ("LayerNormalization", "InstanceNormalization", "GroupNormalization")

onnxruntime.set_default_logger_severity(4)


class NotEvaluatedError(Exception):
    """ONNX Runtime lacks something, or refuses the values."""


def session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if library := library_for(model):
        options.register_custom_ops_library(library)
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options)
    except Exception as error:
        raise NotEvaluatedError(str(error)) from error


@dataclass(frozen=True)
class Expected:
    """An output that is wanted. `slack` is how far it moves, `stable` where it can be compared."""

    value: Array
    slack: Array
    stable: Array


class Reference:
    """`exact`: all that is calculated is, so that nothing may differ."""

    def __init__(self, model: onnx.ModelProto, *, exact: bool = False) -> None:
        self._outputs = [output.name for output in model.graph.output]
        self._exact = session(_with_outputs(model, _ordered(model)))
        self._noisy = None if exact else session(_with_noise(model))

    def __call__(self, inputs: Mapping[str, Array]) -> dict[str, Expected]:
        try:
            wanted = self._exact.run(None, dict(inputs))
            if any(np.isnan(each).any() for each in wanted[len(self._outputs) :]):
                raise NotEvaluatedError("the order of NaNs is not defined")
            noisy = [self._noisy] * _NOISY_RUNS if self._noisy else []
            moved = [each.run(None, dict(inputs)) for each in noisy]
        except Exception as error:
            raise NotEvaluatedError(str(error)) from error
        return {
            name: _expected(np.asarray(value), [np.asarray(run[i]) for run in moved])
            for i, (name, value) in enumerate(zip(self._outputs, wanted, strict=False))
        }


def _ordered(model: onnx.ModelProto) -> list[str]:
    """What is put in order, or of what the larger is taken."""
    given = {each.name for each in (*model.graph.input, *model.graph.initializer)}
    found: set[str] = set()
    for node in model.graph.node:
        if node.op_type in ("TopK", "ArgMax", "ArgMin"):
            found.add(node.input[0])
        if any(each.name == "reduction" and each.s in (b"max", b"min") for each in node.attribute):
            found.update((node.input[0], node.input[2]))
    return sorted(found - given - {each.name for each in model.graph.output})


def _with_outputs(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    result = onnx.ModelProto()
    result.CopyFrom(model)
    result.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return result


def _expected(value: Array, moved: Sequence[Array]) -> Expected:
    slack = np.zeros(value.shape)
    stable = np.ones(value.shape, dtype=bool)
    with np.errstate(invalid="ignore", over="ignore"):
        for other in moved:
            if value.dtype.kind != "f":
                stable &= value == other
                continue
            same = (value == other) | (np.isnan(value) & np.isnan(other))
            stable &= same | (np.isfinite(value) & np.isfinite(other))
            distance = np.abs(value.astype(np.float64) - other)
            slack = np.maximum(slack, np.where(same | ~np.isfinite(distance), 0, distance))
    return Expected(value, slack, stable)


def _with_noise(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with each rounded value multiplied by numbers near 1, which are new in each run."""
    typed = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    types = {i.name: i.type.tensor_type.elem_type for i in (*typed.value_info, *typed.output)}
    types |= {i.name: i.type.tensor_type.elem_type for i in typed.input}
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    del graph.node[:]
    for value in model.graph.input:
        graph.node.extend(_noise(value.name, f"{value.name}_noisy", types[value.name]))
    noisy = {i.name: f"{i.name}_noisy" for i in model.graph.input if types[i.name] in _NOISE}
    for node in model.graph.node:
        inputs = [noisy.get(name, name) for name in node.input]
        if node.op_type in _ENLARGING and types.get(node.input[0]) in _NOISE:
            moved = f"{node.output[0]}_from"
            graph.node.extend(_noise(inputs[0], moved, types[node.input[0]]))
            inputs[0] = moved
        copy = graph.node.add()
        copy.CopyFrom(node)
        copy.input[:] = inputs
        if node.op_type in _EXACT.split():
            continue
        for i, name in enumerate(node.output):
            if name and types[name] in _NOISE:
                copy.output[i] = f"{name}_exact"
                graph.node.extend(_noise(f"{name}_exact", name, types[name]))
    return result


def _noise(source: str, target: str, kind: int) -> list[onnx.NodeProto]:
    if kind not in _NOISE:
        return []
    size = _NOISE[kind]
    near_one: dict[str, Any] = {"low": 1 - size, "high": 1 + size}
    if kind == TensorProto.DOUBLE:
        near_one = {"low": -1.0, "high": 1.0}  # attributes are floats
        scale = helper.make_tensor("scale", TensorProto.DOUBLE, (), [size])
        one = helper.make_tensor("one", TensorProto.DOUBLE, (), [1.0])
        return [
            helper.make_node("Constant", [], [f"{target}_s"], value=scale),
            helper.make_node("Constant", [], [f"{target}_1"], value=one),
            helper.make_node("RandomUniformLike", [source], [f"{target}_r"], **near_one),
            helper.make_node("Mul", [f"{target}_r", f"{target}_s"], [f"{target}_t"]),
            helper.make_node("Add", [f"{target}_t", f"{target}_1"], [f"{target}_f"]),
            helper.make_node("Mul", [source, f"{target}_f"], [target]),
        ]
    return [
        helper.make_node("RandomUniformLike", [source], [f"{target}_f"], **near_one),
        helper.make_node("Mul", [source, f"{target}_f"], [target]),
    ]


def difference(got: Array, wanted: Expected) -> str:
    """What is wrong with an output, or nothing."""
    value = wanted.value
    if got.dtype != value.dtype or got.shape != value.shape:
        return f"is {got.dtype}{list(got.shape)}, not {value.dtype}{list(value.shape)}"
    if got.dtype == np.bool_ and (got.view(np.uint8) > 1).any():
        return "has truth values that are neither 0 nor 1"
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.asarray((got == value) | ((got != got) & (value != value)))
        if value.dtype.kind == "f":
            absolute, relative = TOLERANCE[value.dtype.name]
            room = absolute + relative * np.abs(value.astype(np.float64)) + 8 * wanted.slack
            distance = np.abs(got.astype(np.float64) - value)
            near |= np.isfinite(distance) & (distance <= room)
    wrong = ~near & wanted.stable
    if not wrong.any():
        return ""
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"element {list(place)} of {int(wrong.sum())} is {got[place]!r}, not {value[place]!r}"
