"""Windows that slide over the axes after the first two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._builder import Builder
from .._extent import Extent, Shape
from .._ir import Value
from .._registry import Node
from .padding import padded

_ZERO = Extent.of(0)


@dataclass(frozen=True)
class Slide:
    """Along one axis: `before` and `after` are padded, `beyond` is what only the last window has
    when counts are rounded up."""

    kernel: int
    stride: int
    dilation: int
    before: int
    after: int
    beyond: int
    count: Extent


def slides(g: Builder, node: Node, spatial: Shape, kernel: Sequence[int]) -> list[Slide]:
    """By the attributes that Conv and pooling have."""
    rank = len(spatial)
    strides = node.attribute("strides") or [1] * rank
    dilations = node.attribute("dilations") or [1] * rank
    pads = node.attribute("pads") or [0] * (2 * rank)
    if not len(kernel) == len(strides) == len(dilations) == len(pads) // 2 == rank:
        g.fail(f"a kernel with {len(kernel)} axes over a tensor with {rank}")
    if min([*kernel, *strides, *dilations], default=1) < 1 or min(pads, default=0) < 0:
        g.fail("a kernel, stride or dilation is not positive, or a pad is negative")
    result = []
    for i, extent in enumerate(spatial):
        reach = dilations[i] * (kernel[i] - 1) + 1
        before, after = pads[i], pads[i + rank]
        auto = node.attribute("auto_pad", "NOTSET")
        if auto == "VALID":
            before = after = 0
        elif auto in ("SAME_UPPER", "SAME_LOWER"):
            before, after = _same(g, extent, reach, strides[i], auto == "SAME_UPPER")
        room = extent + (before + after - reach)
        count, beyond = _count(g, extent + before, room, strides[i], _rounds_up(node))
        result.append(Slide(kernel[i], strides[i], dilations[i], before, after, beyond, count))
    return result


def _rounds_up(node: Node) -> bool:
    return bool(node.attribute("ceil_mode", 0)) and node.attribute("auto_pad", "NOTSET") == "NOTSET"


def _same(g: Builder, extent: Extent, reach: int, stride: int, upper: bool) -> tuple[int, int]:
    """Pads for as many windows as there are strides."""
    if stride == 1:
        total = reach - 1
    elif extent.constant is None:
        g.fail(f"pads for a stride of {stride} depend on {extent}")
    else:
        windows = -(-extent.constant // stride)
        total = max((windows - 1) * stride + reach - extent.constant, 0)
    less = total // 2
    return (less, total - less) if upper else (total - less, less)


def _count(g: Builder, until: Extent, room: Extent, stride: int, up: bool) -> tuple[Extent, int]:
    """How many windows, and how far the last one reaches beyond; none begins after `until`."""
    if room.constant is not None and until.constant is not None:
        if room.constant < 0:
            g.fail("the kernel is larger than what it slides over")
        count = room.constant // stride + 1
        if up and room.constant % stride and count * stride < until.constant:
            return Extent.of(count + 1), count * stride - room.constant
        return Extent.of(count), 0
    steps = room.divided_by(Extent.of(stride))
    if steps is None:
        g.fail(f"how many strides of {stride} are in {room} is not known before the model runs")
    g.require(room, None)
    return steps + 1, 0


def windows(g: Builder, value: Value, along: Sequence[Slide], fill: float) -> Value:
    """A view [N, C, counts.., kernel..]."""
    pads = [(_ZERO, _ZERO)] * 2
    pads += [(Extent.of(s.before), Extent.of(s.after + s.beyond)) for s in along]
    if any(pad != (_ZERO, _ZERO) for pad in pads):
        value = padded(g, value, pads, g.scalar(fill, value))
    value = g.stored(value)
    inner = value.strides[2:]
    shape = (*value.shape[:2], *(s.count for s in along), *(Extent.of(s.kernel) for s in along))
    strides = (
        *value.strides[:2],
        *(stride * s.stride for stride, s in zip(inner, along, strict=True)),
        *(stride * s.dilation for stride, s in zip(inner, along, strict=True)),
    )
    return g.view(value, shape, strides)
