#!/usr/bin/env python3
"""Writes the ONNX files of tests/golden/onnx: `make_onnx.py FOLDER`.

What each good model computes is said once more in tests/conformance/Reference.cpp, in C++. All
answers are exact in every engine. Those in `bad/` must be refused when they are opened, except
`fill_3gb.onnx`, which fails when it runs.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, checker, helper, numpy_helper

OPSET, IR_VERSION = 17, 8  # what libraries of 2022 read
SIZE_3GB = 3 << 30

# Our names of element types, and ONNX's.
TYPES = {
    "bool": TensorProto.BOOL,
    "int8_t": TensorProto.INT8,
    "int16_t": TensorProto.INT16,
    "int32_t": TensorProto.INT32,
    "int64_t": TensorProto.INT64,
    "uint8_t": TensorProto.UINT8,
    "uint16_t": TensorProto.UINT16,
    "uint32_t": TensorProto.UINT32,
    "uint64_t": TensorProto.UINT64,
    "float": TensorProto.FLOAT,
    "double": TensorProto.DOUBLE,
    "string": TensorProto.STRING,
}
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64

Shape = Sequence[int | str]
# Small integers, so that no order of additions changes a sum.
WEIGHTS = np.array([[1, 2, 3, 4], [-1, 0, 1, 0], [5, -5, 2, -2]], np.float32)
BIAS = np.array([10, 20, -30], np.float32)


def tensor(name: str, kind: int, shape: Shape) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    """With its inputs and outputs as words."""
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    constants: dict[str, Any] | None = None,
    metadata: dict[str, str] | None = None,
    opset: int = OPSET,
) -> ModelProto:
    weights = [numpy_helper.from_array(np.asarray(v), n) for n, v in (constants or {}).items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, weights)
    made = helper.make_model(
        graph,
        producer_name="compiler-bridge tests",
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", opset)],
    )
    helper.set_model_props(made, metadata or {})
    return made


def affine(weights: Any = WEIGHTS, metadata: dict[str, str] | None = None) -> ModelProto:
    """y = W x + b."""
    return model(
        [node("MatMul", "w x", "wx"), node("Add", "wx b", "y")],
        [tensor("x", FLOAT, [4])],
        [tensor("y", FLOAT, [3])],
        {"w": weights, "b": BIAS},
        metadata,
    )


def affine_metadata(**replaced: str) -> dict[str, str]:
    signature = {
        "inputs": [{"name": "x", "type": "float", "shape": [4]}],
        "outputs": [{"name": "y", "type": "float", "shape": [3]}],
    }
    return {
        "cbridge.format": "1",
        "cbridge.name": "affine",
        "cbridge.version": "1.2.3",
        "cbridge.signature": json.dumps(signature, separators=(",", ":")),
        "cbridge.training_data": "none: chosen by hand",
        "cbridge.license": "Apache-2.0 WITH LLVM-exception",
    } | {f"cbridge.{key}": value for key, value in replaced.items()}


def batched() -> ModelProto:
    """affine, with a leading extent for batches."""
    return model(
        [node("Gemm", "x w b", "y", transB=1)],
        [tensor("x", FLOAT, [1, 4])],
        [tensor("y", FLOAT, [1, 3])],
        {"w": WEIGHTS, "b": BIAS},
    )


def elements(kind: int) -> ModelProto:
    """y = x[2], x[0], x[1]."""
    order = {"order": np.array([2, 0, 1], np.int64)}
    return model(
        [node("Gather", "x order", "y")], [tensor("x", kind, [3])], [tensor("y", kind, [3])], order
    )


def multi() -> ModelProto:
    """total = the sum of ints; scaled = flag ? 2 reals : reals; not_flag = not flag."""
    return model(
        [
            # ONNX Runtime's ReduceSum of int64_t counts in double.
            node("Split", "ints", "a b c", axis=0),
            node("Add", "a b", "ab"),
            node("Add", "ab c", "total"),
            node("Mul", "reals two", "twice"),
            node("Where", "flag twice reals", "scaled"),
            node("Not", "flag", "not_flag"),
        ],
        [
            tensor("ints", INT64, [3]),
            tensor("reals", FLOAT, [2, 2]),
            tensor("flag", TensorProto.BOOL, [1]),
        ],
        [
            tensor("total", INT64, [1]),
            tensor("scaled", FLOAT, [2, 2]),
            tensor("not_flag", TensorProto.BOOL, [1]),
        ],
        {"two": np.float32(2)},
    )


def dynamic() -> ModelProto:
    """sum = the sum of the rows; doubled = 2 rows."""
    return model(
        [
            node("ReduceSum", "rows first", "sum", keepdims=0),
            node("Add", "rows rows", "doubled"),
        ],
        [tensor("rows", FLOAT, ["n", 3])],
        [tensor("sum", FLOAT, [3]), tensor("doubled", FLOAT, ["n", 3])],
        {"first": np.array([0], np.int64)},
    )


def symbolic() -> ModelProto:
    """y = a + b, of as many elements each."""
    return model(
        [node("Add", "a b", "y")],
        [tensor("a", INT64, ["n"]), tensor("b", INT64, ["n"])],
        [tensor("y", INT64, ["n"])],
    )


def scalar() -> ModelProto:
    """y = 2 x + 1, without extents."""
    return model(
        [node("Mul", "x two", "twice"), node("Add", "twice one", "y")],
        [tensor("x", FLOAT, [])],
        [tensor("y", FLOAT, [])],
        {"two": np.float32(2), "one": np.float32(1)},
    )


def rank8() -> ModelProto:
    """The transposition of eight extents."""
    shape = [2, 1, 2, 1, 2, 1, 2, 3]
    return model(
        [node("Transpose", "x", "y", perm=list(range(7, -1, -1)))],
        [tensor("x", TensorProto.INT32, shape)],
        [tensor("y", TensorProto.INT32, shape[::-1])],
    )


def argmax() -> ModelProto:
    return model(
        [node("ArgMax", "scores", "action", axis=0, keepdims=1)],
        [tensor("scores", FLOAT, [8])],
        [tensor("action", INT64, [1])],
    )


def not_a_number() -> ModelProto:
    return model([node("Log", "x", "y")], [tensor("x", FLOAT, [1])], [tensor("y", FLOAT, [1])])


def no_inputs() -> ModelProto:
    value = numpy_helper.from_array(np.array([7, -7], np.int64))
    return model([node("Constant", "", "y", value=value)], [], [tensor("y", INT64, [2])])


def identity(kind: int = FLOAT, shape: Shape = (4,)) -> ModelProto:
    return model(
        [node("Identity", "x", "y")], [tensor("x", kind, shape)], [tensor("y", kind, shape)]
    )


def good() -> dict[str, ModelProto]:
    models = {
        "affine": affine(metadata=affine_metadata()),
        "argmax": argmax(),
        "batched": batched(),
        "dynamic": dynamic(),
        "identity": identity(),
        "multi": multi(),
        "no_inputs": no_inputs(),
        "not_a_number": not_a_number(),
        "rank8": rank8(),
        "scalar": scalar(),
        "symbolic": symbolic(),
    }
    return models | {f"elements_{name}": elements(kind) for name, kind in TYPES.items()}


def with_weight(value: float) -> ModelProto:
    weights = WEIGHTS.copy()
    weights[1, 2] = value
    return affine(weights)


def claims_3gb_in_dims() -> ModelProto:
    """An initializer that says it is larger than it is; all else fits."""
    made = one_operator(node("ReduceSum", "w", "sum", keepdims=0), node("Add", "x sum", "y"))
    made.graph.initializer.add(name="w", data_type=FLOAT, dims=[SIZE_3GB // 4], raw_data=bytes(4))
    return made


def claims_3gb_in_a_length() -> bytes:
    """A graph that says it goes on for 3 GB: field 7, with a length."""
    length, varint = SIZE_3GB, bytearray()
    while length:
        varint.append(length & 0x7F | (0x80 if length > 0x7F else 0))
        length >>= 7
    return bytes([0x08, IR_VERSION, 0x3A]) + bytes(varint) + bytes(16)


def missing_external_data() -> ModelProto:
    made = affine()
    weight = made.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in {"location": "not_there.bin", "offset": "0", "length": "48"}.items():
        weight.external_data.add(key=key, value=value)
    return made


def sequence_input() -> ModelProto:
    floats = helper.make_tensor_type_proto(FLOAT, [4])
    sequence = helper.make_value_info("x", helper.make_sequence_type_proto(floats))
    return model(
        [node("SequenceAt", "x first", "y")],
        [sequence],
        [tensor("y", FLOAT, [4])],
        {"first": np.array(0, np.int64)},
    )


def fill_3gb() -> ModelProto:
    """Asks for 3 GB when it runs; the shape is not known before, so that nothing is folded."""
    return model(
        [
            node("Shape", "x", "four"),
            node("Mul", "four many", "shape"),
            node("ConstantOfShape", "shape", "filled"),
            node("ReduceSum", "filled", "y", keepdims=1),
        ],
        [tensor("x", FLOAT, ["n"])],
        [tensor("y", FLOAT, [1])],
        {"many": np.array([SIZE_3GB // 16], np.int64)},
    )


def one_operator(*nodes: NodeProto, domain: str = "", opset: int = OPSET) -> ModelProto:
    """float[4] -> float[4] by whatever that is."""
    made = model(nodes, [tensor("x", FLOAT, [4])], [tensor("y", FLOAT, [4])], opset=opset)
    if domain:
        made.opset_import.add(domain=domain, version=1)
    return made


def duplicate_outputs() -> ModelProto:
    made = one_operator(node("Identity", "x", "y"))
    made.graph.output.append(made.graph.output[0])
    return made


def function_bomb() -> ModelProto:
    """Thirty functions, each of which calls the one before it twice."""
    made = one_operator(node("F29", "x", "y", domain="local"), domain="local")
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("local", 1)]
    for i in range(30):
        kind, domain = ("Relu", "") if i == 0 else (f"F{i - 1}", "local")
        calls = [node(kind, "a", "b", domain=domain), node(kind, "b", "c", domain=domain)]
        made.functions.append(helper.make_function("local", f"F{i}", ["a"], ["c"], calls, opsets))
    return made


def sparse_weight(value: float) -> ModelProto:
    made = one_operator(node("Add", "x w", "y"))
    values = helper.make_tensor("w", FLOAT, [2], [1.0, value])
    indices = helper.make_tensor("", INT64, [2], [0, 3])
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    return made


def bad() -> dict[str, ModelProto | bytes]:
    floats = [1.0, 2.0, float("nan"), 4.0]
    whole = affine().SerializeToString(deterministic=True)
    wrong = '{"inputs":[{"name":"x","type":"int64_t","shape":[4]}],"outputs":[]}'
    cycle = [node("Add", "x b", "a"), node("Identity", "a", "b"), node("Identity", "b", "y")]
    return {
        "broken_metadata": affine(metadata=affine_metadata(signature='{"inputs":[')),
        "claims_3gb_in_a_length": claims_3gb_in_a_length(),
        "claims_3gb_in_dims": claims_3gb_in_dims(),
        "cycle": one_operator(*cycle),
        "duplicate_outputs": duplicate_outputs(),
        "empty": b"",
        "fill_3gb": fill_3gb(),
        "float16_input": identity(TensorProto.FLOAT16),
        "function_bomb": function_bomb(),
        "inf_weight": with_weight(float("inf")),
        "missing_external_data": missing_external_data(),
        "nan_floats": one_operator(
            node("Constant", "", "w", value_floats=floats), node("Add", "x w", "y")
        ),
        "nan_sparse": sparse_weight(float("nan")),
        "nan_weight": with_weight(float("nan")),
        "opset_99": one_operator(node("Identity", "x", "y"), opset=99),
        "output_is_input": model([], [tensor("y", FLOAT, [3])], [tensor("y", FLOAT, [3])]),
        "random": random.Random(5).randbytes(500),
        "sequence_input": sequence_input(),
        "truncated": whole[: len(whole) // 2],
        "unknown_domain": one_operator(node("Foo", "x", "y", domain="nowhere"), domain="nowhere"),
        "unknown_operator": one_operator(node("NoSuchOperator", "x", "y")),
        "wrong_signature": affine(metadata=affine_metadata(signature=wrong)),
    }


def write(folder: Path) -> None:
    (folder / "bad").mkdir(parents=True, exist_ok=True)
    for name, made in good().items():
        checker.check_model(made, full_check=True)
        (folder / f"{name}.onnx").write_bytes(made.SerializeToString(deterministic=True))
    for name, content in bad().items():
        if isinstance(content, ModelProto):
            content = content.SerializeToString(deterministic=True)
        (folder / "bad" / f"{name}.onnx").write_bytes(content)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER")
    write(Path(sys.argv[1]))
