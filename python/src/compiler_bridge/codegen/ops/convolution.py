"""Convolution, as a product of the weights with windows of the input."""

from __future__ import annotations

from .._builder import ONE, Builder
from .._extent import Extent, constants, product
from .._ir import Value
from .._registry import Node, operator
from ._checks import need_one_type, need_rank, need_shape, refuse_shape
from ._windows import slides, windows
from .matrix import matmul


@operator("Conv")
def _conv(g: Builder, node: Node) -> Value:
    value, weights, bias = node[0], node[1], node.given(2)
    need_one_type(g, value, weights, bias)
    need_rank(g, "X", value, 3, more=True)
    need_rank(g, "W", weights, value.rank)
    kernel = constants(weights.shape[2:])
    if kernel is None:
        g.fail("needs a kernel of known size")
    if tuple(node.attribute("kernel_shape", kernel)) != kernel:
        refuse_shape(g, "W", weights, f"a kernel of {list(node.attribute('kernel_shape'))}")
    groups = node.attribute("group", 1)
    need_shape(g, "B", bias, weights.shape[0])
    channels, results = weights.shape[1], weights.shape[0].divided_by(Extent.of(groups))
    if results is None or channels * groups != value.shape[1]:
        g.fail(f"{value.shape[1]} channels and {weights.shape[0]} results in {groups} groups")
    along = slides(g, node, value.shape[2:], kernel)
    seen = windows(g, value, along, 0.0)
    batch, counts = value.shape[0], tuple(slide.count for slide in along)
    # [N, groups, C, kernel.., counts..] as matrices.
    rank = len(along)
    seen = g.view(
        seen,
        (batch, Extent.of(groups), channels, *seen.shape[2 + rank :], *counts),
        (
            seen.strides[0],
            seen.strides[1] * channels,
            seen.strides[1],
            *seen.strides[2 + rank :],
            *seen.strides[2 : 2 + rank],
        ),
    )
    summed = channels * product(map(Extent.of, kernel))
    right = g.reshape(seen, (batch, Extent.of(groups), summed, product(counts)))
    left = g.reshape(weights, (Extent.of(groups), results, summed))
    made = matmul(g, left, right)
    if bias is not None:
        made = g.map("add", made, g.reshape(bias, (Extent.of(groups), results, ONE)))
    return g.reshape(made, (batch, weights.shape[0], *counts))
