"""The network of an inlining policy: plain arrays, and the ONNX model that they make."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..export import ModelError
from ._features import FEATURES, Matrix, squashed

Vector = np.ndarray[tuple[int], np.dtype[np.float32]]

# How far from the mean, in standard deviations, a feature can be.
FARTHEST = 6.0


@dataclass(frozen=True)
class Network:
    """Features are squashed, standardized and cut off; layers with ReLU follow; the last gives a
    score. Above 0 the call is inlined."""

    mean: Vector
    scale: Vector
    layers: tuple[tuple[Matrix, Vector], ...]
    """Weights, of shape (inputs, outputs), and biases."""
    features: tuple[str, ...] = FEATURES

    @classmethod
    def fresh(cls, rows: Matrix, hidden: Sequence[int], seed: int | Sequence[int]) -> Network:
        """With random weights, standardized for these rows."""
        seen = squashed(rows)
        mean, deviation = seen.mean(0), seen.std(0)
        # What never varied says nothing, whatever it is elsewhere.
        scale = np.where(deviation > 1e-3, 1 / np.maximum(deviation, 1e-3), 0)
        chance = np.random.default_rng(seed)
        sizes = [len(mean), *hidden, 1]
        layers = tuple(
            (
                (chance.standard_normal((a, b)) * np.sqrt(2 / a)).astype(np.float32),
                np.zeros(b, np.float32),
            )
            for a, b in itertools.pairwise(sizes)
        )
        return cls(mean.astype(np.float32), scale.astype(np.float32), layers)

    def standardized(self, rows: Matrix) -> Matrix:
        """What the first layer sees of features."""
        near: Matrix = np.clip((squashed(rows) - self.mean) * self.scale, -FARTHEST, FARTHEST)
        return near

    def scores(self, standardized: Matrix) -> Vector:
        values = standardized
        for weights, bias in self.layers[:-1]:
            values = np.maximum(values @ weights + bias, 0)
        weights, bias = self.layers[-1]
        found: Vector = (values @ weights + bias)[:, 0]
        return found

    def score_of_one(self, row: Vector) -> float:
        """The same bits whatever else is asked at the time, which those of many rows are not."""
        return float(self.scores(self.standardized(row[None, :]))[0])

    def decisions(self, rows: Matrix) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.asarray(self.scores(self.standardized(rows)) > 0, np.int64)

    def parameters(self) -> Vector:
        """All that is learned, in a row."""
        return np.concatenate([part.ravel() for layer in self.layers for part in layer])

    def with_parameters(self, values: Vector) -> Network:
        left = np.asarray(values, np.float32)
        layers = []
        for weights, bias in self.layers:
            parts = np.split(left, [weights.size, weights.size + bias.size])
            layers.append((parts[0].reshape(weights.shape), parts[1]))
            left = parts[2]
        return replace(self, layers=tuple(layers))

    @classmethod
    def from_onnx(cls, model: Any) -> Network:
        """Of a model that `as_onnx` made."""
        from onnx import numpy_helper

        arrays = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
        names = tuple(each.name for each in model.graph.input)
        count = sum(name.startswith("weights") for name in arrays)
        try:
            layers = tuple((arrays[f"weights{i}"], arrays[f"bias{i}"]) for i in range(count))
            if not count:
                raise KeyError("weights0")
            network = cls(arrays["mean"], arrays["scale"], layers, names)
        except KeyError as missing:
            raise ModelError(
                f"has no {missing}: only models that `cbridge train inline` has written can be "
                "trained on"
            ) from None
        if strange := set(FEATURES).symmetric_difference(names):
            raise ModelError(f"looks at other features than this version does: {min(strange)}")
        return network

    def as_onnx(self) -> Any:
        """The model: features in, `inlining_decision` and `inlining_score` out."""
        import onnx
        from onnx import TensorProto, helper, numpy_helper

        nodes: list[Any] = []
        constants: dict[str, Any] = {}

        def node(kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
            nodes.append(helper.make_node(kind, list(inputs), [output], output, **attributes))
            return output

        def constant(name: str, value: Any) -> str:
            constants[name] = np.asarray(value)
            return name

        names = list(self.features)
        whole = node("Concat", names, "features", axis=0)
        real = node("Cast", [whole], "real", to=TensorProto.FLOAT)
        one = constant("one", np.float32(1))
        size = node("Log", [node("Add", [node("Abs", [real], "size"), one], "more")], "log")
        signed = node("Mul", [node("Sign", [real], "sign"), size], "squashed")
        centred = node("Sub", [signed, constant("mean", self.mean)], "centred")
        scaled = node("Mul", [centred, constant("scale", self.scale)], "scaled")
        limits = [constant("least", np.float32(-FARTHEST)), constant("most", np.float32(FARTHEST))]
        clipped = node("Clip", [scaled, *limits], "clipped")
        row = node("Unsqueeze", [clipped, constant("axis", np.array([0]))], "row")
        last = len(self.layers) - 1
        for place, (weights, bias) in enumerate(self.layers):
            parts = [constant(f"weights{place}", weights), constant(f"bias{place}", bias)]
            row = node("Gemm", [row, *parts], f"layer{place}")
            if place != last:
                row = node("Relu", [row], f"active{place}")
        score = node("Reshape", [row, constant("flat", np.array([1]))], "inlining_score")
        zero = constant("zero", np.float32(0))
        positive = node("Greater", [score, zero], "positive")
        node("Cast", [positive], "inlining_decision", to=TensorProto.INT64)
        graph = helper.make_graph(
            nodes,
            "inlining",
            [helper.make_tensor_value_info(n, TensorProto.INT64, [1]) for n in names],
            [
                helper.make_tensor_value_info("inlining_decision", TensorProto.INT64, [1]),
                helper.make_tensor_value_info("inlining_score", TensorProto.FLOAT, [1]),
            ],
            [numpy_helper.from_array(value, name) for name, value in constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        return model
