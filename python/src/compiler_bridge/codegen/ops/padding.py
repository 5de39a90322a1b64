"""Pad."""

from __future__ import annotations

import numpy as np

from .._builder import ONE, Builder
from .._extent import Extent
from .._ir import Map, Value
from .._registry import Node, operator
from ._checks import need_one, need_one_type
from ._parts import concat, section
from .indexing import take

_ZERO = Extent.of(0)
Pads = list[tuple[Extent, Extent]]


@operator("Pad")
def _pad(g: Builder, node: Node) -> Value:
    value, mode = node[0], node.attribute("mode", "constant")
    if node.opset < 11:
        given = [Extent.of(each) for each in node.attribute("pads", node.attribute("paddings"))]
        fill: Value | None = g.scalar(node.attribute("value", 0.0), value)
    else:
        given, fill = node.extents(1, "the pads"), node.given(2)
    need_one(g, "constant_value", fill)
    need_one_type(g, value, fill)
    axes = node.numbers(3, "the axes")
    chosen = range(value.rank) if axes is None else [node.checked_axis(a, value.rank) for a in axes]
    if len(given) != 2 * len(chosen):
        g.fail(f"{len(given)} pads for {len(chosen)} axes")
    pads: Pads = [(_ZERO, _ZERO)] * value.rank
    for i, axis in enumerate(chosen):
        pads[axis] = given[i], given[i + len(chosen)]
    value, pads = _cropped(g, value, pads)
    if mode == "constant":
        return padded(g, value, pads, g.scalar(0, value) if fill is None else fill)
    if mode not in ("edge", "reflect", "wrap"):
        g.fail(f"mode {mode!r} is not supported")
    for axis, (low, high) in enumerate(pads):
        if (low, high) != (_ZERO, _ZERO):
            value = _repeated(g, value, axis, low, high, mode)
    return value


def _cropped(g: Builder, value: Value, pads: Pads) -> tuple[Value, Pads]:
    """Negative pads take away."""
    rest: Pads = []
    for axis, (low, high) in enumerate(pads):
        for each in (low, high):
            if each.constant is None and each.minimum(g.program.maxima) < 0:
                g.fail(f"whether {each} is negative is not known before the model runs")
        start, end = (
            Extent.of(-min(each.constant or 0, 0)) if each.constant is not None else _ZERO
            for each in (low, high)
        )
        if start != _ZERO or end != _ZERO:
            count = value.shape[axis] - start - end
            g.require(count)
            value = section(g, value, axis, start, count)
        rest.append((low + start, high + end))
    return value, rest


def padded(g: Builder, value: Value, pads: Pads, fill: Value) -> Value:
    """With one number all around."""
    shape = tuple(
        low + extent + high for extent, (low, high) in zip(value.shape, pads, strict=True)
    )
    out = g.temp(value.dtype, shape)
    inside = out
    for axis, (low, high) in enumerate(pads):
        extent = value.shape[axis]
        for start, count in ((_ZERO, low), (low + extent, high)):
            if count != _ZERO:
                edge = section(g, inside, axis, start, count)
                g.add(Map(g.node, edge, g.expr(fill, edge.shape)))
        inside = section(g, inside, axis, low, extent)
    g.add(Map(g.node, inside, g.expr(value, value.shape)))
    return out


def _repeated(g: Builder, value: Value, axis: int, low: Extent, high: Extent, mode: str) -> Value:
    """With copies of what lies inside."""
    extent = value.shape[axis]
    if mode == "edge":
        g.require(extent - 1)
        before = _same(g, value, axis, _ZERO, low)
        return concat(g, [before, value, _same(g, value, axis, extent - 1, high)], axis)
    if low.constant is None or high.constant is None:
        g.fail(f"pads of mode {mode!r} must be known when compiled")
    if extent.constant is not None:
        if not extent.constant:
            g.fail("nothing to repeat: an extent is 0")
        places = np.arange(extent.constant)
        indices = np.pad(places, (low.constant, high.constant), mode)  # type: ignore[call-overload]
        return take(g, value, axis, indices)
    largest = max(low.constant, high.constant)
    if mode == "reflect":
        g.require(extent - 1 - largest)
        parts = [(low, low, -1), (extent - 2, high, -1)]
    else:
        g.require(extent - largest)
        parts = [(extent - low, low, 1), (_ZERO, high, 1)]
    first, last = (section(g, value, axis, *part) for part in parts)
    return concat(g, [first, value, last], axis)


def _same(g: Builder, value: Value, axis: int, place: Extent, count: Extent) -> Value:
    one = section(g, value, axis, place, ONE)
    return g.broadcast(one, (*one.shape[:axis], count, *one.shape[axis + 1 :]))
