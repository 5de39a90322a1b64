"""Shapes that vary, and indices that do not fit: what ONNX's tests of operators do not try."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from compiler_bridge.codegen import Unsupported, generate

from ._compiled import LEVELS, Call, build

Node = tuple[str, list[str], list[str], dict[str, Any]]
MAXIMUM = 16
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
LAST = 2**63 - 1


def model(nodes: list[Node], constants: dict[str, Any], output: int = FLOAT) -> onnx.ModelProto:
    """x: float[N,4], k: int64[E] -> y."""
    made = [helper.make_node(op, ins, outs, **attributes) for op, ins, outs, attributes in nodes]
    inputs = [
        helper.make_tensor_value_info("x", FLOAT, ["N", 4]),
        helper.make_tensor_value_info("k", INT64, ["E"]),
    ]
    rank = helper.make_tensor_value_info("y", output, None)
    graph = helper.make_graph(
        made,
        "movement",
        inputs,
        [rank],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()],
    )
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)
    return onnx.shape_inference.infer_shapes(whole)


MODELS = {
    "a shape of a shape": (
        [
            ("Shape", ["x"], ["s"], {"end": 1}),
            ("Concat", ["s", "c"], ["t"], {"axis": 0}),
            ("Reshape", ["x", "t"], ["y"], {}),
        ],
        {"c": [2, 2]},
        FLOAT,
    ),
    "what remains": ([("Reshape", ["x", "c"], ["y"], {})], {"c": [-1, 2]}, FLOAT),
    "a range": (
        [("Size", ["x"], ["n"], {}), ("Range", ["a", "n", "d"], ["y"], {})],
        {"a": np.int64(0), "d": np.int64(2)},
        INT64,
    ),
    "backwards": (
        [("Slice", ["x", "a", "b", "c", "d"], ["y"], {})],
        {"a": [-1], "b": [-LAST], "c": [0], "d": [-1]},
        FLOAT,
    ),
    "parts side by side": (
        [
            ("Relu", ["x"], ["a"], {}),
            ("Slice", ["x", "s", "e", "c"], ["b"], {}),
            ("Concat", ["a", "b"], ["y"], {"axis": 1}),
        ],
        {"s": [1], "e": [2], "c": [1]},
        FLOAT,
    ),
    "copies": ([("Tile", ["x", "c"], ["y"], {})], {"c": [2, 3]}, FLOAT),
    "a frame": ([("Pad", ["x", "c"], ["y"], {})], {"c": [1, 2, 1, 1]}, FLOAT),
    "sums": ([("CumSum", ["x", "c"], ["y"], {})], {"c": np.int64(0)}, FLOAT),
    "rows": ([("Gather", ["x", "k"], ["y"], {})], {}, FLOAT),
    "rows added": (
        [
            ("Gather", ["x", "k"], ["r"], {}),
            ("Unsqueeze", ["k", "c"], ["i"], {}),
            ("ScatterND", ["x", "i", "r"], ["y"], {"reduction": "add"}),
        ],
        {"c": [1]},
        FLOAT,
    ),
}
REFUSED = {
    "depends on values": ([("NonZero", ["x"], ["y"], {})], {}, INT64),
    "must be known": ([("Slice", ["x", "k", "k"], ["y"], {})], {}, FLOAT),
    "N >= 5": ([("Slice", ["x", "a", "b"], ["y"], {})], {"a": [0], "b": [5]}, FLOAT),
}


def feeds(rows: int, indices: list[int]) -> dict[str, Any]:
    random = np.random.default_rng(rows)
    x = random.standard_normal((rows, 4)).astype(np.float32)
    return {"x": x, "k": np.array(indices, np.int64)}


def test_shapes_vary() -> None:
    protos = [model(*each) for each in MODELS.values()]
    program = build(
        {i: generate(m, f"M{i}", maxima=MAXIMUM, namespace=f"N{i}") for i, m in enumerate(protos)}
    )
    inputs = [feeds(0, []), feeds(1, [0, -1, 0]), feeds(7, [6, -7, 2, 2]), feeds(MAXIMUM, [3])]
    calls = [Call(i, x, level) for i in range(len(protos)) for x in inputs for level in LEVELS]
    for call, answer in zip(calls, program.run(calls), strict=True):
        what = f"{list(MODELS)[call.model]}, {call.inputs['x'].shape[0]} rows"
        assert answer.error == "", what
        wanted = ReferenceEvaluator(protos[call.model]).run(None, dict(call.inputs))[0]
        assert answer.outputs[0].shape == wanted.shape, what
        np.testing.assert_allclose(answer.outputs[0], wanted, rtol=1e-5, atol=1e-6, err_msg=what)


@pytest.mark.parametrize("index", [7, -8, LAST, -LAST - 1])
def test_an_index_does_not_fit(index: int) -> None:
    names = ["rows", "rows added"]
    made = {
        i: generate(model(*MODELS[name]), f"M{i}", maxima=MAXIMUM, namespace=f"N{i}")
        for i, name in enumerate(names)
    }
    calls = [Call(i, feeds(7, [0, index]), level) for i in made for level in LEVELS]
    for answer in build(made).run(calls):
        assert "(Gather): an index is out of range" in answer.error


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_said_before_it_runs_is_refused(reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        generate(model(*REFUSED[reason]), "Refused", maxima=MAXIMUM)
