"""Networks as parts of ONNX models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# How far from the mean, in standard deviations, a feature can be.
FARTHEST = 6.0


class Graph:
    """Nodes and constants that become a model. Nodes are named after their output."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def node(self, kind: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self._nodes.append(helper.make_node(kind, list(inputs), [output], output, **attributes))
        return output

    def constant(self, name: str, value: Any) -> str:
        self._constants[name] = np.asarray(value)
        return name

    def standardized(self, real: str, mean: Any, scale: Any) -> str:
        """What the first layer sees of features, which are the last axis of `real`."""
        node, constant = self.node, self.constant
        one = constant("one", np.float32(1))
        size = node("Log", [node("Add", [node("Abs", [real], "size"), one], "more")], "log")
        signed = node("Mul", [node("Sign", [real], "sign"), size], "squashed")
        centred = node("Sub", [signed, constant("mean", mean)], "centred")
        scaled = node("Mul", [centred, constant("scale", scale)], "scaled")
        limits = [constant("least", np.float32(-FARTHEST)), constant("most", np.float32(FARTHEST))]
        return node("Clip", [scaled, *limits], "clipped")

    def layers(self, rows: str, layers: Sequence[tuple[Any, Any]]) -> str:
        """The scores of rows, as a column."""
        last = len(layers) - 1
        for place, (weights, bias) in enumerate(layers):
            parts = [
                self.constant(f"weights{place}", weights),
                self.constant(f"bias{place}", bias),
            ]
            rows = self.node("Gemm", [rows, *parts], f"layer{place}")
            if place != last:
                rows = self.node("Relu", [rows], f"active{place}")
        return rows

    def model(
        self,
        name: str,
        inputs: Sequence[tuple[str, int, Sequence[int]]],
        outputs: Sequence[tuple[str, int, Sequence[int]]],
    ) -> Any:
        """Checked; tensors are names, ONNX's element types, and shapes."""
        import onnx
        from onnx import helper, numpy_helper

        graph = helper.make_graph(
            self._nodes,
            name,
            [helper.make_tensor_value_info(*each) for each in inputs],
            [helper.make_tensor_value_info(*each) for each in outputs],
            [numpy_helper.from_array(value, name) for name, value in self._constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        return model
