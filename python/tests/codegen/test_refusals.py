"""Models that onnx.checker takes, but whose inputs do not fit their operators, are refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from compiler_bridge.codegen import Unsupported, generate

from ._compiled import LEVELS, Call, build

TYPES = {"f": "float32", "d": "float64", "i": "int32", "l": "int64", "b": "bool"}
MAXIMUM = 8


@dataclass
class Case:
    """`inputs`: a type and extents ("f2,N"), a constant, or nothing ("") where one is left out."""

    operator: str
    inputs: list[Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    opset: int = 21

    def changed(self, inputs: dict[int, Any], attributes: dict[str, Any]) -> Case:
        new = [*self.inputs, *[""] * (max(inputs, default=0) + 1 - len(self.inputs))]
        for i, each in inputs.items():
            new[i] = each
        both = {**self.attributes, **attributes}
        return Case(self.operator, new, both, self.outputs, self.opset)

    def model(self) -> onnx.ModelProto:
        names, inputs, constants = [], [], []
        for i, each in enumerate(self.inputs):
            names.append("" if isinstance(each, str) and not each else f"x{i}")
            if not isinstance(each, str):
                constants.append(numpy_helper.from_array(np.asarray(each), names[-1]))
            elif each:
                kind = helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[each[0]]))
                extents = [int(e) if e.isdigit() else e for e in each[1:].split(",") if e]
                inputs.append(helper.make_tensor_value_info(names[-1], kind, extents))
        outs = [f"y{i}" for i in range(self.outputs)]  # whose types and shapes nobody says
        graph = helper.make_graph(
            [helper.make_node(self.operator, names, outs, **self.attributes)],
            "refusals",
            inputs,
            [helper.make_tensor_value_info(name, 0, []) for name in outs],
            constants,
        )
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def generate(self) -> Any:
        return generate(self.model(), "Model", maxima=MAXIMUM)


def numbers(*values: int) -> Any:
    return np.array(values, np.int64)


# 3 steps, a batch of 2, 5 inputs, 4 hidden.
STATE = "f1,2,4"
VALID = {
    "LSTM": Case(
        "LSTM",
        ["f3,2,5", "f1,16,5", "f1,16,4", "f1,32", "i2", STATE, STATE, "f1,12"],
        {"hidden_size": 4},
        3,
    ),
    "LSTM, batch first": Case(
        "LSTM",
        ["f2,3,5", "f1,16,5", "f1,16,4", "", "", "f2,1,4", "f2,1,4"],
        {"hidden_size": 4, "layout": 1},
    ),
    "GRU": Case("GRU", ["fN,2,5", "f2,12,5", "f2,12,4"], {"direction": "bidirectional"}),
    "RNN": Case("RNN", ["f3,2,5", "f1,4,5", "f1,4,4", "", np.array([3, 0], np.int32)]),
    "Conv": Case("Conv", ["f1,4,6,6", "f8,2,3,3", "f8"], {"group": 2}),
    "MaxPool": Case("MaxPool", ["f1,2,6,6"], {"kernel_shape": [2, 2]}),
    "AveragePool": Case("AveragePool", ["f1,2,6,6"], {"kernel_shape": [2, 2]}),
    "GlobalAveragePool": Case("GlobalAveragePool", ["f1,2,6,6"]),
    "LayerNormalization": Case("LayerNormalization", ["fN,3,4", "f4", "f3,1"], {"axis": 1}),
    "RMSNormalization": Case("RMSNormalization", ["f2,3,4", "f1,4"], opset=23),
    "InstanceNormalization": Case("InstanceNormalization", ["f2,3,4", "f3", "f3"]),
    "GroupNormalization": Case("GroupNormalization", ["f2,4,5", "f4", "f4"], {"num_groups": 2}),
    "BatchNormalization": Case("BatchNormalization", ["f2,3,4", "f3", "f3", "f3", "f3"]),
    "Gemm": Case("Gemm", ["fN,3", "f3,4", "f4"]),
    "Gemm, one row": Case("Gemm", ["f1,3", "f3,4", "f1,1"]),
    "MatMul": Case("MatMul", ["f2,3", "f3,4"]),
    "OneHot": Case("OneHot", ["l3", numbers(4), "f2"]),
    "Trilu": Case("Trilu", ["f3,3", "l1"]),
    "ConstantOfShape": Case("ConstantOfShape", [numbers(2, 0)]),
    "Split": Case("Split", ["f5,2", numbers(5, 0)], outputs=2),
    "Expand": Case("Expand", ["f3,1", numbers(3, 0)]),
    "Tile": Case("Tile", ["f3,1", numbers(1, 0)]),
    "Reshape": Case("Reshape", ["f3,4", numbers(0, -1)]),
    "Concat": Case("Concat", ["f2,3", "f2,1", np.zeros((2, 0), np.float32)], {"axis": 1}),
    "DepthToSpace": Case("DepthToSpace", ["f1,4,2,2"], {"blocksize": 2}),
    "SpaceToDepth": Case("SpaceToDepth", ["f1,1,4,4"], {"blocksize": 2}),
    "Pad": Case("Pad", ["f3", numbers(1, 1), "f"]),
    "TopK": Case("TopK", ["f2,5", numbers(0)], outputs=2),
    "CumSum": Case("CumSum", ["f2,5", np.array(1, np.int32)]),
    "Einsum": Case("Einsum", ["f2,3", "f3,4"], {"equation": "ij,jk->ki"}),
    "Gather": Case("Gather", ["f3,2", "i4"]),
    "GatherElements": Case("GatherElements", ["f3,2", "l3,2"]),
    "GatherND": Case("GatherND", ["f3,2", "l4,1"]),
    "ScatterElements": Case("ScatterElements", ["f3,2", "l3,2", "f3,2"]),
    "ScatterND": Case("ScatterND", ["f3,2", "l4,1", "f4,2"]),
    "Compress": Case("Compress", ["f3", np.array([True, False, True])], {"axis": 0}),
    "Where": Case("Where", ["b3", "f3", "f1"]),
    "Sum": Case("Sum", ["f3", "f1", "f3"]),
    "Max": Case("Max", ["i3", "i1"]),
    "Add": Case("Add", ["l3", "l3"]),
    "Less": Case("Less", ["d3", "d3"]),
    "Pow": Case("Pow", ["f3", "i3"]),
    "And": Case("And", ["b3", "b3"]),
    "Not": Case("Not", ["b3"]),
    "Exp": Case("Exp", ["d3"]),
    "Erf": Case("Erf", ["f3"]),
    "Abs": Case("Abs", ["i3"]),
    "BitwiseNot": Case("BitwiseNot", ["i3"]),
    "Elu": Case("Elu", ["f3"]),
    "Softmax": Case("Softmax", ["f3"]),
    "Clip": Case("Clip", ["i3", "i", "i"]),
    "Mod": Case("Mod", ["i3", "i3"]),
    "fmod": Case("Mod", ["f3", "f3"], {"fmod": 1}),
    "Dropout": Case("Dropout", ["fN,3", "", np.array(False)], outputs=2),
    "Dropout, opset 7": Case("Dropout", ["f3"], outputs=2, opset=7),
    "DequantizeLinear": Case("DequantizeLinear", [np.zeros((2, 6), np.int8), "f6"]),
    "blocks": Case("DequantizeLinear", ["i2,6", "f2,2"], {"block_size": 3}),
}

AXES = "needs {} axes"
SAME = "inputs of types {} and {}, which must be the same"
Refused = tuple[str, dict[int, Any], dict[str, Any], str]
# A valid model, what is changed of its inputs and attributes, and the reason.
REFUSED: list[Refused] = [
    ("LSTM", {0: "f3,10"}, {}, "input X: has shape [3,10], needs 3 axes"),
    ("LSTM", {1: "f1,16,6"}, {}, "input W: has shape [1,16,6], needs [1,16,5]"),
    ("LSTM", {2: "f16,4"}, {}, "input R: has shape [16,4], needs 3 axes"),
    ("LSTM", {2: "f1,12,4"}, {}, "input R: has shape [1,12,4], needs [1,16,4]"),
    ("LSTM", {3: "f1,16"}, {}, "input B: has shape [1,16], needs [1,32]"),
    ("LSTM", {4: "i1"}, {}, "input sequence_lens: has shape [1], needs [2]"),
    ("LSTM", {4: "l2"}, {}, "input sequence_lens: has type int64, needs int32"),
    ("LSTM", {5: "f2,1,4"}, {}, "input initial_h: has shape [2,1,4], needs [1,2,4]"),
    ("LSTM", {6: "f1,1,4"}, {}, "input initial_c: has shape [1,1,4], needs [1,2,4]"),
    ("LSTM", {7: "f1,4"}, {}, "input P: has shape [1,4], needs [1,12]"),
    ("LSTM", {3: "d1,32"}, {}, "input B: has type float64, needs float32"),
    ("LSTM, batch first", {5: STATE}, {}, "input initial_h: has shape [1,2,4], needs [2,1,4]"),
    ("GRU", {1: "f1,12,5"}, {}, "input W: has shape [1,12,5], needs [2,12,5]"),
    ("GRU", {2: np.zeros((1, 12, 4), np.float32)}, {}, "input R: has shape [1,12,4], needs [2,"),
    ("RNN", {4: np.array([4, 0], np.int32)}, {}, "a length is not from 0 to 3"),
    ("RNN", {4: np.array([3, -1], np.int32)}, {}, "a length is not from 0 to 3"),
    ("Conv", {0: "f4,6"}, {}, "input X: has shape [4,6], needs 3 axes or more"),
    ("Conv", {1: "f8,2,3"}, {}, "input W: has shape [8,2,3], needs 4 axes"),
    ("Conv", {1: "f8,4,3,3"}, {}, "4 channels and 8 results in 2 groups"),
    ("Conv", {1: "f7,2,3,3", 2: ""}, {}, "4 channels and 7 results in 2 groups"),
    ("Conv", {}, {"kernel_shape": [3, 2]}, "needs a kernel of [3, 2]"),
    ("Conv", {2: "f1"}, {}, "input B: has shape [1], needs [8]"),
    ("Conv", {1: "d8,2,3,3"}, {}, SAME.format("float32", "float64")),
    ("MaxPool", {0: "f6,6"}, {}, "input X: has shape [6,6], needs 3 axes or more"),
    ("MaxPool", {0: "b1,2,6,6"}, {}, "input X: has type bool"),
    ("AveragePool", {0: "i1,2,6,6"}, {}, "input X: has type int32"),
    ("GlobalAveragePool", {0: "f6"}, {}, "input X: has shape [6], needs 2 axes or more"),
    ("LayerNormalization", {1: "f3"}, {}, "input Scale: has shape [3], needs what can be"),
    ("LayerNormalization", {2: "f2,1,3,4"}, {}, "input B: has shape [2,1,3,4], needs what"),
    ("LayerNormalization", {1: "d4"}, {}, SAME.format("float32", "float64")),
    ("RMSNormalization", {1: "f5,1,1,4"}, {}, "input scale: has shape [5,1,1,4], needs what"),
    ("InstanceNormalization", {1: "f1"}, {}, "input scale: has shape [1], needs [3]"),
    ("InstanceNormalization", {2: "f4"}, {}, "input B: has shape [4], needs [3]"),
    ("GroupNormalization", {1: "f2"}, {}, "input scale: has shape [2], needs [4]"),
    ("GroupNormalization", {}, {"num_groups": -2}, "4 channels in -2 groups"),
    ("BatchNormalization", {3: "f1"}, {}, "input input_mean: has shape [1], needs [3]"),
    ("BatchNormalization", {0: "f"}, {}, "input X: has shape [], needs 1 axis or more"),
    ("Gemm", {0: "f3"}, {}, "input A: has shape [3], needs 2 axes"),
    ("Gemm", {1: "f1,3,4"}, {"transB": 1}, "input B: has shape [1,3,4], needs 2 axes"),
    ("Gemm", {2: "f3"}, {}, "input C: has shape [3], needs what can be broadcast to [N,4]"),
    ("Gemm, one row", {2: "f2,4"}, {}, "input C: has shape [2,4], needs what can be broadcast"),
    ("Gemm, one row", {2: "f1,1,4"}, {}, "input C: has shape [1,1,4], needs what can be"),
    ("Gemm", {2: "d4"}, {}, SAME.format("float32", "float64")),
    ("MatMul", {1: "d3,4"}, {}, SAME.format("float32", "float64")),
    ("OneHot", {2: "f3"}, {}, "input values: has shape [3], needs [2]"),
    ("OneHot", {1: numbers(-1)}, {}, "depth: -1 is negative"),
    ("OneHot", {1: numbers(2, 3)}, {}, "input depth: has shape [2], needs one element"),
    ("Trilu", {1: "l2"}, {}, "input k: has shape [2], needs one element"),
    ("ConstantOfShape", {0: numbers(2, -1)}, {}, "the shape: -1 is negative"),
    ("Split", {1: numbers(6, -1)}, {}, "the sizes: -1 is negative"),
    ("Split", {1: numbers(3, 1)}, {}, "5 places in 2 parts of [3,1]"),
    ("Split", {0: "f"}, {}, "input input: has shape [], needs 1 axis or more"),
    ("Expand", {1: numbers(3, -1)}, {}, "the shape: -1 is negative"),
    ("Tile", {1: numbers(1, -1)}, {}, "the repeats: -1 is negative"),
    ("Reshape", {1: numbers(-3, -4)}, {}, "the shape: -3 is negative"),
    ("Concat", {1: "d2,1"}, {}, SAME.format("float32", "float64")),
    ("Concat", {1: "f2"}, {}, "input 1: has shape [2], needs 2 axes"),
    ("Concat", {0: "f", 1: "f"}, {}, "input 0: has shape [], needs"),
    ("DepthToSpace", {0: "f4,2,2"}, {}, AXES.format(4)),
    ("DepthToSpace", {}, {"blocksize": -2}, "blocks of -2"),
    ("SpaceToDepth", {0: "f1,1,1,4,4"}, {}, AXES.format(4)),
    ("Pad", {2: "f3"}, {}, "input constant_value: has shape [3], needs one element"),
    ("Pad", {2: "d"}, {}, SAME.format("float32", "float64")),
    ("TopK", {1: numbers(1, 2)}, {}, "input K: has shape [2], needs one element"),
    ("TopK", {1: numbers(-1)}, {}, "k is -1"),
    ("CumSum", {1: numbers(0, 1)}, {}, "input axis: has shape [2], needs one element"),
    ("Einsum", {}, {"equation": "ij,jk->il"}, "no input has 'l' of the output"),
    ("Einsum", {}, {"equation": "ij,jk->ikk"}, "the output has 'k' twice"),
    ("Einsum", {1: "d3,4"}, {}, SAME.format("float32", "float64")),
    ("Gather", {0: "f"}, {}, "input data: has shape [], needs 1 axis or more"),
    ("Gather", {1: "f4"}, {}, "input indices: has type float32, needs int32 or int64"),
    ("GatherElements", {1: "f3,2"}, {}, "input indices: has type float32, needs int32"),
    ("GatherND", {1: "f4,1"}, {}, "input indices: has type float32, needs int32"),
    ("ScatterElements", {1: "b3,2"}, {}, "input indices: has type bool, needs int32"),
    ("ScatterElements", {2: "d3,2"}, {}, SAME.format("float32", "float64")),
    ("ScatterND", {1: "f4,1"}, {}, "input indices: has type float32, needs int32"),
    ("ScatterND", {2: "i4,2"}, {}, SAME.format("float32", "int32")),
    ("Compress", {1: numbers(1, 0, 1)}, {}, "input condition: has type int64, needs bool"),
    ("Where", {0: "i3"}, {}, "input condition: has type int32, needs bool"),
    ("Where", {2: "d1"}, {}, SAME.format("float32", "float64")),
    ("Sum", {2: "d3"}, {}, SAME.format("float32", "float64")),
    ("Max", {1: "l1"}, {}, SAME.format("int32", "int64")),
    ("Add", {1: "f3"}, {}, SAME.format("int64", "float32")),
    ("Less", {1: "f3"}, {}, SAME.format("float64", "float32")),
    ("And", {0: "i3", 1: "i3"}, {}, "input A: has type int32, needs bool"),
    ("Not", {0: "i3"}, {}, "input X: has type int32, needs bool"),
    ("Exp", {0: "l3"}, {}, "is not defined for elements of type int64"),
    ("Erf", {0: "i3"}, {}, "is not defined for elements of type int32"),
    ("BitwiseNot", {0: "f3"}, {}, "is not defined for elements of type float32"),
    ("Elu", {0: "i3"}, {}, "input X: has type int32, needs float32 or float64"),
    ("Softmax", {0: "i3"}, {}, "input input: has type int32, needs float32 or float64"),
    ("Clip", {1: "f"}, {}, SAME.format("int32", "float32")),
    ("Mod", {0: "f3", 1: "f3"}, {}, "type float32 are supported with fmod=1 only"),
    ("Dropout", {2: np.array(True)}, {}, "training_mode"),
    ("Dropout", {2: "b"}, {}, "training_mode"),
    ("DequantizeLinear", {1: "f3"}, {}, "input scale: has shape [3], needs [6]"),
    ("blocks", {1: "f2,1"}, {}, "input scale: has shape [2,1], needs blocks of 3 of [2,6]"),
]


@pytest.mark.parametrize("name", VALID)
def test_what_fits_is_taken(name: str) -> None:
    assert VALID[name].generate().source


@pytest.mark.parametrize(
    ("name", "inputs", "attributes", "reason"), REFUSED, ids=[f"{n}: {r}" for n, *_, r in REFUSED]
)
def test_what_does_not_fit_is_refused(
    name: str, inputs: dict[int, Any], attributes: dict[str, Any], reason: str
) -> None:
    case = VALID[name].changed(inputs, attributes)
    with pytest.raises(Unsupported, match=re.escape(reason)):
        case.generate()


def test_lengths_are_checked_when_the_model_runs() -> None:
    case = Case("RNN", ["fN,2,5", "f1,4,5", "f1,4,4", "", "i2"])
    program = build({0: case.generate()})
    shapes = {"x0": (3, 2, 5), "x1": (1, 4, 5), "x2": (1, 4, 4)}
    fixed = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    for lengths, fits in (([3, 0], True), ([4, 0], False), ([3, -1], False)):
        inputs = {**fixed, "x4": np.array(lengths, np.int32)}
        for answer in program.run([Call(0, inputs, level) for level in LEVELS]):
            assert ("a length is not from 0" in answer.error) is not fits
            assert bool(answer.error) is not fits
