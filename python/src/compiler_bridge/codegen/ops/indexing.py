"""Operators with indices: from data, they are checked before use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._builder import Builder, loop, loops
from .._extent import Extent, Shape, product, shape_text
from .._ir import Kernel, Map, Value
from .._registry import Node, operator
from .._scalars import SCALARS
from .._types import FLOAT, INT64, ctype
from ._checks import need_indices, need_one, need_one_type, need_rank, need_type
from ._parts import dense_at, rows_are_dense, section, without


def _names(letter: str, shape: Sequence[Any]) -> list[str]:
    return [f"{letter}{axis}" for axis in range(len(shape))]


def _index(g: Builder, name: str, text: str, extent: Extent) -> str:
    """Statements that declare an index, counted from the front."""
    return (
        f"int64_t {name} = static_cast<int64_t>({text});\n"
        f"if ({name} < 0)\n{name} += {extent};\n"
        f"if ({name} < 0 || {name} >= {extent})\n"
        f"return {g.message('an index is out of range')};\n"
    )


# Reading.


@operator("Gather")
def _gather(g: Builder, node: Node) -> Value:
    data, indices = node[0], node[1]
    need_rank(g, "data", data, 1, more=True)
    need_indices(g, "indices", indices)
    axis = node.axis(data.rank, 0)
    if indices.constant is not None:
        return take(g, data, axis, indices.constant)
    return _gather_rows(g, data, axis, indices, checked=True)


def take(g: Builder, data: Value, axis: int, indices: Any) -> Value:
    """At indices that are known."""
    extent, places = data.shape[axis], indices.astype(np.int64)
    if extent.constant is None:
        if not places.size or (places.min() < 0 <= places.max()):
            return _gather_rows(g, data, axis, g.constant(places), checked=True)
        if places.max() < 0:
            g.require(extent + int(places.min()), None)
        else:
            g.require(extent - int(places.max()) - 1, None)
    else:
        if places.size and not -extent.constant <= places.min() <= places.max() < extent.constant:
            g.fail("an index is out of range")
        places = np.where(places < 0, places + extent.constant, places)
    steps = np.unique(np.diff(places.reshape(-1)))
    if places.size and steps.size <= 1:
        first, step = int(places.flat[0]), int(steps[0]) if steps.size else 1
        start = Extent.of(first) if first >= 0 else extent + first
        part = section(g, data, axis, start, places.size, step)
        shape = tuple(map(Extent.of, places.shape))
        return g.reshape(part, (*data.shape[:axis], *shape, *data.shape[axis + 1 :]))
    return _gather_rows(g, data, axis, g.constant(places), checked=extent.constant is None)


def _gather_rows(g: Builder, data: Value, axis: int, indices: Value, checked: bool) -> Value:
    data, indices = g.stored(data), g.stored(indices)
    outer, inner = _names("O", data.shape[:axis]), axis + 1
    places = _names("I", indices.shape)
    text = f"A1[{indices.at(places)}]"
    code = _index(g, "J", text, data.shape[axis]) if checked else f"const int64_t J = {text};\n"
    code += _copy_row(data, [*outer, "J"], inner)
    shape = (*data.shape[:axis], *indices.shape, *data.shape[inner:])
    code = loops([*outer, *places], shape[: len(outer) + len(places)], code)
    return g.kernel("Gather", [(data.dtype, shape)], [data, indices], code, fails=checked)[0]


def _copy_row(data: Value, front: Sequence[str], axis: int) -> str:
    """Appends the axes from this one on to the output."""
    row = data.shape[axis:]
    size = product(row)
    if rows_are_dense(data, axis) and size.constant != 1:
        place = data.at([*front, *["0"] * len(row)])
        return (
            f"std::memcpy(Y0, A0 + ({place}), static_cast<size_t>({size}) * sizeof(*Y0));\n"
            f"Y0 += {size};"
        )
    inner = _names("K", row)
    return loops(inner, row, f"*Y0++ = A0[{data.at([*front, *inner])}];")


def _fits_inside(g: Builder, inner: Value, outer: Value, axis: int) -> None:
    small, large = without(inner.shape, axis), without(outer.shape, axis)
    if inner.rank != outer.rank or any(
        (b - a).minimum(g.program.maxima) < 0 for a, b in zip(small, large, strict=True)
    ):
        g.fail(f"indices of {shape_text(inner.shape)} for {shape_text(outer.shape)}")


@operator("GatherElements")
def _gather_elements(g: Builder, node: Node) -> Value:
    need_rank(g, "data", node[0], 1, more=True)
    need_indices(g, "indices", node[1])
    data, indices = g.stored(node[0]), g.stored(node[1])
    axis = node.axis(data.rank, 0)
    _fits_inside(g, indices, data, axis)
    names = _names("I", indices.shape)
    code = _index(g, "J", f"A1[{indices.at(names)}]", data.shape[axis])
    names_there = [*names[:axis], "J", *names[axis + 1 :]]
    code += f"*Y0++ = A0[{data.at(names_there)}];"
    code = loops(names, indices.shape, code)
    out = (data.dtype, indices.shape)
    return g.kernel("GatherElements", [out], [data, indices], code, fails=True)[0]


def _tuples(g: Builder, indices: Value, number: int, names: Sequence[str], into: Shape) -> str:
    """Statements that declare J0, J1, ...: a row of a tensor of indices."""
    return "".join(
        _index(g, f"J{k}", f"A{number}[{indices.at([*names, str(k)])}]", extent)
        for k, extent in enumerate(into)
    )


def _tuple_size(g: Builder, indices: Value, room: int) -> int:
    size = indices.shape[-1].constant if indices.rank else None
    if size is None or size > room:
        g.fail(f"indices of shape {shape_text(indices.shape)} for {room} axes")
    return size


@operator("GatherND")
def _gather_nd(g: Builder, node: Node) -> Value:
    need_indices(g, "indices", node[1])
    data, indices = g.stored(node[0]), g.stored(node[1])
    batch = node.attribute("batch_dims", 0)
    if data.shape[:batch] != indices.shape[:batch] or not 0 <= batch < indices.rank:
        g.fail(f"batches of {shape_text(data.shape)} and {shape_text(indices.shape)} do not fit")
    size = _tuple_size(g, indices, data.rank - batch)
    inner = batch + size
    names = _names("I", indices.shape[:-1])
    code = _tuples(g, indices, 1, names, data.shape[batch:inner])
    code += _copy_row(data, [*names[:batch], *_names("J", range(size))], inner)
    shape = (*indices.shape[:-1], *data.shape[inner:])
    code = loops(names, indices.shape[:-1], code)
    out = (data.dtype, shape)
    return g.kernel("GatherND", [out], [data, indices], code, fails=True)[0]


# Writing.

_REDUCTIONS = {"add": "add", "mul": "mul", "max": "max", "min": "min"}


def _copied(g: Builder, data: Value) -> Value:
    """In memory that may be changed."""
    out = g.temp(data.dtype, data.shape)
    g.add(Map(g.node, out, g.expr(data, data.shape)))
    return out


def _update(g: Builder, node: Node, old: str, new: str, dtype: Any) -> str:
    """What stands there afterwards."""
    reduction = node.attribute("reduction", "none")
    if reduction == "none":
        return new
    if reduction not in _REDUCTIONS:
        g.fail(f"reduction {reduction!r} is not supported")
    scalar = SCALARS[_REDUCTIONS[reduction]]
    template = scalar.real if dtype.kind == "f" else scalar.integer
    assert template
    return template.format(old, new)


def _scatter(g: Builder, node: Node, out: Value, ins: Sequence[Value], code: str) -> Value:
    needs = () if node.attribute("reduction", "none") == "none" else ("elements", "vec")
    g.add(Kernel(g.node, node.operator, [out], [out, *ins], code, needs, fails=True))
    return out


def _check_scatter(g: Builder, node: Node) -> None:
    need_rank(g, "data", node[0], 1, more=True)
    need_indices(g, "indices", node[1])
    need_one_type(g, node[0], node[2])


@operator("Scatter", "ScatterElements")
def _scatter_elements(g: Builder, node: Node) -> Value:
    _check_scatter(g, node)
    indices, updates = g.stored(node[1]), g.stored(node[2])
    axis = node.axis(node[0].rank, 0)
    _fits_inside(g, indices, node[0], axis)
    if updates.shape != indices.shape:
        g.fail(f"{shape_text(updates.shape)} at {shape_text(indices.shape)} indices")
    out = _copied(g, node[0])
    names = _names("I", indices.shape)
    code = _index(g, "J", f"A1[{indices.at(names)}]", out.shape[axis])
    place = f"Y0[{out.at([*names[:axis], 'J', *names[axis + 1 :]])}]"
    code += f"{place} = {_update(g, node, place, f'A2[{updates.at(names)}]', out.dtype)};"
    return _scatter(g, node, out, [indices, updates], loops(names, indices.shape, code))


@operator("ScatterND")
def _scatter_nd(g: Builder, node: Node) -> Value:
    _check_scatter(g, node)
    indices, updates = g.stored(node[1]), g.stored(node[2])
    shape = node[0].shape
    size = _tuple_size(g, indices, len(shape))
    if updates.shape != (*indices.shape[:-1], *shape[size:]):
        g.fail(f"{shape_text(updates.shape)} at {shape_text(indices.shape)} indices")
    out = _copied(g, node[0])
    names = _names("I", indices.shape[:-1])
    code = _tuples(g, indices, 1, names, shape[:size])
    code += _update_row(g, node, out, updates, _names("J", range(size)), names)
    code = loops(names, indices.shape[:-1], code)
    return _scatter(g, node, out, [indices, updates], code)


def _update_row(
    g: Builder, node: Node, out: Value, new: Value, there: Sequence[str], here: Sequence[str]
) -> str:
    row = out.shape[len(there) :]
    size = product(row)
    if not rows_are_dense(new, len(here)) or size.constant == 1:
        inner = _names("K", row)
        place = f"Y0[{out.at([*there, *inner])}]"
        update = _update(g, node, place, f"A2[{new.at([*here, *inner])}]", out.dtype)
        return loops(inner, row, f"{place} = {update};")
    kind, zeros = ctype(out.dtype), ["0"] * len(row)
    code = (
        f"{kind} *To = Y0 + ({out.at([*there, *zeros])});\n"
        f"const {kind} *From = A2 + ({new.at([*here, *zeros])});\n"
    )
    if node.attribute("reduction", "none") == "none":
        return code + f"std::memcpy(To, From, static_cast<size_t>({size}) * sizeof(*To));"
    one = f"To[K] = {_update(g, node, 'To[K]', 'From[K]', out.dtype)};"
    if out.dtype != FLOAT:
        return code + loop("K", size, one)
    many = _update(g, node, "load(To + K)", "load(From + K)", out.dtype)
    return code + (
        "int64_t K = 0;\n"
        f"for (; K + Lanes <= {size}; K += Lanes)\nstore(To + K, {many});\n"
        f"for (; K < {size}; ++K)\n{one}"
    )


# Sums, and places in sorted tables.


@operator("CumSum")
def _cum_sum(g: Builder, node: Node) -> Value:
    need_rank(g, "x", node[0], 1, more=True)
    need_one(g, "axis", node[1])
    need_indices(g, "axis", node[1])
    value = g.stored(node[0])
    axis = node.checked_axis(node.number(1, "the axis"), value.rank)
    shape, extent = value.shape, value.shape[axis]
    names = _names("I", shape)
    place = f"{extent} - 1 - K" if node.attribute("reverse", 0) else "K"
    there = [*names[:axis], "J", *names[axis + 1 :]]
    real = value.dtype.kind == "f"
    kind = ctype(value.dtype)
    # Floats are summed in double, and rounded once each.
    total = "double" if real else kind
    text = f"A0[{value.at(there)}]"
    step = f"Total += {text};" if real else f"Total = intAdd(Total, {text});"
    store = f"Y0[{dense_at(value.dtype, shape, there)}] = static_cast<{kind}>(Total);"
    both = [store, step] if node.attribute("exclusive", 0) else [step, store]
    body = (
        f"{total} Total = 0;\n"
        f"for (int64_t K = 0; K < {extent}; ++K) {{\nconst int64_t J = {place};\n"
        + "\n".join([*both, "(void)J;"])
        + "\n}"
    )
    others = [axis_ for axis_ in range(value.rank) if axis_ != axis]
    code = loops([names[i] for i in others], [shape[i] for i in others], body)
    return g.kernel("CumSum", [(value.dtype, shape)], [value], code, needs=["elements"])[0]


@operator("Bucketize", domain="compiler_bridge")
def _bucketize(g: Builder, node: Node) -> Value:
    value, limits = node[0], node[1]
    if limits.rank != 1:
        g.fail(f"boundaries have {limits.rank} axes, not 1")
    known = limits.constant
    if known is not None and (np.isnan(known).any() or (known[:-1] > known[1:]).any()):
        g.fail("boundaries are not sorted")
    value, limits = g.stored(value), g.stored(limits)
    count, names = limits.shape[0], _names("I", value.shape)
    limit = f"A1[{limits.at(['Middle'])}]"
    # Written so that what is not a number is above all.
    below = f"!({limit} {'>' if node.attribute('right', 0) else '>='} X)"
    code = loops(
        names,
        value.shape,
        f"const {ctype(value.dtype)} X = A0[{value.at(names)}];\n"
        f"int64_t Low = 0, High = {count};\n"
        "while (Low < High) {\n"
        "const int64_t Middle = (Low + High) / 2;\n"
        f"if ({below})\nLow = Middle + 1;\nelse\nHigh = Middle;\n"
        "}\n*Y0++ = Low;",
    )
    if known is None:
        code = _check_sorted(g, limits) + code
    out = (INT64, value.shape)
    return g.kernel("Bucketize", [out], [value, limits], code, fails=known is None)[0]


def _check_sorted(g: Builder, limits: Value) -> str:
    here, before = (f"A1[{limits.at([index])}]" for index in ("I", "Before"))
    # The first with itself, for the sake of what is not a number.
    return (
        f"for (int64_t I = 0; I < {limits.shape[0]}; ++I) {{\n"
        "const int64_t Before = I > 0 ? I - 1 : 0;\n"
        f"if (!({before} <= {here}))\n"
        f"return {g.message('boundaries are not sorted')};\n}}\n"
    )


@operator("Compress")
def _compress(g: Builder, node: Node) -> Value:
    need_rank(g, "condition", node[1], 1)
    need_type(g, "condition", node[1], "bool")
    value, chosen = node[0], node[1].constant
    if chosen is None:
        g.fail("the shape of its result depends on values that only the running model knows")
    if node.attribute("axis") is None:
        value, axis = g.reshape(value, (value.size,)), 0
    else:
        axis = node.axis(value.rank)
    return take(g, value, axis, np.flatnonzero(chosen))
