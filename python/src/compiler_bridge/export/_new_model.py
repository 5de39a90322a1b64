"""Random models for any signature, so that a pass can be developed before its model exists."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..spec import TensorSpec
from . import _check, _model
from ._model import ELEMENT_TYPES, PathLike
from ._signature import ModelError, Signature

Array = np.ndarray[Any, Any]

_FEATURES = 16  # what becomes of each input
_HIDDEN = 32
_DENSE = 1 << 16  # larger tensors get no weight per element
_LETTERS = "eainosr_"
_WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
_CLASSES = len(_WORDS)
_MOST_CHOICES = 128  # which every type of integers has


def new_model(
    path: PathLike,
    inputs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec] | TensorSpec,
    *,
    seed: int = 0,
    choices: int = _CLASSES,
    name: str = "random",
    version: str = "0",
    training_data: str = "none: random weights",
    license: str | None = None,  # noqa: A002 - what it is called
) -> None:
    """Writes a small random model with this signature; all outputs depend on all inputs.

    Floats come out around 0, integers below `choices`, strings as one of ten words. Dynamic extents
    of outputs are those of the inputs, in order; if those have none, 1 to 4, depending on values.
    """
    _model.require("onnx", "a new model")
    _model.destination(path)
    _model.check_named(name, version)
    if not 1 <= choices <= _MOST_CHOICES:
        raise ModelError(f"choices: {choices} is not from 1 to {_MOST_CHOICES}")
    signature = Signature.of(inputs, outputs)
    model = _Builder(signature, seed, choices).model()
    _model.write_metadata(
        model,
        signature,
        name=name,
        version=version,
        training_data=training_data,
        license=license,
    )
    _check.check_structure(model, signature)
    _model.save(model, path)


class _Builder:
    def __init__(self, signature: Signature, seed: int, choices: int) -> None:
        self._helper = importlib.import_module("onnx.helper")
        self._numpy_helper = importlib.import_module("onnx.numpy_helper")
        self._signature = signature
        self._choices = choices
        self._random = np.random.default_rng(seed)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._taken = {spec.name for spec in (*signature.inputs, *signature.outputs)}

    def model(self) -> Any:
        hidden = self._hidden([self._features(spec) for spec in self._signature.inputs])
        extents = self._dynamic_extents()
        for spec in self._signature.outputs:
            self._output(spec, hidden, extents)
        graph = self._helper.make_graph(
            self._nodes,
            "random",
            [self._value_info(spec) for spec in self._signature.inputs],
            [self._value_info(spec) for spec in self._signature.outputs],
            self._constants,
        )
        # The lowest that have what is used, for old runtimes.
        strings = any(node.op_type == "StringSplit" for node in self._nodes)
        opset = self._helper.make_opsetid("", 20 if strings else 17)
        return self._helper.make_model(
            graph,
            opset_imports=[opset],
            ir_version=9 if strings else 8,
            producer_name="compiler_bridge",
        )

    def _value_info(self, spec: TensorSpec) -> Any:
        shape = [f"{spec.name}_{i}" if e < 0 else e for i, e in enumerate(spec.shape)]
        return self._helper.make_tensor_value_info(spec.name, ELEMENT_TYPES[spec.dtype], shape)

    def _fresh(self, hint: str) -> str:
        name, i = hint, 0
        while name in self._taken:
            i += 1
            name = f"{hint}_{i}"
        self._taken.add(name)
        return name

    def _constant(self, value: Any, dtype: Any) -> str:
        name = self._fresh("constant")
        self._constants.append(self._numpy_helper.from_array(np.array(value, dtype=dtype), name))
        return name

    def _weights(self, *shape: int, spread: float = 1.0) -> str:
        return self._constant(self._random.normal(0, spread, shape), np.float32)

    def _node(self, kind: str, *arguments: str, result: str = "", **attributes: Any) -> str:
        result = result or self._fresh(kind.lower())
        self._nodes.append(self._helper.make_node(kind, list(arguments), [result], **attributes))
        return result

    def _reshape(self, value: str, *shape: int) -> str:
        return self._node("Reshape", value, self._constant(shape, np.int64))

    def _features(self, spec: TensorSpec) -> str:
        """float[1,16] of an input, whatever its type and size."""
        rows = self._reshape(spec.name, -1, 1)
        if spec.dtype == "str":
            rows = self._letters(rows)
        elif spec.dtype != "float32":
            rows = self._node("Cast", rows, to=ELEMENT_TYPES["float32"])
        # Sizes and counts of all magnitudes matter: sign(x) * log(1 + |x|).
        size = self._node("Log", self._node("Add", self._node("Abs", rows), self._one()))
        rows = self._node("Mul", self._node("Sign", rows), size)
        columns = len(_LETTERS) if spec.dtype == "str" else 1
        count = math.prod(spec.shape) * columns
        if -1 not in spec.shape and 0 < count <= _DENSE:
            flat = self._reshape(rows, 1, count)
            weights = self._weights(count, _FEATURES, spread=1 / math.sqrt(count))
            return self._node("MatMul", flat, weights)
        # Any number of rows: their mean, but none for none.
        weights, bias = self._weights(columns, _FEATURES), self._weights(_FEATURES)
        each = self._node("Tanh", self._node("Gemm", rows, weights, bias))
        total = self._node("ReduceSum", each, self._constant([0], np.int64), keepdims=1)
        number = self._node("Cast", self._node("Size", rows), to=ELEMENT_TYPES["float32"])
        mean = self._node("Div", total, self._node("Add", number, self._one()))
        return self._node("Mul", mean, self._constant(4.0, np.float32))

    def _one(self) -> str:
        return self._constant(1.0, np.float32)

    def _letters(self, rows: str) -> str:
        """float[n,8]: how often each letter is in each string."""
        # Engines do not agree on how many parts an empty string has.
        dot = self._constant(".", object)
        flat, counts = self._node("StringConcat", self._reshape(rows, -1), dot), []
        for letter in _LETTERS:
            parts, count = self._fresh("parts"), self._fresh("count")
            self._nodes.append(
                self._helper.make_node("StringSplit", [flat], [parts, count], delimiter=letter)
            )
            number = self._node("Cast", count, to=ELEMENT_TYPES["float32"])
            counts.append(self._reshape(self._node("Sub", number, self._one()), -1, 1))
        return self._node("Concat", *counts, axis=1)

    def _hidden(self, features: list[str]) -> str:
        if not features:
            return self._weights(1, _HIDDEN)
        joined = features[0] if len(features) == 1 else self._node("Concat", *features, axis=1)
        width = _FEATURES * len(features)
        weights = self._weights(width, _HIDDEN, spread=3 / math.sqrt(width))
        return self._node("Tanh", self._node("Gemm", joined, weights, self._weights(_HIDDEN)))

    def _linear(self, hidden: str, count: int) -> str:
        """float[1,count]"""
        weights = self._weights(_HIDDEN, count, spread=3 / math.sqrt(_HIDDEN))
        return self._node("Gemm", hidden, weights, self._weights(count, spread=0.5))

    def _class(self, value: str, classes: int) -> str:
        """Integral floats from 0 to classes - 1."""
        # A sine does not stay at one end, as a sigmoid may.
        half = self._constant(classes / 2, np.float32)
        scaled = self._node("Mul", self._node("Sin", value), half)
        floor = self._node("Floor", self._node("Add", scaled, half))
        return self._node("Min", floor, self._constant(classes - 1, np.float32))

    def _dynamic_extents(self) -> list[str]:
        """int64[1] each: the dynamic extents of the inputs."""
        result = []
        for spec in self._signature.inputs:
            if -1 in spec.shape:
                shape = self._node("Shape", spec.name)
                result += [
                    self._node("Gather", shape, self._constant([i], np.int64))
                    for i, extent in enumerate(spec.shape)
                    if extent < 0
                ]
        return result

    def _output(self, spec: TensorSpec, hidden: str, extents: list[str]) -> None:
        count = math.prod(spec.shape)
        if -1 not in spec.shape and count <= _DENSE:
            shape = self._constant(spec.shape, np.int64)
            if count:
                values = self._linear(hidden, count)
            else:
                values = self._constant(np.zeros((1, 0)), np.float32)
        else:
            shape = self._output_shape(spec, hidden, extents)
            values = self._wave(hidden, shape)
        # An extent of 0 is one, not "as it was".
        self._typed(spec, self._node("Reshape", values, shape, allowzero=1))

    def _output_shape(self, spec: TensorSpec, hidden: str, extents: list[str]) -> str:
        parts, dynamic = [], 0
        for extent in spec.shape:
            if extent >= 0:
                parts.append(self._constant([extent], np.int64))
            elif extents:
                parts.append(extents[min(dynamic, len(extents) - 1)])
                dynamic += 1
            else:
                chosen = self._class(self._reshape(self._linear(hidden, 1), 1), 4)
                chosen = self._node("Add", chosen, self._one())
                parts.append(self._node("Cast", chosen, to=ELEMENT_TYPES["int64"]))
        return parts[0] if len(parts) == 1 else self._node("Concat", *parts, axis=0)

    def _wave(self, hidden: str, shape: str) -> str:
        """float[n]: sin(a + b (i mod 17)), which needs no weights for n elements."""
        count = self._node("ReduceProd", shape, keepdims=0)
        zero, one = self._constant(0, np.int64), self._constant(1, np.int64)
        steps = self._node("Range", zero, count, one)
        # Small angles, on whose sine engines agree.
        steps = self._node("Mod", steps, self._constant(17, np.int64))
        steps = self._node("Cast", steps, to=ELEMENT_TYPES["float32"])
        start = self._reshape(self._linear(hidden, 1), 1)
        angle = self._node("Add", self._node("Mul", steps, self._weights(1)), start)
        return self._node("Mul", self._node("Sin", angle), self._constant(2.0, np.float32))

    def _typed(self, spec: TensorSpec, values: str) -> None:
        """Gives float values the element type and the name of an output."""
        if spec.dtype == "float32":
            self._node("Identity", values, result=spec.name)
        elif spec.dtype == "float64":
            self._node("Cast", values, result=spec.name, to=ELEMENT_TYPES["float64"])
        elif spec.dtype == "bool":
            zero = self._constant(0.0, np.float32)
            self._node("Greater", self._node("Sin", values), zero, result=spec.name)
        elif spec.dtype == "str":
            index = self._node("Cast", self._class(values, _CLASSES), to=ELEMENT_TYPES["int64"])
            self._node("Gather", self._constant(_WORDS, object), index, result=spec.name)
        else:
            whole = self._class(values, self._choices)
            self._node("Cast", whole, result=spec.name, to=ELEMENT_TYPES[spec.dtype])
