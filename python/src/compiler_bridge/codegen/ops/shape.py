"""Operators about shapes, and tensors that are made of nothing but them."""

from __future__ import annotations

import math

import numpy as np

from .._builder import Builder
from .._extent import Extent
from .._fold import symbolic
from .._ir import Call, Expr, Index, Literal, Value
from .._registry import Node, operator
from .._types import BOOL, INT64, DType
from ._checks import need_extents, need_one, need_shape, need_type
from ._parts import count_of_steps


@operator("Constant")
def _constant(g: Builder, node: Node) -> Value:
    """Those of types that are supported have been folded."""
    g.fail("a constant of this type is not supported")


@operator("Shape")
def _shape(g: Builder, node: Node) -> Value:
    start, end = node.attribute("start", 0), node.attribute("end")
    return symbolic(g, list(node[0].shape[start:end]))


@operator("Size")
def _size(g: Builder, node: Node) -> Value:
    return symbolic(g, node[0].size)


def _index(axis: int, dtype: DType = INT64) -> Expr:
    return Index(axis, dtype)


def _number(value: int) -> Expr:
    return Literal(value, INT64)


def _call(function: str, *arguments: Expr, dtype: DType | None = None) -> Expr:
    return Call(function, arguments, dtype or arguments[0].dtype)


@operator("Range")
def _range(g: Builder, node: Node) -> Value:
    start, limit, delta = node[0], node[1], node[2]
    step = node.number(2, "the step")
    if not step:
        g.fail("the step is 0")
    if all(value.constant is not None for value in (start, limit)):
        first, last = node.number(0, ""), node.number(1, "")
        count = -((first - last) // step) if start.dtype.kind != "f" else (last - first) / step
        shape = (Extent.of(max(math.ceil(count), 0)),)
    else:
        length = node.extents(1, "the limit")[0] - node.extents(0, "the start")[0]
        shape = (count_of_steps(g, length if step > 0 else -length, abs(int(step))),)
    dtype = start.dtype
    place = _call("mul", _index(0, dtype), g.expr(delta, shape))
    return g.emit(shape, dtype, _call("add", place, g.expr(start, shape)))


@operator("ConstantOfShape")
def _constant_of_shape(g: Builder, node: Node) -> Value:
    value = node.attribute("value")
    if value is None:
        value = np.zeros(1, np.float32)
    elif value.size != 1:
        g.fail(f"value has {value.size} elements, not 1")
    shape = tuple(node.extents(0, "the shape"))
    need_extents(g, "the shape", shape)
    return g.emit(shape, value.dtype, Literal(value.reshape(-1)[0], value.dtype))


@operator("EyeLike")
def _eye_like(g: Builder, node: Node) -> Value:
    value, shift = node[0], node.attribute("k", 0)
    if value.rank != 2:
        g.fail(f"the input has {value.rank} axes, not 2")
    dtype = value.dtype if node.attribute("dtype") is None else node.element_type("dtype")
    on = _call("eq", _call("sub", _index(1), _index(0)), _number(shift), dtype=BOOL)
    return g.emit(value.shape, dtype, on if dtype == BOOL else _call("cast", on, dtype=dtype))


@operator("Trilu")
def _trilu(g: Builder, node: Node) -> Value:
    value, shift = node[0], node.given(1)
    if value.rank < 2:
        g.fail(f"the input has {value.rank} axes, not 2 or more")
    need_one(g, "k", shift)
    need_type(g, "k", shift, "int64")
    shape = value.shape
    limit = _number(0)
    if shift is not None:
        limit = g.expr(g.reshape(shift, ()), shape)
    diagonal = _call("sub", _index(value.rank - 1), _index(value.rank - 2))
    side = "ge" if node.attribute("upper", 1) else "le"
    keep = _call(side, diagonal, limit, dtype=BOOL)
    zero = Literal(0, value.dtype)
    return g.emit(
        shape, value.dtype, _call("where", keep, g.expr(value, shape), zero, dtype=value.dtype)
    )


@operator("OneHot")
def _one_hot(g: Builder, node: Node) -> Value:
    indices, values = node[0], node[2]
    need_shape(g, "values", values, 2)
    need_one(g, "depth", node[1])
    depth = node.extents(1, "the depth")[0]
    need_extents(g, "depth", [depth])
    axis = node.checked_axis(node.attribute("axis", -1), indices.rank + 1)
    shape = (*indices.shape[:axis], depth, *indices.shape[axis:])
    wide = g.reshape(indices, (*indices.shape[:axis], Extent.of(1), *indices.shape[axis:]))
    index = g.expr(wide, shape)
    if index.dtype.name == "uint64":
        # What does not fit int64 is out of range, not negative.
        index = _call("min", index, Literal(2**63 - 1, index.dtype))
    if index.dtype != INT64:
        index = _call("cast", index, dtype=INT64)
    # Negative ones count from the end.
    size = g.expr(symbolic(g, depth), shape)
    here = _call("eq", index, _index(axis), dtype=BOOL)
    there = _call("eq", index, _call("sub", _index(axis), size), dtype=BOOL)
    on = _call("or", here, there, dtype=BOOL)
    off_value, on_value = (g.expr(_element(g, values, i), shape) for i in range(2))
    return g.emit(shape, values.dtype, _call("where", on, on_value, off_value, dtype=values.dtype))


def _element(g: Builder, value: Value, i: int) -> Value:
    """A single one of a tensor with one axis."""
    if value.constant is not None:
        return g.constant(np.asarray(value.constant[i]), weight=value.weight)
    value = g.stored(value)
    return g.view(value, (), (), value.strides[0] * i)
