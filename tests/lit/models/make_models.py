#!/usr/bin/env python3
"""Writes the models of the lit tests, beside this file."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper

HERE = Path(__file__).parent


def tensor(name: str, kind: int = TensorProto.INT64) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, [1])


def write(
    name: str,
    inputs: list[onnx.ValueInfoProto],
    nodes: list[onnx.NodeProto],
    outputs: list[onnx.ValueInfoProto],
    constants: dict[str, float] | None = None,
) -> None:
    weights = [
        helper.make_tensor(key, TensorProto.FLOAT, [1], [value])
        for key, value in (constants or {}).items()
    ]
    graph = helper.make_graph(nodes, name, inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, HERE / f"{name}.onnx")


def main() -> None:
    node = helper.make_node
    # A score that grows with the callee's users and falls with its cost.
    write(
        "score",
        [tensor("cost_estimate"), tensor("callee_users"), tensor("node_count")],
        [
            node("Cast", ["cost_estimate"], ["cost"], to=TensorProto.FLOAT),
            node("Cast", ["callee_users"], ["users"], to=TensorProto.FLOAT),
            node("Mul", ["users", "per_user"], ["gain"]),
            node("Sub", ["gain", "cost"], ["inlining_score"]),
            node("Greater", ["inlining_score", "zero"], ["yes"]),
            node("Cast", ["yes"], ["inlining_decision"], to=TensorProto.INT64),
            node("Identity", ["node_count"], ["unused"]),
        ],
        [tensor("inlining_decision"), tensor("inlining_score", TensorProto.FLOAT)],
        {"per_user": 20.0, "zero": 0.0},
    )
    # What LLVM's heuristic says; its score shows the other features.
    write(
        "extras",
        [
            tensor("inlining_default"),
            tensor("callsite_loop_depth"),
            tensor("callsite_frequency", TensorProto.FLOAT),
        ],
        [
            node("Identity", ["inlining_default"], ["inlining_decision"]),
            node("Cast", ["callsite_loop_depth"], ["depth"], to=TensorProto.FLOAT),
            node("Mul", ["depth", "thousand"], ["shifted"]),
            node("Add", ["shifted", "callsite_frequency"], ["inlining_score"]),
        ],
        [tensor("inlining_decision"), tensor("inlining_score", TensorProto.FLOAT)],
        {"thousand": 1000.0},
    )
    # Wants a feature that no inliner has.
    write(
        "stranger",
        [tensor("phase_of_the_moon")],
        [node("Identity", ["phase_of_the_moon"], ["inlining_decision"])],
        [tensor("inlining_decision")],
    )


if __name__ == "__main__":
    main()
