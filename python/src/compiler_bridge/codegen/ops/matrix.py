"""Products of matrices."""

from __future__ import annotations

from .._builder import ONE, Builder, loops
from .._extent import Shape, broadcast
from .._ir import Gemm, Sum, Value
from .._registry import Node, operator
from .._types import FLOAT, ctype
from ._checks import need_one_type, need_rank, need_to_fit

# Right sides of fewer columns, if their columns can be had as rows, are better summed along k.
_FEW_COLUMNS = 8


@operator("MatMul")
def _matmul(g: Builder, node: Node) -> Value:
    return matmul(g, node[0], node[1])


def matmul(g: Builder, left: Value, right: Value) -> Value:
    """As NumPy defines it."""
    need_one_type(g, left, right)
    if left.rank == 0 or right.rank == 0:
        g.fail("a product needs tensors with axes")
    if left.rank == 1:
        product = matmul(g, g.reshape(left, (ONE, *left.shape)), right)
        gone = product.rank - min(right.rank, 2)  # the axis that was added
        return g.reshape(product, product.shape[:gone] + product.shape[gone + 1 :])
    if right.rank == 1:
        product = matmul(g, left, g.reshape(right, (*right.shape, ONE)))
        return g.reshape(product, product.shape[:-1])
    if left.shape[-1] != right.shape[-2]:
        g.fail(f"sums over {left.shape[-1]} and over {right.shape[-2]} elements")
    outer = broadcast(left.shape[:-2], right.shape[:-2])
    if outer is None:
        g.fail("whether the batches fit each other is not known before the model runs")
    shape = (*outer, left.shape[-2], right.shape[-1])
    left = g.broadcast(left, (*outer, *left.shape[-2:]))
    if left.dtype != FLOAT:
        return _plain(g, left, g.broadcast(right, (*outer, *right.shape[-2:])), shape)
    turned = _columns_as_rows(g, right) if right.rank == 2 and _few(right) else None
    if turned is not None:
        right = turned
        if left.strides[-1] != ONE:
            left = g.contiguous(left)
    else:
        right = g.stored(right)
        if right.strides[-1] != ONE:
            right = g.contiguous(right)
        right = g.broadcast(right, (*outer, *right.shape[-2:]))
    out = g.temp(FLOAT, shape)
    g.add(Gemm(g.node, out, left, right, Sum(), turned is not None))
    return out


def _columns_as_rows(g: Builder, right: Value) -> Value | None:
    """A matrix turned, if that costs nothing when the model runs."""
    if right.constant is not None:
        return g.stored(g.turned(right))
    right = g.stored(right)
    k, n = right.shape
    if right.strides[0] == ONE and (n == ONE or right.strides[1] == k):
        return g.transpose(right, (1, 0))
    return None


def _few(right: Value) -> bool:
    columns = right.shape[-1].constant
    return columns is not None and columns < _FEW_COLUMNS


def _plain(g: Builder, left: Value, right: Value, shape: Shape) -> Value:
    """Of other types than float."""
    indices = [f"I{axis}" for axis in range(len(shape))]
    a = left.at([*indices[:-1], "K"])
    b = right.at([*indices[:-2], "K", indices[-1]])
    kind = ctype(left.dtype)
    step = f"T = intAdd(T, intMul(A0[{a}], A1[{b}]));"
    if left.dtype.kind == "f":
        step = f"T += A0[{a}] * A1[{b}];"
    body = f"{kind} T = 0;\nfor (int64_t K = 0; K < {left.shape[-1]}; ++K)\n{step}\n*Y0++ = T;"
    code = loops(indices, shape, body)
    return g.kernel("MatMul", [(left.dtype, shape)], [left, right], code, needs=["elements"])[0]


@operator("Gemm")
def _gemm(g: Builder, node: Node) -> Value:
    left, right = node[0], node[1]
    need_rank(g, "A", left, 2)
    need_rank(g, "B", right, 2)
    if node.attribute("transA", 0):
        left = g.transpose(left, (1, 0))
    if node.attribute("transB", 0):
        right = g.turned(right)
    product = matmul(g, left, right)
    alpha, beta = node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    if alpha != 1:
        product = g.map("mul", product, g.scalar(alpha, product))
    added = node.given(2)
    need_one_type(g, product, added)
    need_to_fit(g, "C", added, product.shape)
    if added is None or beta == 0:
        return product
    if beta != 1:
        added = g.map("mul", added, g.scalar(beta, added))
    return g.map("add", product, added)
