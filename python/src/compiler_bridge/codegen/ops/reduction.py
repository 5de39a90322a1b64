"""Operators that make many elements into one, and what is built on them: softmax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._builder import ONE, Builder, loops
from .._extent import Extent, Shape, product
from .._fold import symbolic
from .._ir import Value
from .._registry import Node, operator
from .._types import DOUBLE, FLOAT, DType, ctype, literal
from ._checks import need_real


@dataclass(frozen=True)
class Fold:
    """A struct of kernels/fold.inc; `each`: what it makes of one element, if it is not itself."""

    struct: str
    each: str | None = None


SUM = Fold("SumOf")
SIZES = Fold("SumOfSizes", "abs")
SQUARES = Fold("SumOfSquares", "mul")
PRODUCT = Fold("ProductOf")
LARGEST = Fold("LargestOf")
SMALLEST = Fold("SmallestOf")


# Rows of fewer elements are no faster than columns.
_FEW = 16


def start_of(how: Fold, dtype: DType) -> str:
    """What an empty set gives, in C++."""
    if how not in (LARGEST, SMALLEST):
        return literal(1 if how is PRODUCT else 0, dtype)
    largest = how is LARGEST
    if dtype.kind == "f":
        return literal(-np.inf if largest else np.inf, dtype)
    if dtype.kind == "b":
        return literal(not largest, dtype)
    limits = np.iinfo(dtype)
    return literal(limits.min if largest else limits.max, dtype)


def fold(g: Builder, how: Fold, value: Value, axes: Sequence[int]) -> Value:
    """Over these axes, which stay with an extent of 1."""
    kept = tuple(ONE if i in axes else extent for i, extent in enumerate(value.shape))
    value = g.stored(value)
    inner = _merged(value, axes)
    if not inner:
        return g.reshape(_each(g, how, value), kept)
    outer = _merged(value, [i for i in range(value.rank) if i not in axes])
    # Neighbours innermost.
    inner.sort(key=lambda axis: axis[1] == ONE)
    code = _fold_code(how, value, outer, inner)
    shape = tuple(extent for extent, _ in outer)
    made = g.kernel(how.struct, [(value.dtype, shape)], [value], code, needs=["fold"])[0]
    return g.reshape(made, kept)


def _each(g: Builder, how: Fold, value: Value) -> Value:
    if how.each is None:
        return value
    return g.map(how.each, *([value, value] if how is SQUARES else [value]))


Axis = tuple[Extent, Extent]  # extent and stride


def _merged(value: Value, axes: Sequence[int]) -> list[Axis]:
    """Of these axes, as few as possible."""
    result: list[Axis] = []
    for axis in sorted(axes):
        extent, stride = value.shape[axis], value.strides[axis]
        if extent == ONE:
            continue
        if result and result[-1][1] == stride * extent:
            result[-1] = (result[-1][0] * extent, stride)
        else:
            result.append((extent, stride))
    return result


def _fold_code(how: Fold, value: Value, outer: list[Axis], inner: list[Axis]) -> str:
    start = start_of(how, value.dtype)
    count, stride = inner[-1]
    around = inner[:-1]
    columns = outer[-1] if outer and outer[-1][1] == ONE else None
    # Windows have both: neighbours in a window, and windows that are neighbours.
    if stride == ONE and not (columns and (count.constant or _FEW) < _FEW):
        return _rows_code(how.struct, value, outer, around, count, start)
    loops_over = outer[:-1] if columns else outer
    width = columns[0] if columns else ONE
    place, indices, inside = _place(value, loops_over, around)
    more = "true" if around else "false"
    body = (
        f"foldColumns<{more}>({how.struct}(), A0 + ({place}), {count}, {stride}, {start}, Y0, "
        f"{width});"
    )
    if around:
        body = loops(inside, [extent for extent, _ in around], body)
        fill = f"for (int64_t C = 0; C < {width}; ++C)\nY0[C] = {start};\n"
        body = fill + body
    return loops(indices, [extent for extent, _ in loops_over], f"{body}\nY0 += {width};")


def _rows_code(
    struct: str, value: Value, outer: list[Axis], around: list[Axis], count: Extent, start: str
) -> str:
    place, indices, inside = _place(value, outer, around)
    row = f"foldRow({struct}(), A0 + ({place}), {count}, {start})"
    if not around:
        body = f"*Y0++ = {row};"
    else:
        step = loops(inside, [extent for extent, _ in around], f"T = {struct}().both(T, {row});")
        body = f"{ctype(value.dtype)} T = {start};\n{step}\n*Y0++ = T;"
    return loops(indices, [extent for extent, _ in outer], body)


def _place(value: Value, outer: list[Axis], around: list[Axis]) -> tuple[str, list[str], list[str]]:
    """Where rows or columns begin, and the indices of the loops around them."""
    indices = [f"I{i}" for i in range(len(outer))]
    inside = [f"J{i}" for i in range(len(around))]
    axes = [*outer, *around]
    view = Value(
        value.dtype,
        tuple(extent for extent, _ in axes),
        value.buffer,
        tuple(stride for _, stride in axes),
        value.offset,
    )
    return view.at([*indices, *inside]), indices, inside


def mean(g: Builder, value: Value, axes: Sequence[int], how: Fold = SUM) -> Value:
    """The sum over how many there are, of integers towards 0."""
    return _over(g, fold(g, how, value, axes), product(value.shape[i] for i in axes))


def _over(g: Builder, total: Value, count: Extent) -> Value:
    if count == ONE:
        return total
    if count.constant is not None and total.dtype.kind == "f":
        return g.map("div", total, g.scalar(count.constant, total))
    return g.map("div", total, g.cast(symbolic(g, count), total.dtype))


# Operators.


def _reduced_axes(g: Builder, node: Node, rank: int) -> list[int]:
    given = node.attribute("axes")
    if given is None and (value := node.given(1)) is not None:
        given = [] if value.size == Extent.of(0) else node.numbers(1, "axes")
    if not given:
        return [] if node.attribute("noop_with_empty_axes", 0) else list(range(rank))
    axes = [node.checked_axis(axis, rank) for axis in given] if rank else []
    if len(set(axes)) != len(axes):
        g.fail("an axis is given twice")
    return sorted(axes)


def _without(g: Builder, node: Node, value: Value, axes: Sequence[int]) -> Value:
    """Without the axes that were reduced, unless they are to stay."""
    if node.attribute("keepdims", 1):
        return value
    return g.reshape(value, tuple(e for i, e in enumerate(value.shape) if i not in axes))


_FOLDS = {
    "ReduceSum": SUM,
    "ReduceL1": SIZES,
    "ReduceSumSquare": SQUARES,
    "ReduceProd": PRODUCT,
    "ReduceMax": LARGEST,
    "ReduceMin": SMALLEST,
}


@operator(*_FOLDS)
def _reduce(g: Builder, node: Node) -> Value:
    axes = _reduced_axes(g, node, node[0].rank)
    return _without(g, node, fold(g, _FOLDS[node.operator], node[0], axes), axes)


@operator("ReduceMean")
def _reduce_mean(g: Builder, node: Node) -> Value:
    axes = _reduced_axes(g, node, node[0].rank)
    return _without(g, node, mean(g, node[0], axes), axes)


@operator("ReduceL2", "ReduceLogSum", "ReduceLogSumExp")
def _reduce_real(g: Builder, node: Node) -> Value:
    given = node[0]
    axes = _reduced_axes(g, node, given.rank)
    value = given if given.dtype.kind == "f" else g.cast(given, DOUBLE)
    if node.operator == "ReduceL2":
        result = g.map("sqrt", fold(g, SQUARES, value, axes))
    elif node.operator == "ReduceLogSum":
        result = g.map("log", fold(g, SUM, value, axes))
    else:
        result = _log_sum_exp(g, value, axes)
    return g.cast(_without(g, node, result, axes), given.dtype)


def _log_sum_exp(g: Builder, value: Value, axes: Sequence[int]) -> Value:
    peak = fold(g, LARGEST, value, axes)
    # Infinity less infinity would not be a number.
    finite = g.compare("lt", g.map("abs", peak), g.scalar(np.inf, peak))
    peak = g.map("where", finite, peak, g.scalar(0, peak), dtype=peak.dtype)
    total = fold(g, SUM, g.map("exp", g.map("sub", value, peak)), axes)
    return g.map("add", g.map("log", total), peak)


@operator("Softmax", "LogSoftmax")
def _softmax(g: Builder, node: Node) -> Value:
    need_real(g, "input", node[0])
    value, shape = node[0], node[0].shape
    log = node.operator == "LogSoftmax"
    if node.opset >= 13:
        axis = node.axis(value.rank, -1)
        return softmax(g, value, axis, log) if value.rank else _softmax_of_one(g, value, log)
    value = g.reshape(value, flattened(node, value))
    return g.reshape(softmax(g, value, 1, log), shape)


def flattened(node: Node, value: Value) -> Shape:
    """Before opset 13, as rows of what is from the axis on."""
    axis = node.attribute("axis", 1)
    axis = value.rank if axis == value.rank else node.checked_axis(axis, value.rank)
    return (product(value.shape[:axis]), product(value.shape[axis:]))


def _softmax_of_one(g: Builder, value: Value, log: bool) -> Value:
    return g.reshape(softmax(g, g.reshape(value, (ONE,)), 0, log), ())


def softmax(g: Builder, value: Value, axis: int, log: bool) -> Value:
    if value.dtype == FLOAT and product(value.shape[axis + 1 :]) == ONE:
        return _softmax_rows(g, value, axis, log)
    peak = fold(g, LARGEST, value, [axis])
    distance = g.map("sub", value, peak)
    if log:
        total = fold(g, SUM, g.map("exp", distance), [axis])
        return g.map("sub", g.map("sub", value, peak), g.map("log", total))
    powers = g.map("exp", distance)
    return g.map("div", powers, fold(g, SUM, powers, [axis]))


def _softmax_rows(g: Builder, value: Value, axis: int, log: bool) -> Value:
    value = g.contiguous(value)
    count = value.shape[axis]
    rows = product(value.shape[:axis])
    place = f"I * {count.factor()}"
    code = loops(
        ["I"],
        [rows],
        f"{'logSoftmaxRow' if log else 'softmaxRow'}"
        f"(A0 + ({value.offset} + {place}), Y0 + {place}, {count});",
    )
    operator_name = "LogSoftmax" if log else "Softmax"
    outs = [(value.dtype, value.shape)]
    return g.kernel(operator_name, outs, [value], code, needs=["softmax"])[0]
