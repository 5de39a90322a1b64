"""The operators, by kind: a function each, which translates a node into instructions.

    @operator("Relu")
    def _relu(g: Builder, node: Node) -> Value:
        return g.map("relu", node[0])

It returns the node's output, or a list of them. Shapes are decided here, too: what depends on
values that are not known when compiled is refused with `g.fail`.
"""

from __future__ import annotations

from .._registry import OPERATORS, Node, operator
from . import (
    control,
    convolution,
    einsum,
    elementwise,
    indexing,
    matrix,
    movement,
    normalization,
    padding,
    pooling,
    quantization,
    recurrent,
    reduction,
    selection,
    shape,
)

__all__ = [
    "OPERATORS",
    "Node",
    "control",
    "convolution",
    "einsum",
    "elementwise",
    "indexing",
    "matrix",
    "movement",
    "normalization",
    "operator",
    "padding",
    "pooling",
    "quantization",
    "recurrent",
    "reduction",
    "selection",
    "shape",
]
