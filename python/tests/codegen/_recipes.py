"""Recipes for the nodes of random graphs: each takes a builder, and adds a node or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import helper

from ._graphs import DTYPES, DYNAMIC, MAXIMUM, Builder, Shape, Value

_UNARIES = """
    Abs Neg Floor Ceil Round Sign Erf Relu LeakyRelu Elu Selu Gelu Sigmoid HardSigmoid
    HardSwish Tanh Softplus Softsign Identity Exp Sqrt Log Reciprocal"""
_UNARY = _UNARIES.split()
# In graphs inside of nodes, where nothing tells how much a result may move. No Sigmoid: ONNX
# Runtime's is 0 from -18 on, whose logarithm is far from ours.
_INSIDE = ["Tanh", "Neg", "Abs", "Identity"]
_REDUCTIONS = ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSumExp", "SumSquare"]


def _of_floats(v: Value) -> bool:
    return v.is_float


def _with_axes(v: Value) -> bool:
    return v.is_float and v.rank > 0 and v.has_elements


def _axis(b: Builder, v: Value) -> int:
    return b.integer(-v.rank, v.rank - 1)


def _static_axis(b: Builder, v: Value) -> int | None:
    axes = [i for i, e in enumerate(v.shape) if e != DYNAMIC]
    return b.one_of(axes) if axes else None


def _clipped(b: Builder, name: str, low: float, high: float, dtype: str) -> str:
    limits = [b.constant(np.array(x, dtype=dtype)) for x in (low, high)]
    return b.last().name if b.node("Clip", [name, *limits]) else name


def _positive(b: Builder, name: str, dtype: str) -> str:
    if not b.node("Abs", [name]):
        return name
    least = b.constant(np.array(0.1, dtype=dtype))
    return b.last().name if b.node("Add", [b.last().name, least]) else name


def unary(b: Builder) -> None:
    if not (v := b.pick(_of_floats)):
        return
    operator, name = b.one_of(_UNARY), v.name
    if operator == "Exp" and b.chance(80):
        name = _clipped(b, name, -6, 6, v.dtype)
    if operator in ("Sqrt", "Log", "Reciprocal") and b.chance(90):
        name = _positive(b, name, v.dtype)
    more: dict[str, Any] = {}
    if operator in ("LeakyRelu", "Elu") and b.chance(50):
        more["alpha"] = b.integer(1, 9) / 7
    if operator == "Gelu" and v.dtype == "float32" and b.chance(50):  # of doubles, it has floats
        more["approximate"] = "tanh"
    b.node(operator, [name], **more)


def unary_integer(b: Builder) -> None:
    if v := b.pick(lambda v: v.dtype.startswith("int")):
        b.node(b.one_of(["Abs", "Neg", "Sign", "Identity"]), [v.name])
    elif w := b.pick(lambda v: v.dtype == "bool"):
        b.node("Not", [w.name])


def clip(b: Builder) -> None:
    if v := b.pick(lambda v: v.dtype != "bool"):
        low, high = (b.constant(np.array(x, dtype=v.dtype)) for x in (-1, b.integer(-1, 3)))
        b.node("Clip", [v.name, *b.one_of([[low], [low, high], ["", high]])])


def _broadcast(b: Builder, v: Value) -> str:
    """Another operand for one: some extents are 1 or missing."""
    fits = [w for w in b.values if w.dtype == v.dtype and w != v and _fit(w.shape, v.shape)]
    if fits and b.chance(60):
        return str(b.one_of(fits).name)
    shape = tuple(1 if b.chance(25) else e for e in v.shape)
    return b.fresh(v.dtype, shape[b.integer(0, len(shape)) if b.chance(40) else 0 :])


def _fit(one: Shape, other: Shape) -> bool:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return all(x == y or 1 in (x, y) for x, y in pairs)


def binary(b: Builder) -> None:
    if not (v := b.pick(lambda v: v.dtype != "bool")):
        return
    operator = b.one_of(["Add", "Sub", "Mul", "Div", "Min", "Max", "Add", "Mul"])
    if operator == "Div" and not v.is_float:
        divisor = b.constant(np.array(b.one_of([-3, -1, 1, 2, 5]), dtype=v.dtype))
        b.node("Div", [v.name, divisor])
        return
    other = _broadcast(b, v)
    if operator == "Div" and b.chance(90):
        other = _positive(b, other, v.dtype)
    pair = [v.name, other] if b.chance(70) or operator == "Div" else [other, v.name]
    b.node(operator, pair)


def power(b: Builder) -> None:
    if v := b.pick(_of_floats):
        base = _positive(b, _clipped(b, v.name, -9, 9, v.dtype), v.dtype)
        exponent = b.constant(np.array(b.one_of([0.5, 2.0, 3.0, -1.0, 1.7, 0.0]), dtype=v.dtype))
        b.node("Pow", [v.name if b.chance(20) else base, exponent])


def compare(b: Builder) -> None:
    if v := b.pick(lambda v: v.dtype != "bool"):
        operator = b.one_of(["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"])
        b.node(operator, [v.name, _broadcast(b, v)])


def logic(b: Builder) -> None:
    if v := b.pick(lambda v: v.dtype == "bool"):
        b.node(b.one_of(["And", "Or", "Xor"]), [v.name, _broadcast(b, v)])


def where(b: Builder) -> None:
    condition = b.pick(lambda v: v.dtype == "bool")
    if condition and (v := b.pick(lambda v: v.dtype != "bool" and _fit(v.shape, condition.shape))):
        b.node("Where", [condition.name, v.name, _broadcast(b, v)])


def cast(b: Builder) -> None:
    if v := b.pick():
        to, name = b.one_of(list(DTYPES)), v.name
        if v.is_float and to.startswith("int"):
            name = _clipped(b, name, -100, 100, v.dtype)
        b.node("Cast", [name], to=DTYPES[to])


def prelu(b: Builder) -> None:
    if v := b.pick(_of_floats):
        shape = tuple(1 if e == DYNAMIC or b.chance(40) else int(e) for e in v.shape)
        b.node("PRelu", [v.name, b.weights(*shape, dtype=v.dtype)])


def matmul(b: Builder) -> None:
    if not (v := b.pick(lambda v: _with_axes(v) and v.shape[-1] != DYNAMIC)):
        return
    inner = int(v.shape[-1])
    fits = [
        w
        for w in b.values
        if w.dtype == v.dtype and w.shape[-2:-1] == (inner,) and _fit(v.shape[:-2], w.shape[:-2])
    ]
    if fits and b.chance(50):
        b.node("MatMul", [v.name, b.one_of(fits).name])
        return
    outer = [b.integer(1, 20)] if b.chance(90) else []
    batch = [int(e) for e in v.shape[:-2] if e != DYNAMIC]
    batch = batch if len(batch) == v.rank - 2 and b.chance(30) else []
    b.node("MatMul", [v.name, b.fresh(v.dtype, (*batch, inner, *outer) if outer else (inner,))])


def gemm(b: Builder) -> None:
    v = b.pick(lambda v: v.is_float and v.rank == 2 and v.has_elements)
    if not v:
        return
    across = b.chance(30)
    inner = v.shape[0] if across else v.shape[1]
    if inner == DYNAMIC:
        return
    outer, turned = b.integer(1, 40), b.chance(40)
    weights = b.weights(*((outer, int(inner)) if turned else (int(inner), outer)), dtype=v.dtype)
    bias = b.one_of([[], [b.weights(outer, dtype=v.dtype)], [b.weights(1, outer, dtype=v.dtype)]])
    more: dict[str, Any] = {"alpha": 0.5, "beta": 2.0} if b.chance(20) else {}
    b.node("Gemm", [v.name, weights, *bias], transA=int(across), transB=int(turned), **more)


def reduce(b: Builder) -> None:
    v = b.pick(lambda v: v.dtype != "bool" and v.has_elements)
    if not v:
        return
    operator = b.one_of(_REDUCTIONS if v.is_float else ["Sum", "Max", "Min"])
    axes = [i if b.chance(70) else i - v.rank for i in range(v.rank) if b.chance(50)]
    more = {"noop_with_empty_axes": 1} if not axes and b.chance(20) else {}
    inputs = [v.name, b.integers(*axes)] if axes else [v.name]
    if operator in ("Max", "Min", "Prod") and v.is_float:
        inputs[0] = _clipped(b, v.name, -3, 3, v.dtype)
    b.node(f"Reduce{operator}", inputs, keepdims=b.integer(0, 1), **more)


def softmax(b: Builder) -> None:
    if v := b.pick(_with_axes):
        b.node(b.one_of(["Softmax", "LogSoftmax"]), [v.name], axis=_axis(b, v))


def arg(b: Builder) -> None:
    if v := b.pick(_with_axes):
        more = {"keepdims": b.integer(0, 1), "select_last_index": b.integer(0, 1)}
        b.node(b.one_of(["ArgMax", "ArgMin"]), [v.name], axis=_axis(b, v), **more)


def top_k(b: Builder) -> None:
    v = b.pick(_with_axes)
    if v and (axis := _static_axis(b, v)) is not None:
        k = b.integers(b.integer(1, int(v.shape[axis])))
        b.node("TopK", [v.name, k], 2, axis=axis, largest=b.integer(0, 1))


def cumulative(b: Builder) -> None:
    if v := b.pick(_with_axes):
        more = {"exclusive": b.integer(0, 1), "reverse": b.integer(0, 1)}
        axis = b.constant(np.array(_axis(b, v), dtype=np.int64))
        b.node("CumSum", [v.name, axis], **more)


def normalize(b: Builder) -> None:
    v = b.pick(lambda v: v.dtype == "float32" and v.rank > 0 and v.has_elements)
    if not v:
        return
    if v.rank >= 2 and v.shape[1] != DYNAMIC and b.chance(50):
        channels = int(v.shape[1])
        scale = [b.weights(channels) for _ in range(3)]
        spread = b.constant(np.abs(b.generator.normal(0, 1, channels)).astype(np.float32) + 0.1)
        # Of one element, ONNX Runtime's is not exact.
        if v.is_static and np.prod(v.extents[2:]) > 1 and b.chance(40):
            b.node("InstanceNormalization", [v.name, *scale[:2]])
        else:
            b.node("BatchNormalization", [v.name, *scale, spread])
        return
    axes = [i for i in range(v.rank) if DYNAMIC not in v.shape[i:]]
    if axes:
        axis = b.one_of(axes)
        shape = [int(e) for e in v.shape[axis:]]
        bias = [b.weights(*shape)] if b.chance(60) else []
        b.node("LayerNormalization", [v.name, b.weights(*shape), *bias], axis=axis)


def recurrent(b: Builder) -> None:
    v = b.pick(lambda v: v.dtype == "float32" and v.rank == 3 and v.has_elements)
    if not v or v.shape[2] == DYNAMIC:
        return
    operator, hidden = b.one_of(["LSTM", "GRU", "RNN"]), b.integer(1, 9)
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[operator] * hidden
    direction = b.one_of(["forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    inputs = [v.name, b.weights(ways, gates, int(v.shape[2])), b.weights(ways, gates, hidden)]
    if b.chance(60):
        inputs.append(b.weights(ways, 2 * gates))
    more = {"linear_before_reset": 1} if operator == "GRU" and b.chance(50) else {}
    outputs = 3 if operator == "LSTM" else 2
    used = b.one_of([{0}, {1}, {0, 1}])
    b.node(operator, inputs, outputs, used=used, hidden_size=hidden, direction=direction, **more)


def shape_of(b: Builder) -> None:
    if v := b.pick():
        b.node(b.one_of(["Shape", "Size"]), [v.name])


def made(b: Builder) -> None:
    """Values that come from constants or from shapes alone."""
    kind = b.integer(1, 4)
    if kind == 1 and (v := b.pick(lambda v: v.rank == 2)):
        b.node("EyeLike", [v.name], k=b.integer(-1, 1), dtype=DTYPES["float32"])
    elif kind == 2 and (v := b.pick(lambda v: v.dtype == "int64" and v.rank < 4)):
        depth, pair = b.constant(np.array(b.integer(1, 5))), b.fresh("float32", (2,))
        b.node("OneHot", [v.name, depth, pair], axis=-1)
    elif kind == 3:
        numbers = b.integer(-3, 3), b.integer(4, 9), b.integer(1, 3)
        dtype = b.one_of(["float32", "int64"])
        b.node("Range", [b.constant(np.array(x, dtype=dtype)) for x in numbers])
    elif kind == 4 and (v := b.pick(lambda v: v.is_static and v.rank > 0)):
        shape = b.integers(*(int(e) for e in v.shape))
        if b.node("ConstantOfShape", [shape]):
            b.node("Add", [b.last().name, b.fresh("float32", (1,))])


def choice(b: Builder) -> None:
    """If, by whether the largest element of something is positive."""
    v, other = b.pick(_of_floats), b.pick(_with_axes)
    if not v or not other or not b.node("ReduceMax", [other.name], keepdims=0):
        return
    if not b.node("Less", [b.constant(np.array(0, other.dtype)), b.last().name]):
        return
    condition, kind = b.last().name, DTYPES[v.dtype]
    branches = {}
    for branch in ("then_branch", "else_branch"):
        name = b.name("b")
        node = helper.make_node(b.one_of(_INSIDE), [v.name], [name])
        result = helper.make_tensor_value_info(name, kind, v.shape)
        branches[branch] = helper.make_graph([node], branch, [], [result])
    b.node("If", [condition], **branches)


def rounds(b: Builder) -> None:
    """A Loop that adds a weight to what it carries, and may collect it."""
    if not (v := b.pick(_of_floats)):
        return
    kind, count = DTYPES[v.dtype], b.integer(0, 4)
    collects = count > 0 and v.rank < 4 and b.chance(50)
    counter, goes_on, carried, still, next_, row = (b.name("l") for _ in range(6))
    nodes = [
        helper.make_node("Identity", [goes_on], [still]),
        helper.make_node("Sub", [carried, b.constant(np.array(0.5, v.dtype))], [row]),
        helper.make_node(b.one_of(_INSIDE), [row], [next_]),
    ]
    inputs = [
        helper.make_tensor_value_info(counter, DTYPES["int64"], []),
        helper.make_tensor_value_info(goes_on, DTYPES["bool"], []),
        helper.make_tensor_value_info(carried, kind, v.shape),
    ]
    outputs = [helper.make_tensor_value_info(still, DTYPES["bool"], [])]
    names = [next_, row] if collects else [next_]
    outputs += [helper.make_tensor_value_info(name, kind, v.shape) for name in names]
    body = helper.make_graph(nodes, "body", inputs, outputs)
    trips = b.constant(np.array(count, np.int64))
    b.node("Loop", [trips, "", v.name], len(names), body=body)


def _movement() -> list[Callable[[Builder], None]]:
    from . import _movement

    return _movement.RECIPES


RECIPES: list[Callable[[Builder], None]] = [
    *[unary] * 5, *[binary] * 5, *[matmul] * 2, *[gemm] * 2, *[reduce] * 2, *[softmax] * 2,
    unary_integer, clip, power, compare, compare, logic, where, where, cast, prelu, arg, top_k,
    cumulative, normalize, normalize, recurrent, recurrent, shape_of, made, choice, rounds,
    *_movement(),
]  # fmt: skip
assert MAXIMUM > 1
