#!/usr/bin/env python3
"""Writes example.onnx, a policy of one line for -Oz: inline what costs less than 10.

LLVM's own limit at -Oz is 5. A model that is worth shipping is learned; this one shows how small a
policy may be: it takes one of the 38 features and tells its score.
"""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper

LIMIT = 10.0


def main() -> None:
    nodes = [
        helper.make_node("Cast", ["cost_estimate"], ["cost"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["limit", "cost"], ["inlining_score"]),
        helper.make_node("Greater", ["inlining_score", "zero"], ["yes"]),
        helper.make_node("Cast", ["yes"], ["inlining_decision"], to=TensorProto.INT64),
    ]
    graph = helper.make_graph(
        nodes,
        "inline_example",
        [helper.make_tensor_value_info("cost_estimate", TensorProto.INT64, [1])],
        [
            helper.make_tensor_value_info("inlining_decision", TensorProto.INT64, [1]),
            helper.make_tensor_value_info("inlining_score", TensorProto.FLOAT, [1]),
        ],
        [
            helper.make_tensor("limit", TensorProto.FLOAT, [1], [LIMIT]),
            helper.make_tensor("zero", TensorProto.FLOAT, [1], [0.0]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, Path(__file__).parent / "example.onnx")


if __name__ == "__main__":
    main()
