"""Pooling: reductions of windows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from .._builder import Builder, loops
from .._extent import Extent
from .._ir import Array, Value
from .._registry import Node, operator
from .._types import BOOL, INT64, ctype
from ._checks import need_rank, need_real
from ._windows import Slide, slides, windows
from .reduction import LARGEST, SIZES, SQUARES, SUM, Fold, fold, mean


def _slides(g: Builder, node: Node) -> list[Slide]:
    value = node[0]
    need_rank(g, "X", value, 3, more=True)
    if node.operator != "MaxPool":
        need_real(g, "X", value)
    elif value.dtype == BOOL:
        g.fail("input X: has type bool, needs numbers")
    return slides(g, node, value.shape[2:], node.attribute("kernel_shape"))


def _pooled(g: Builder, value: Value, along: Sequence[Slide], how: Fold, fill: float) -> Value:
    seen = windows(g, value, along, fill)
    made = fold(g, how, seen, range(2 + len(along), seen.rank))
    return g.reshape(made, seen.shape[: 2 + len(along)])


@operator("MaxPool")
def _max_pool(g: Builder, node: Node) -> Value | list[Value]:
    value, along = node[0], _slides(g, node)
    if node.wants(1):
        return _with_places(g, value, along, bool(node.attribute("storage_order", 0)))
    lowest = -np.inf if value.dtype.kind == "f" else np.iinfo(value.dtype).min
    return _pooled(g, value, along, LARGEST, lowest)


def _with_places(g: Builder, value: Value, along: Sequence[Slide], columns: bool) -> list[Value]:
    """The largest elements, and where they are in the input."""
    value = g.stored(value)
    spatial = value.shape[2:]
    outer = ["I0", "I1", *(f"I{i + 2}" for i in range(len(along)))]
    inner = [f"K{i}" for i in range(len(along))]
    at = [f"P{i}" for i in range(len(along))]
    places, inside = [], []
    for i, slide in enumerate(along):
        places.append(
            f"const int64_t P{i} = I{i + 2} * {slide.stride} + K{i} * {slide.dilation} - "
            f"{slide.before};"
        )
        inside.append(f"P{i} >= 0 && P{i} < {spatial[i]}")
    number = f"(I0 * {value.shape[1].factor()} + I1)"
    order = range(len(along))
    for i in order:
        number = f"({number} * {spatial[i].factor()})"
    steps = list(order)[::-1] if not columns else list(order)
    factor = Extent.of(1)
    for i in steps:
        number += f" + P{i} * {factor.factor()}"
        factor = factor * spatial[i]
    here = value.at(["I0", "I1", *at])
    body = (
        "\n".join(places)
        + f"\nif ({' && '.join(inside)}) {{\nconst {ctype(value.dtype)} X = A0[{here}];\n"
        + "if (At < 0 || X > Best || (X != X && Best == Best)) {\n"
        + f"Best = X;\nAt = {number};\n}}\n}}"
    )
    body = loops(inner, [Extent.of(slide.kernel) for slide in along], body)
    shape = (*value.shape[:2], *(slide.count for slide in along))
    code = loops(
        outer,
        shape,
        f"{ctype(value.dtype)} Best = 0;\nint64_t At = -1;\n{body}\n*Y0++ = Best;\n*Y1++ = At;",
    )
    return g.kernel("MaxPool", [(value.dtype, shape), (INT64, shape)], [value], code)


@operator("AveragePool")
def _average_pool(g: Builder, node: Node) -> Value:
    value, along = node[0], _slides(g, node)
    total = _pooled(g, value, along, SUM, 0)
    padding = bool(node.attribute("count_include_pad", 0))
    counts = [
        _taken(g, extent, slide, padding)
        for extent, slide in zip(value.shape[2:], along, strict=True)
    ]
    table = reduce(np.multiply.outer, counts).astype(value.dtype)
    return g.map("div", total, g.constant(table))


def _taken(g: Builder, extent: Extent, slide: Slide, padding: bool) -> Array:
    """Of how many places each window along an axis is; of one if all are."""
    before, after = (slide.before, slide.after) if not padding else (0, 0)
    if not before and not after and not slide.beyond:
        return np.full(1, slide.kernel)
    if extent.constant is None or slide.count.constant is None:
        g.fail("how many places the outer windows have is not known before the model runs")
    until = extent.constant + (slide.before + slide.after if padding else 0)
    starts = np.arange(slide.count.constant)[:, None] * slide.stride - before
    places = starts + np.arange(slide.kernel) * slide.dilation
    return np.asarray(((places >= 0) & (places < until)).sum(1))


@operator("LpPool")
def _lp_pool(g: Builder, node: Node) -> Value:
    value, along = node[0], _slides(g, node)
    if node.attribute("p", 2) == 1:
        return _pooled(g, value, along, SIZES, 0)
    if node.attribute("p", 2) == 2:
        return g.map("sqrt", _pooled(g, value, along, SQUARES, 0))
    order = g.scalar(node.attribute("p"), value)
    powers = g.map("pow", g.map("abs", value), order)
    return g.map("pow", _pooled(g, powers, along, SUM, 0), g.map("reciprocal", order))


@operator("GlobalAveragePool", "GlobalMaxPool")
def _global_pool(g: Builder, node: Node) -> Value:
    need_rank(g, "X", node[0], 2, more=True)
    need_real(g, "X", node[0])
    axes = range(2, node[0].rank)
    if node.operator == "GlobalMaxPool":
        return fold(g, LARGEST, node[0], axes)
    return mean(g, node[0], axes)
