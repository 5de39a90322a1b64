#!/usr/bin/env python3
"""Writes the models with custom operators, tests/golden/onnx_ops: `make_op_models.py FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from onnx import ModelProto, NodeProto, TensorProto, helper

OURS, BAD = "compiler_bridge", "bad_ops"
TYPES = {
    "float": TensorProto.FLOAT,
    "double": TensorProto.DOUBLE,
    "int32_t": TensorProto.INT32,
    "int64_t": TensorProto.INT64,
    "int16_t": TensorProto.INT16,  # which there is no operator for
}
Shape = Sequence[int | str]


def model(
    nodes: Sequence[NodeProto], domain: str, kind: int, shapes: dict[str, Shape]
) -> ModelProto:
    """Its inputs have these shapes; its outputs have that of x."""
    inputs = [helper.make_tensor_value_info(n, kind, s) for n, s in shapes.items()]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, shapes["x"])
        for node in nodes
        for name in node.output
    ]
    return helper.make_model(
        helper.make_graph(nodes, "graph", inputs, outputs),
        producer_name="compiler-bridge tests",
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)],
    )


def bucketize(
    kind: int, x: Shape = ("n",), boundaries: Shape = ("b",), right: int = 1
) -> ModelProto:
    def node(output: str, **attributes: int) -> NodeProto:
        return helper.make_node(
            "Bucketize", ["x", "boundaries"], [output], f"to_{output}", domain=OURS, **attributes
        )

    nodes = [node("left"), node("right", right=right)]
    return model(nodes, OURS, kind, {"x": x, "boundaries": boundaries})


def bad(operator: str) -> ModelProto:
    node = helper.make_node(operator, ["x"], ["y"], f"the_{operator.lower()}", domain=BAD)
    return model([node], BAD, TensorProto.INT64, {"x": [2]})


def models() -> dict[str, ModelProto]:
    made = {f"bucketize_{name}": bucketize(kind) for name, kind in TYPES.items()}
    made["bucketize_boundaries_2d"] = bucketize(TensorProto.FLOAT, ["n"], ["b", "c"])
    made["bucketize_rank3"] = bucketize(TensorProto.FLOAT, ["a", 2, "c"])
    made["bucketize_right_2"] = bucketize(TensorProto.FLOAT, right=2)
    made |= {"fails": bad("Fails"), "throws": bad("Throws"), "throws_number": bad("ThrowsNumber")}
    return made


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, made in models().items():
        (folder / f"{name}.onnx").write_bytes(made.SerializeToString(deterministic=True))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER")
    write(Path(sys.argv[1]))
