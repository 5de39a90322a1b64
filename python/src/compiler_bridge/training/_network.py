"""The network of a policy: plain arrays, and the ONNX model that they make for inlining."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..export import ModelError
from ._features import FEATURES, Matrix, squashed
from ._onnx import FARTHEST, Graph

Vector = np.ndarray[tuple[int], np.dtype[np.float32]]


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
    def fresh(
        cls,
        rows: Matrix,
        hidden: Sequence[int],
        seed: int | Sequence[int],
        features: Sequence[str] = FEATURES,
    ) -> Network:
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
        return cls(
            mean.astype(np.float32), scale.astype(np.float32), layers, features=tuple(features)
        )

    def standardized(self, rows: Matrix) -> Matrix:
        """What the first layer sees of features."""
        near: Matrix = np.clip((squashed(rows) - self.mean) * self.scale, -FARTHEST, FARTHEST)
        return near

    def scores(self, standardized: Matrix) -> Vector:
        """One per row."""
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

    def towards(self, other: Network, share: float) -> Network:
        """Between the two: all of this one if the share is 0."""
        ours, theirs = self.parameters(), other.parameters()
        return self.with_parameters(ours + np.float32(share) * (theirs - ours))

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
        from onnx import TensorProto

        graph = Graph()
        node, constant = graph.node, graph.constant
        names = list(self.features)
        whole = node("Concat", names, "features", axis=0)
        real = node("Cast", [whole], "real", to=TensorProto.FLOAT)
        clipped = graph.standardized(real, self.mean, self.scale)
        row = node("Unsqueeze", [clipped, constant("axis", np.array([0]))], "row")
        scored = graph.layers(row, self.layers)
        score = node("Reshape", [scored, constant("flat", np.array([1]))], "inlining_score")
        zero = constant("zero", np.float32(0))
        positive = node("Greater", [score, zero], "positive")
        node("Cast", [positive], "inlining_decision", to=TensorProto.INT64)
        return graph.model(
            "inlining",
            [(name, TensorProto.INT64, [1]) for name in names],
            [
                ("inlining_decision", TensorProto.INT64, [1]),
                ("inlining_score", TensorProto.FLOAT, [1]),
            ],
        )
