"""Between floats and small integers."""

from __future__ import annotations

import numpy as np

from .._builder import ONE, Builder
from .._extent import Extent, shape_text
from .._ir import Value
from .._registry import Node, operator
from .._types import FLOAT, INT32, DType
from ._checks import need_shape, refuse_shape
from ._parts import section, without


def _fitted(g: Builder, node: Node, given: Value, value: Value, name: str) -> Value:
    """Scales or zero points: one, or one for each place along an axis, or for blocks of them."""
    block = node.attribute("block_size", 0)
    if not block and given.size == ONE:
        return g.reshape(given, ())
    axis = node.axis(value.rank, 1)
    if not block:
        need_shape(g, name, given, value.shape[axis])
        return g.reshape(given, (*given.shape, *[ONE] * (value.rank - axis - 1)))
    front, count, back = given.shape[:axis], given.shape[axis : axis + 1], given.shape[axis + 1 :]
    fits = given.rank == value.rank and without(given.shape, axis) == without(value.shape, axis)
    if not fits or (count[0] * block - value.shape[axis]).minimum(g.program.maxima) < 0:
        refuse_shape(g, name, given, f"blocks of {block} of {shape_text(value.shape)}")
    repeated = g.broadcast(
        g.reshape(given, (*front, *count, ONE, *back)), (*front, *count, Extent.of(block), *back)
    )
    whole = g.reshape(repeated, (*front, count[0] * block, *back))
    return section(g, whole, axis, 0, value.shape[axis])


def _wanted(g: Builder, node: Node) -> DType:
    zero = node.given(2)
    if zero is not None:
        return zero.dtype
    if node.attribute("output_dtype", 0):
        from ...export._model import ELEMENT_TYPES

        for name, number in ELEMENT_TYPES.items():
            if number == node.attribute("output_dtype"):
                return np.dtype(name)
        g.fail("to an element type that is not supported")
    return np.dtype(np.uint8)


@operator("QuantizeLinear")
def _quantize(g: Builder, node: Node) -> Value:
    value, dtype = node[0], _wanted(g, node)
    if dtype.kind not in "iu":
        g.fail(f"to elements of type {dtype} is not supported")
    scale = _fitted(g, node, node[1], value, "scale")
    real = scale.dtype if scale.dtype.kind == "f" else FLOAT
    rounded = g.map("round", g.map("div", g.cast(value, real), g.cast(scale, real)))
    zero = node.given(2)
    if zero is not None:
        rounded = g.map("add", rounded, g.cast(_fitted(g, node, zero, value, "zero_point"), real))
    limits = np.iinfo(dtype)
    rounded = g.map("max", rounded, g.scalar(limits.min, rounded))
    return g.cast(g.map("min", rounded, g.scalar(limits.max, rounded)), dtype)


@operator("DequantizeLinear")
def _dequantize(g: Builder, node: Node) -> Value:
    value, scale, zero = node[0], _fitted(g, node, node[1], node[0], "scale"), node.given(2)
    wide = g.cast(value, INT32)
    if zero is not None:
        wide = g.map("sub", wide, g.cast(_fitted(g, node, zero, value, "zero_point"), INT32))
    return g.map("mul", g.cast(wide, scale.dtype), scale)
