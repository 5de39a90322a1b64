"""ONNX's own tests of operators, as models with inputs and the outputs that are wanted."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from ._operators import GROUP, SHAPE_INPUTS

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class NodeTest:
    """One data set of one of ONNX's tests. Inputs that decide shapes are part of the model."""

    name: str
    operator: str  # that it is about; the nodes of one that is expanded are others
    model: onnx.ModelProto
    inputs: dict[str, Array]
    outputs: dict[str, Array]
    rtol: float
    atol: float

    @property
    def group(self) -> int | None:
        """That the operator itself is of; None, if it only consists of those of the first."""
        return GROUP.get(self.operator)


def node_tests(*, every: bool = False) -> list[NodeTest]:
    """Those of operators of a group, and of what ONNX defines by operators of the first one."""
    cases = {case.name: case for case in _collected()}
    found = []
    for name, case in cases.items():
        # One of an expanded function has a sibling with the function itself.
        sibling = cases.get(re.sub(r"_expanded(_ver\d+)?$", "", name), case)
        operator = sibling.model.graph.node[0].op_type
        defined = all(GROUP.get(op) == 1 for op in operators_of(case.model))
        if every or defined or operator in GROUP:
            found += list(_data_sets(case, operator))
    return found


def _collected() -> Iterable[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of values that overflow on purpose
        from onnx.backend.test.case.node import collect_testcases

        return collect_testcases(None)


def operators_of(model: onnx.ModelProto) -> set[str]:
    """Names of operators; those of other domains than ONNX's own with it."""
    return {
        node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
        for node in model.graph.node
    }


def _data_sets(case: Any, operator: str) -> Iterable[NodeTest]:
    for number, (inputs, outputs) in enumerate(case.data_sets):
        name = case.name if len(case.data_sets) == 1 else f"{case.name}_{number}"
        graph = case.model.graph
        given = dict(zip((i.name for i in graph.input), map(_array, inputs), strict=False))
        deciding = _deciding(graph)
        fixed = {n: v for n, v in given.items() if n in deciding and not isinstance(v, list)}
        yield NodeTest(
            name,
            operator,
            _with_constants(case.model, fixed),
            {n: v for n, v in given.items() if n not in fixed},
            dict(zip((o.name for o in graph.output), map(_array, outputs), strict=True)),
            case.rtol,
            case.atol,
        )


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _deciding(graph: onnx.GraphProto) -> set[str]:
    """Values on whose contents a shape depends, also by way of other nodes."""
    names: set[str] = set()
    for node in graph.node:
        for position in SHAPE_INPUTS.get(node.op_type, ()):
            names.update(node.input[position : position + 1])
    for node in reversed(graph.node):
        if names & set(node.output) and node.op_type not in ("Shape", "Size"):
            names.update(node.input)
    return names - {""}


def _with_constants(model: onnx.ModelProto, values: dict[str, Array]) -> onnx.ModelProto:
    result = onnx.ModelProto()
    result.CopyFrom(model)
    kept = [i for i in result.graph.input if i.name not in values]
    del result.graph.input[:]
    result.graph.input.extend(kept)
    for name, value in values.items():
        result.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return result


_TYPES = {"FLOAT", "DOUBLE", "BOOL"} | {
    f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)
}


def foreign_types(model: onnx.ModelProto) -> list[str]:
    """The element types, or kinds of values, in a model for which generated code has none."""
    found = set()
    name = onnx.TensorProto.DataType.Name
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        kind = value.type.WhichOneof("value")
        found.add(name(value.type.tensor_type.elem_type) if kind == "tensor_type" else kind)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype"):
                found.add(name(attribute.i))
            elif attribute.type == onnx.AttributeProto.TENSOR:
                found.add(name(attribute.t.data_type))
    return sorted(each.lower().removesuffix("_type") for each in found - _TYPES)
