"""Recipes for the nodes that move elements, and do not calculate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._graphs import DYNAMIC, Builder, Value


def _with_axes(v: Value) -> bool:
    return v.rank > 0 and v.has_elements


def _static_axis(b: Builder, v: Value) -> int | None:
    axes = [i for i, e in enumerate(v.shape) if e != DYNAMIC]
    return b.one_of(axes) if axes else None


def transpose(b: Builder) -> None:
    if v := b.pick(lambda v: v.rank > 1):
        order = list(range(v.rank))
        for i in range(v.rank - 1):
            j = b.integer(i, v.rank - 1)
            order[i], order[j] = order[j], order[i]
        b.node("Transpose", [v.name], perm=order)


def reshape(b: Builder) -> None:
    v = b.pick(lambda v: v.has_elements)
    if not v:
        return
    if v.is_static:
        shape: list[int] = []
        left = int(np.prod(v.extents))
        while left > 1 and len(shape) < 3:
            shape.append(b.one_of([d for d in range(1, left + 1) if left % d == 0]))
            left //= shape[-1]
        shape.append(left)
        if b.chance(30):
            shape[b.integer(0, len(shape) - 1)] = -1
        b.node("Reshape", [v.name, b.integers(*shape)])
    elif v.shape[0] == DYNAMIC and DYNAMIC not in v.shape[1:]:
        rest = int(np.prod(v.extents[1:]))
        b.node("Reshape", [v.name, b.integers(*b.one_of([[0, -1], [-1, rest], [0, 1, rest]]))])


def flatten(b: Builder) -> None:
    if v := b.pick(_with_axes):
        b.node("Flatten", [v.name], axis=b.integer(-v.rank, v.rank))


def squeeze(b: Builder) -> None:
    if b.chance(50) and (v := b.pick(lambda v: 1 in v.shape)):
        ones = [i for i, e in enumerate(v.shape) if e == 1 and b.chance(70)]
        b.node("Squeeze", [v.name, b.integers(*ones)] if ones else [v.name])
    elif v := b.pick(lambda v: v.rank < 4):
        b.node("Unsqueeze", [v.name, b.integers(b.integer(-v.rank - 1, v.rank))])


def expand(b: Builder) -> None:
    v = b.pick(lambda v: v.is_static and v.has_elements and v.rank < 4)
    if v and b.chance(50):
        shape = [b.integer(1, 3) if e == 1 else int(e) for e in v.shape]
        b.node("Expand", [v.name, b.integers(*([2] if b.chance(40) else []), *shape)])
    elif v:
        b.node("Tile", [v.name, b.integers(*(b.integer(1, 2) for _ in v.shape))])


def pad(b: Builder) -> None:
    v = b.pick(lambda v: _with_axes(v) and v.dtype == "float32")
    if not v:
        return
    mode = b.one_of(["constant", "constant", "edge", "reflect"])
    free = [0 if e == DYNAMIC else min(2, int(e) - 1) for e in v.shape]
    pads = [b.integer(0, most) for most in free * 2]
    value = [b.constant(np.array(1.5, dtype=np.float32))] if mode == "constant" else []
    b.node("Pad", [v.name, b.integers(*pads), *value], mode=mode)


def slice_(b: Builder) -> None:
    v = b.pick(_with_axes)
    if not v or (axis := _static_axis(b, v)) is None:
        return
    extent = int(v.shape[axis])
    start, length = b.integer(0, extent - 1), b.integer(1, 4)
    if b.chance(30):
        bounds = [extent - 1 if start == 0 else start - extent, -(2**31), -b.integer(1, 2)]
    else:
        bounds = [start, start + length, b.integer(1, 2)]
    names = [b.integers(x) for x in (bounds[0], bounds[1], axis, bounds[2])]
    b.node("Slice", [v.name, *names])


def concat(b: Builder) -> None:
    v = b.pick(_with_axes)
    if not v:
        return
    axis = _static_axis(b, v) if b.chance(85) else 0
    if axis is None:
        return

    def fits(w: Value) -> bool:
        same = w.rank == v.rank and w.dtype == v.dtype
        return same and all(i == axis or w.shape[i] == v.shape[i] for i in range(v.rank))

    others = [w.name for w in b.values if fits(w)]
    shape = [b.integer(1, 3) if i == axis else e for i, e in enumerate(v.shape)]
    more = b.one_of(others) if b.chance(60) else b.fresh(v.dtype, tuple(shape))
    b.node("Concat", [v.name, more, *([b.one_of(others)] if b.chance(25) else [])], axis=axis)


def split(b: Builder) -> None:
    v = b.pick(_with_axes)
    if not v or (axis := _static_axis(b, v)) is None or int(v.shape[axis]) < 2:
        return
    extent = int(v.shape[axis])
    first = b.integer(1, extent - 1)
    if b.chance(30):
        b.node("Split", [v.name], 2, axis=axis, num_outputs=2)
    else:
        b.node("Split", [v.name, b.integers(first, extent - first)], 2, axis=axis)


def gather(b: Builder) -> None:
    v = b.pick(_with_axes)
    if not v or (axis := _static_axis(b, v)) is None:
        return
    extent = int(v.shape[axis])
    shape = tuple(b.integer(1, 3) for _ in range(b.integer(0, 2)))
    dtype = b.one_of(["int64", "int32"])
    b.node("Gather", [v.name, b.fresh(dtype, shape, -extent, extent - 1)], axis=axis)


def gather_elements(b: Builder) -> None:
    v = b.pick(_with_axes)
    if not v or (axis := _static_axis(b, v)) is None:
        return
    extent = int(v.shape[axis])
    shape = tuple(b.integer(1, 4) if i == axis else e for i, e in enumerate(v.shape))
    b.node("GatherElements", [v.name, b.fresh("int64", shape, -extent, extent - 1)], axis=axis)


def gather_nd(b: Builder) -> None:
    v = b.pick(lambda v: _with_axes(v) and v.is_static)
    if v:
        depth = b.integer(1, v.rank)
        rows = [b.generator.integers(-int(e), int(e), 3) for e in v.extents[:depth]]
        b.node("GatherND", [v.name, b.constant(np.stack(rows, axis=1).astype(np.int64))])


def scatter_elements(b: Builder) -> None:
    v = b.pick(lambda v: _with_axes(v) and v.is_static and v.dtype != "bool")
    if not v:
        return
    axis = b.integer(0, v.rank - 1)
    count = b.integer(1, v.extents[axis])
    shape = tuple(count if i == axis else e for i, e in enumerate(v.extents))
    rest = (*shape[:axis], *shape[axis + 1 :], v.extents[axis])
    every = np.broadcast_to(np.arange(v.extents[axis]), rest)
    order = b.generator.permuted(every, axis=-1)[..., :count]
    indices = np.moveaxis(order, -1, axis).astype(np.int64)
    how = b.one_of(["none", "none", "add", "max"])
    updates = b.fresh(v.dtype, shape)
    b.node("ScatterElements", [v.name, b.constant(indices), updates], axis=axis, reduction=how)


def scatter_nd(b: Builder) -> None:
    v = b.pick(lambda v: _with_axes(v) and v.is_static and v.dtype in ("float32", "int64"))
    if v:
        depth = b.integer(1, v.rank)
        places = int(np.prod(v.extents[:depth]))
        count = b.integer(1, min(3, places))
        flat = b.generator.permutation(places)[:count]
        indices = np.stack(np.unravel_index(flat, v.extents[:depth]), axis=1).astype(np.int64)
        updates = b.fresh(v.dtype, (count, *v.extents[depth:]))
        how = b.one_of(["none", "add", "mul"])
        b.node("ScatterND", [v.name, b.constant(indices), updates], reduction=how)


def triangle(b: Builder) -> None:
    if v := b.pick(lambda v: v.rank >= 2 and v.dtype in ("float32", "int64")):
        k = b.constant(np.array(b.integer(-2, 2), dtype=np.int64))
        b.node("Trilu", [v.name, k], upper=b.integer(0, 1))


RECIPES: list[Callable[[Builder], None]] = [
    transpose, transpose, reshape, reshape, flatten, squeeze, squeeze, expand, pad, slice_, slice_,
    concat, concat, split, gather, gather_elements, gather_nd, scatter_elements, scatter_nd,
    triangle,
]  # fmt: skip
