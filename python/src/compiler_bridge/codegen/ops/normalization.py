"""Operators that shift and scale to a mean of 0 and a variance of 1."""

from __future__ import annotations

import numpy as np

from .._builder import ONE, Builder, loops
from .._extent import Extent, Shape, product
from .._ir import Value
from .._registry import Node, operator
from .._types import DOUBLE, FLOAT, DType, literal
from ._checks import need_one_type, need_rank, need_real, need_shape, need_to_fit
from .reduction import SQUARES, mean

_EPSILON = 1e-5  # the default


def _normalized(g: Builder, value: Value, axis: int, epsilon: float) -> tuple[Value, Value, Value]:
    """Over the axes from `axis` on: the result, the mean, and 1 / the deviation."""
    axes = range(axis, value.rank)
    middle = mean(g, value, axes)
    variance = mean(g, g.map("sub", value, middle), axes, SQUARES)
    deviation = g.map("sqrt", g.map("add", variance, g.scalar(epsilon, variance)))
    inverse = g.map("reciprocal", deviation)
    return g.map("mul", g.map("sub", value, middle), inverse), middle, inverse


def _normalized_rows(
    g: Builder,
    value: Value,
    axis: int,
    epsilon: float,
    scale: Value | None = None,
    bias: Value | None = None,
    told: int = 0,
) -> list[Value]:
    """The same of floats, with scale and bias of the shape of a row; `told`: how many of mean and
    1 / deviation are wanted, too."""
    value = g.contiguous(value)
    rows, count = product(value.shape[:axis]), product(value.shape[axis:])
    ins, pointers = [value], []
    for given in (scale, bias):
        if given is None:
            pointers.append("nullptr")
            continue
        given = g.contiguous(given)
        pointers.append(f"A{len(ins)} + {given.offset.factor()}")
        ins.append(given)
    place = f"I * {count.factor()}"
    extra = [f"Y{i + 1} + I" if i < told else "nullptr" for i in range(2)]
    code = loops(
        ["I"],
        [rows],
        f"normalizeRow(A0 + ({value.offset} + {place}), {', '.join(pointers)}, Y0 + {place}, "
        f"{count}, {literal(epsilon, FLOAT)}, {', '.join(extra)});",
    )
    one_each = (*value.shape[:axis], *[ONE] * (value.rank - axis))
    outs: list[tuple[DType, Shape]] = [(FLOAT, value.shape), *[(FLOAT, one_each)] * told]
    return g.kernel("Normalize", outs, ins, code, needs=["normalize"])


@operator("LayerNormalization")
def _layer_normalization(g: Builder, node: Node) -> list[Value]:
    value, scale, bias = node[0], node[1], node.given(2)
    need_real(g, "X", value)
    need_one_type(g, value, scale, bias)
    need_rank(g, "X", value, 1, more=True)
    need_to_fit(g, "Scale", scale, value.shape)
    need_to_fit(g, "B", bias, value.shape)
    axis = node.axis(value.rank, -1)
    epsilon = node.attribute("epsilon", _EPSILON)
    told = 2 if node.wants(2) else int(node.wants(1))
    stash = DOUBLE if node.attribute("stash_type", 1) == 11 else FLOAT
    row = value.shape[axis:]
    fits = all(each is None or each.shape == row for each in (scale, bias))
    if value.dtype == FLOAT and stash == FLOAT and fits:
        return _normalized_rows(g, value, axis, epsilon, scale, bias, told)
    wide = value if value.dtype == DOUBLE else g.cast(value, stash)
    result, *rest = _normalized(g, wide, axis, epsilon)
    result = g.map("mul", g.cast(result, value.dtype), scale)
    if bias is not None:
        result = g.map("add", result, bias)
    return [result, *(g.cast(each, stash) for each in rest)]


@operator("RMSNormalization")
def _rms_normalization(g: Builder, node: Node) -> Value:
    need_real(g, "X", node[0])
    need_one_type(g, node[0], node[1])
    need_rank(g, "X", node[0], 1, more=True)
    need_to_fit(g, "scale", node[1], node[0].shape)
    value, axis = node[0], node.axis(node[0].rank, -1)
    wide = g.cast(value, DOUBLE) if node.attribute("stash_type", 1) == 11 else value
    squares = mean(g, wide, range(axis, value.rank), SQUARES)
    epsilon = g.scalar(node.attribute("epsilon", _EPSILON), squares)
    deviation = g.map("sqrt", g.map("add", squares, epsilon))
    normal = g.map("mul", wide, g.map("reciprocal", deviation))
    return g.map("mul", g.cast(normal, value.dtype), node[1])


def _rows(g: Builder, value: Value, epsilon: float) -> Value:
    """Normalizes the last axis."""
    axis = value.rank - 1
    if value.dtype == FLOAT:
        return _normalized_rows(g, value, axis, epsilon)[0]
    return _normalized(g, value, axis, epsilon)[0]


def _per_channel(g: Builder, value: Value, rank: int) -> Value:
    """[C] as it fits [N, C, ...]."""
    return g.reshape(value, (*value.shape, *[ONE] * (rank - 2)))


def _scaled(g: Builder, value: Value, scale: Value, bias: Value) -> Value:
    rank = value.rank
    scaled = g.map("mul", value, _per_channel(g, scale, rank))
    return g.map("add", scaled, _per_channel(g, bias, rank))


@operator("InstanceNormalization")
def _instance_normalization(g: Builder, node: Node) -> Value:
    value = node[0]
    need_real(g, "input", value)
    need_one_type(g, value, node[1], node[2])
    need_rank(g, "input", value, 2, more=True)
    need_shape(g, "scale", node[1], value.shape[1])
    need_shape(g, "B", node[2], value.shape[1])
    rows = g.reshape(value, (*value.shape[:2], product(value.shape[2:])))
    normal = _rows(g, rows, node.attribute("epsilon", _EPSILON))
    return _scaled(g, g.reshape(normal, value.shape), node[1], node[2])


@operator("GroupNormalization")
def _group_normalization(g: Builder, node: Node) -> Value:
    value, scale, bias = node[0], node[1], node[2]
    need_real(g, "X", value)
    need_one_type(g, value, scale, bias)
    need_rank(g, "X", value, 2, more=True)
    groups = Extent.of(node.attribute("num_groups"))
    channels = value.shape[1].divided_by(groups)
    if channels is None or node.attribute("num_groups") < 1:
        g.fail(f"{value.shape[1]} channels in {groups} groups")
    each = groups if node.opset < 21 else value.shape[1]
    need_shape(g, "scale", scale, each)
    need_shape(g, "bias", bias, each)
    wide = value
    if node.opset >= 21 and node.attribute("stash_type", 1) == 11:
        wide = g.cast(value, DOUBLE)
    rows = g.reshape(wide, (value.shape[0], groups, channels * product(value.shape[2:])))
    normal = g.cast(_rows(g, rows, node.attribute("epsilon", _EPSILON)), value.dtype)
    if node.opset < 21:  # by groups
        return g.reshape(_scaled(g, normal, scale, bias), value.shape)
    return _scaled(g, g.reshape(normal, value.shape), scale, bias)


@operator("BatchNormalization")
def _batch_normalization(g: Builder, node: Node) -> Value | list[Value]:
    value, scale, bias, middle, variance = (node[i] for i in range(5))
    need_real(g, "X", value)
    need_rank(g, "X", value, 1, more=True)
    if value.rank < 2:
        value = g.reshape(value, (*value.shape, ONE))
    for name, each in zip(
        ("scale", "B", "input_mean", "input_var"), (scale, bias, middle, variance), strict=True
    ):
        need_real(g, name, each)
        need_shape(g, name, each, value.shape[1])
    if node.opset < 9 and not node.attribute("spatial", 1):
        g.fail("spatial=0 is not supported")
    training = node.attribute("training_mode", 0)
    if not training and any(node.wants(i) for i in range(1, 5)):
        g.fail("gives more than one output in training only")
    epsilon = node.attribute("epsilon", _EPSILON)
    if training:
        momentum = node.attribute("momentum", 0.9)
        return _training(g, value, [scale, bias, middle, variance], epsilon, momentum)
    result = _batch_scaled(g, value, [scale, bias, middle, variance], epsilon)
    return g.reshape(result, node[0].shape)


def _batch_scaled(g: Builder, value: Value, given: list[Value], epsilon: float) -> Value:
    """With a given mean and variance: one product and one sum for each element."""
    scale, bias, middle, variance = given
    arrays = [each.constant for each in given]
    if all(array is not None for array in arrays):
        s, b, m, v = (np.asarray(array, np.float64) for array in arrays)
        with np.errstate(all="ignore"):
            factor = s / np.sqrt(v + epsilon)
            shift = b - m * factor
        weight = any(each.weight for each in given)
        constants = [
            g.constant(each.astype(value.dtype), weight=weight) for each in (factor, shift)
        ]
        return _scaled(g, value, *constants)
    deviation = g.map("sqrt", g.map("add", variance, g.scalar(epsilon, variance)))
    factor_ = g.cast(g.map("div", g.cast(scale, variance.dtype), deviation), value.dtype)
    shift_ = g.map(
        "sub", g.cast(bias, value.dtype), g.map("mul", g.cast(middle, value.dtype), factor_)
    )
    return _scaled(g, value, factor_, shift_)


def _training(
    g: Builder, value: Value, given: list[Value], epsilon: float, momentum: float
) -> list[Value]:
    """With the mean and variance of this batch, which the running ones follow."""
    scale, bias, *running = given
    axes = [0, *range(2, value.rank)]
    middle = mean(g, value, axes)
    variance = mean(g, g.map("sub", value, middle), axes, SQUARES)
    here = [g.reshape(each, (value.shape[1],)) for each in (middle, variance)]
    result = _batch_scaled(g, value, [scale, bias, *here], epsilon)
    followed = []
    for old, new in zip(running, here, strict=True):
        kept = g.map("mul", old, g.scalar(momentum, old))
        added = g.map("mul", g.cast(new, old.dtype), g.scalar(1 - momentum, old))
        followed.append(g.map("add", kept, added))
    return [result, *followed]
