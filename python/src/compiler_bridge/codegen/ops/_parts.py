"""Parts of tensors, for operators of all kinds."""

from __future__ import annotations

from collections.abc import Sequence

from .._builder import ONE, Builder
from .._extent import Extent, Shape, dense_strides, shape_text
from .._ir import Map, Value
from .._types import DType


def section(
    g: Builder, value: Value, axis: int, start: Extent | int, count: Extent | int, step: int = 1
) -> Value:
    """A view of `count` places along an axis."""
    value = g.stored(value)
    stride = value.strides[axis]
    shape, strides = list(value.shape), list(value.strides)
    shape[axis], strides[axis] = Extent.of(count), stride * step
    return g.view(value, tuple(shape), tuple(strides), stride * start)


def concat(g: Builder, values: Sequence[Value], axis: int) -> Value:
    """One after the other along an axis: computed where they go, if nothing else needs them."""
    parts = [value for value in values if value.shape[axis].constant != 0] or [values[0]]
    if len(parts) == 1:
        return parts[0]
    shape = list(parts[0].shape)
    for part in parts[1:]:
        rest = [*part.shape]
        rest[axis] = shape[axis]
        if rest != shape:
            g.fail(f"{shape_text(parts[0].shape)} and {shape_text(part.shape)} do not fit")
    shape[axis] = sum((part.shape[axis] for part in parts), Extent.of(0))
    out = g.temp(parts[0].dtype, tuple(shape))
    start = Extent.of(0)
    for part in parts:
        place = section(g, out, axis, start, part.shape[axis])
        g.add(Map(g.node, place, g.expr(part, part.shape)))
        start = start + part.shape[axis]
    return out


def dense_at(dtype: DType, shape: Shape, indices: Sequence[str]) -> str:
    """The place of an element in a new tensor, in C++."""
    return Value(dtype, shape, strides=dense_strides(shape)).at(indices)


def rows_are_dense(value: Value, axis: int) -> bool:
    """Whether the axes from this one on are without gaps."""
    return Value(value.dtype, value.shape[axis:], strides=value.strides[axis:]).dense


def without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])


def count_of_steps(g: Builder, length: Extent, step: int) -> Extent:
    """How many places there are in a length, rounded up; 0 if it is negative."""
    if length.constant is not None:
        return Extent.of(max(-(-length.constant // step), 0))
    if (-length).minimum(g.program.maxima) >= 0:
        return Extent.of(0)
    g.require(length)
    exact = ((length + rest).divided_by(Extent.of(step)) for rest in range(step))
    count = next((each for each in exact if each is not None), None)
    if count is None:
        g.fail(f"steps of {step} through {length} places: how many fit is not known")
    return count


def squeezed(g: Builder, value: Value, axes: Sequence[int]) -> Value:
    """Without axes of extent 1."""
    keep = [axis for axis in range(value.rank) if axis not in axes]
    for axis in axes:
        if value.shape[axis] != ONE:
            g.fail(f"axis {axis} has extent {value.shape[axis]}, not 1")
    value = g.stored(value)
    return g.view(value, tuple(value.shape[i] for i in keep), tuple(value.strides[i] for i in keep))
