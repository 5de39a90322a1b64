"""Operators that move elements: views where strides can say it, else copies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .._builder import ONE, Builder
from .._extent import Extent, Shape, broadcast, constants, product, shape_text
from .._ir import Value
from .._registry import Node, operator
from ._checks import need_extents, need_one_type, need_rank
from ._parts import concat, count_of_steps, section, squeezed

_ZERO = Extent.of(0)


@operator("Reshape")
def _reshape(g: Builder, node: Node) -> Value:
    value = node[0]
    if node.opset < 5:
        wanted = [Extent.of(each) for each in node.attribute("shape", [])]
    else:
        wanted = node.extents(1, "the shape")
    if not node.attribute("allowzero", 0):
        for axis, extent in enumerate(wanted):
            if extent == _ZERO:
                if axis >= value.rank:
                    g.fail(f"a 0 in the shape at {axis}: the input has {value.rank} axes")
                wanted[axis] = value.shape[axis]
    unknown = [axis for axis, extent in enumerate(wanted) if extent.constant == -1]
    if len(unknown) > 1:
        g.fail("the shape has more than one -1")
    need_extents(g, "the shape", (each for each in wanted if (each.constant or 0) < -1))
    for axis in unknown:
        wanted[axis] = _remaining(g, value.shape, [*wanted[:axis], *wanted[axis + 1 :]])
    if product(wanted) != value.size:
        g.fail(f"{shape_text(value.shape)} has not the size of {shape_text(tuple(wanted))}")
    return g.reshape(value, tuple(wanted))


def _remaining(g: Builder, shape: Shape, others: Sequence[Extent]) -> Extent:
    """The extent that makes the sizes equal."""
    have, want = list(shape), []
    for extent in others:
        if extent in have and extent != _ZERO:
            have.remove(extent)
        else:
            want.append(extent)
    quotient = product(have).divided_by(product(want))
    if quotient is None:
        g.fail(f"-1 in the shape: {product(have)} is not known to be a multiple of {product(want)}")
    return quotient


@operator("Flatten")
def _flatten(g: Builder, node: Node) -> Value:
    value, axis = node[0], node.attribute("axis", 1)
    if not -value.rank <= axis <= value.rank:
        g.fail(f"axis {axis} of a tensor with {value.rank} axes")
    if axis < 0:
        axis += value.rank
    return g.reshape(value, (product(value.shape[:axis]), product(value.shape[axis:])))


@operator("Transpose")
def _transpose(g: Builder, node: Node) -> Value:
    value = node[0]
    order = node.attribute("perm") or list(range(value.rank))[::-1]
    if sorted(order) != list(range(value.rank)):
        g.fail(f"perm is {list(order)}, but the input has {value.rank} axes")
    return g.transpose(value, order)


def _axes(node: Node, rank: int) -> list[int] | None:
    """As an attribute before opset 13, then as an input."""
    axes = node.attribute("axes") if node.opset < 13 else node.numbers(1, "the axes")
    return None if axes is None else sorted(node.checked_axis(axis, rank) for axis in axes)


@operator("Squeeze")
def _squeeze(g: Builder, node: Node) -> Value:
    value = node[0]
    axes = _axes(node, value.rank)
    if axes is None:
        for extent in value.shape:
            if extent.constant is None:
                g.fail(f"whether {extent} is 1 is not known before the model runs")
        axes = [axis for axis in range(value.rank) if value.shape[axis] == ONE]
    return squeezed(g, value, axes)


@operator("Unsqueeze")
def _unsqueeze(g: Builder, node: Node) -> Value:
    value = g.stored(node[0])
    given = node.attribute("axes") if node.opset < 13 else node.numbers(1, "the axes")
    rank = value.rank + len(given or ())
    axes = {node.checked_axis(axis, rank) for axis in given or ()}
    if value.rank + len(axes) != rank:
        g.fail("the same axis twice")
    old = iter(zip(value.shape, value.strides, strict=True))
    pairs = [(ONE, _ZERO) if axis in axes else next(old) for axis in range(rank)]
    return g.view(value, tuple(e for e, _ in pairs), tuple(s for _, s in pairs))


@operator("Expand")
def _expand(g: Builder, node: Node) -> Value:
    value = node[0]
    wanted = tuple(node.extents(1, "the shape"))
    need_extents(g, "the shape", wanted)
    shape = broadcast(value.shape, wanted)
    if shape is None:
        g.fail(f"whether {shape_text(value.shape)} fits {shape_text(wanted)} is not known")
    return g.broadcast(value, shape)


@operator("Tile")
def _tile(g: Builder, node: Node) -> Value:
    if node.opset < 6:
        g.fail("before opset 6 it is not supported")
    value = g.stored(node[0])
    repeats = node.extents(1, "the repeats")
    if len(repeats) != value.rank:
        g.fail(f"{len(repeats)} repeats of a tensor with {value.rank} axes")
    need_extents(g, "the repeats", repeats)
    # Each axis becomes two, of which the first stays where it is.
    shape, strides = [], []
    for repeat, extent, stride in zip(repeats, value.shape, value.strides, strict=True):
        shape += [repeat, extent]
        strides += [_ZERO, stride]
    wide = g.view(value, tuple(shape), tuple(strides))
    final = (repeat * extent for repeat, extent in zip(repeats, value.shape, strict=True))
    return g.reshape(wide, tuple(final))


@operator("Concat")
def _concat(g: Builder, node: Node) -> Value:
    values = [node[i] for i in range(len(node.inputs))]
    need_one_type(g, *values)
    # Empty ones of one axis fit everything, as in ONNX Runtime.
    parts = [value for value in values if value.shape != (_ZERO,)] or values[:1]
    for i, value in enumerate(values):
        if value.shape != (_ZERO,):
            need_rank(g, str(i), value, max(parts[0].rank, 1))
    return concat(g, parts, node.axis(parts[0].rank, 1))


@operator("Split")
def _split(g: Builder, node: Node) -> list[Value]:
    value, count = node[0], len(node.outputs)
    need_rank(g, "input", value, 1, more=True)
    axis = node.axis(value.rank, 0)
    extent = value.shape[axis]
    if node.opset >= 13 and node.given(1) is not None:
        sizes = node.extents(1, "the sizes")
    elif node.opset < 13 and node.attribute("split"):
        sizes = [Extent.of(each) for each in node.attribute("split")]
    else:
        sizes = _equal_sizes(g, extent, node.attribute("num_outputs") or count)
    if sum(sizes, _ZERO) != extent or len(sizes) < count:
        g.fail(f"{extent} places in {count} parts of {shape_text(tuple(sizes))}")
    need_extents(g, "the sizes", sizes)
    parts, start = [], _ZERO
    for size in sizes:
        parts.append(section(g, value, axis, start, size))
        start = start + size
    return parts


def _equal_sizes(g: Builder, extent: Extent, count: int) -> list[Extent]:
    """The last may be smaller."""
    if extent.constant is None:
        each = extent.divided_by(Extent.of(count))
        if each is None:
            g.fail(f"{extent} places in {count} equal parts")
        return [each] * count
    size = -(-extent.constant // count)
    starts = [min(size * i, extent.constant) for i in range(count + 1)]
    return [Extent.of(b - a) for a, b in pairwise(starts)]


@operator("Slice")
def _slice(g: Builder, node: Node) -> Value:
    value = g.stored(node[0])
    if node.opset < 10:
        starts, ends = ([Extent.of(e) for e in node.attribute(n)] for n in ("starts", "ends"))
        axes, steps = node.attribute("axes"), None
    else:
        starts, ends = node.extents(1, "the starts"), node.extents(2, "the ends")
        axes, steps = node.numbers(3, "the axes"), node.numbers(4, "the steps")
    axes = range(len(starts)) if axes is None else axes
    for start, end, axis, step in zip(starts, ends, axes, steps or [1] * len(starts), strict=False):
        if step == 0:
            g.fail("a step is 0")
        axis = node.checked_axis(axis, value.rank)
        first, count = _places(g, start, end, step, value.shape[axis])
        value = section(g, value, axis, first, count, step)
    return value


def _places(
    g: Builder, start: Extent, end: Extent, step: int, extent: Extent
) -> tuple[Extent, Extent]:
    """Where a slice begins, and how many places it has."""
    known = constants((start, end, extent))
    if known is not None:
        taken = range(*slice(known[0], known[1], step).indices(known[2]))
        return Extent.of(taken.start), Extent.of(len(taken))
    low, high = (_ZERO, extent) if step > 0 else (Extent.of(-1), extent - 1)

    def clamped(place: Extent) -> Extent:
        if place.constant is not None and place.constant < 0:
            place = place + extent
        if (place - high).minimum(g.program.maxima) >= 0:
            return high
        if (low - place).minimum(g.program.maxima) >= 0:
            return low
        g.require(place - low)
        g.require(high - place)
        return place

    first, last = clamped(start), clamped(end)
    length = last - first if step > 0 else first - last
    return first, count_of_steps(g, length, abs(step))


def _blocks(g: Builder, node: Node) -> tuple[Value, int]:
    size: int = node.attribute("blocksize")
    need_rank(g, "input", node[0], 4)
    if size < 1:
        g.fail(f"blocks of {size}")
    return node[0], size


@operator("DepthToSpace")
def _depth_to_space(g: Builder, node: Node) -> Value:
    value, size = _blocks(g, node)
    batch, depth, height, width = value.shape
    block = Extent.of(size)
    channels = depth.divided_by(block * block)
    if channels is None:
        g.fail(f"{depth} channels in blocks of {size}")
    if node.attribute("mode", "DCR") == "DCR":
        value = g.reshape(value, (batch, block, block, channels, height, width))
        value = g.transpose(value, (0, 3, 4, 1, 5, 2))
    else:
        value = g.reshape(value, (batch, channels, block, block, height, width))
        value = g.transpose(value, (0, 1, 4, 2, 5, 3))
    return g.reshape(value, (batch, channels, height * size, width * size))


@operator("SpaceToDepth")
def _space_to_depth(g: Builder, node: Node) -> Value:
    value, size = _blocks(g, node)
    batch, depth, height, width = value.shape
    block = Extent.of(size)
    rows, columns = height.divided_by(block), width.divided_by(block)
    if rows is None or columns is None:
        g.fail(f"{height} x {width} in blocks of {size}")
    value = g.reshape(value, (batch, depth, rows, block, columns, block))
    channels_first = node.attribute("mode", "DCR") == "CRD"
    value = g.transpose(value, (0, 1, 3, 5, 2, 4) if channels_first else (0, 3, 5, 1, 2, 4))
    return g.reshape(value, (batch, depth * size * size, rows, columns))
