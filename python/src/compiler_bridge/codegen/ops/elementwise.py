"""Operators that work element by element, with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from .._builder import Builder
from .._ir import Literal, Value
from .._registry import Node, operator
from .._types import BOOL, DOUBLE, FLOAT
from ._checks import need_function, need_one_type, need_real, need_type

_UNARY = {
    "Abs": "abs",
    "BitwiseNot": "bit_not",
    "Ceil": "ceil",
    "Cos": "cos",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "Log": "log",
    "Neg": "neg",
    "Not": "not",
    "Reciprocal": "reciprocal",
    "Relu": "relu",
    "Round": "round",
    "Sigmoid": "sigmoid",
    "Sign": "sign",
    "Sin": "sin",
    "Softplus": "softplus",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}
_BINARY = {
    "Add": "add",
    "And": "and",
    "BitwiseAnd": "bit_and",
    "BitwiseOr": "bit_or",
    "BitwiseXor": "bit_xor",
    "Div": "div",
    "Mul": "mul",
    "Or": "or",
    "Sub": "sub",
    "Xor": "xor",
}
_LOGICAL = ("And", "Or", "Xor")
_COMPARISONS = {
    "Equal": "eq",
    "Greater": "gt",
    "GreaterOrEqual": "ge",
    "Less": "lt",
    "LessOrEqual": "le",
}


@operator(*_UNARY)
def _unary(g: Builder, node: Node) -> Value:
    if node.operator == "Not":
        need_type(g, "X", node[0], "bool")
    need_function(g, _UNARY[node.operator], node[0])
    return g.map(_UNARY[node.operator], node[0])


@operator(*_BINARY)
def _binary(g: Builder, node: Node) -> Value:
    if node.attribute("broadcast"):
        g.fail("broadcasting by attributes, as before opset 7, is not supported")
    need_one_type(g, node[0], node[1])
    if node.operator in _LOGICAL:
        need_type(g, "A", node[0], "bool")
    need_function(g, _BINARY[node.operator], node[0])
    return g.map(_BINARY[node.operator], node[0], node[1])


@operator(*_COMPARISONS)
def _comparison(g: Builder, node: Node) -> Value:
    need_one_type(g, node[0], node[1])
    return g.compare(_COMPARISONS[node.operator], node[0], node[1])


def _alike(g: Builder, node: Node) -> Sequence[Value]:
    """All inputs, of one type."""
    values = [node[i] for i in range(len(node.inputs))]
    need_one_type(g, *values)
    return values


@operator("Min", "Max")
def _extremum(g: Builder, node: Node) -> Value:
    function, values = node.operator.lower(), _alike(g, node)
    return reduce(lambda left, right: g.map(function, left, right), values)


@operator("Sum", "Mean")
def _sum(g: Builder, node: Node) -> Value:
    values = _alike(g, node)
    total = reduce(lambda left, right: g.map("add", left, right), values)
    if node.operator == "Sum":
        return total
    return g.map("div", total, g.scalar(len(values), total))


@operator("Mod")
def _mod(g: Builder, node: Node) -> Value:
    need_one_type(g, node[0], node[1])
    if node.attribute("fmod", 0):
        return g.map("fmod", node[0], node[1])
    if node[0].dtype.kind == "f":
        g.fail(f"elements of type {node[0].dtype} are supported with fmod=1 only")
    return g.map("mod", node[0], node[1])


@operator("Pow")
def _pow(g: Builder, node: Node) -> Value:
    base, exponent = node[0], node[1]
    if base.dtype.kind == "f" and exponent.constant is not None and exponent.constant.size == 1:
        # The exact cases that models use; everything else by logarithms.
        known = float(exponent.constant.reshape(-1)[0])
        if known == 2.0 and exponent.rank <= base.rank:
            return g.map("mul", base, base)
        if known == 1.0 and exponent.rank <= base.rank:
            return base
    if base.dtype.kind != "f" and exponent.dtype.kind != "f":
        return g.map("pow", base, g.cast(exponent, base.dtype))
    wide = DOUBLE if base.dtype.kind != "f" or base.dtype == DOUBLE else FLOAT
    return g.cast(g.map("pow", g.cast(base, wide), g.cast(exponent, wide)), base.dtype)


@operator("Where")
def _where(g: Builder, node: Node) -> Value:
    need_type(g, "condition", node[0], "bool")
    need_one_type(g, node[1], node[2])
    return g.map("where", node[0], node[1], node[2], dtype=node[1].dtype)


@operator("Cast", "CastLike")
def _cast(g: Builder, node: Node) -> Value:
    if node.operator == "CastLike":
        return g.cast(node[0], node[1].dtype)
    return g.cast(node[0], node.element_type("to"))


@operator("Identity")
def _identity(g: Builder, node: Node) -> Value:
    return node[0]


@operator("Dropout")
def _dropout(g: Builder, node: Node) -> Value | list[Value]:
    value, training = node[0], node.given(2)
    if training is not None and (training.constant is None or training.constant.any()):
        g.fail("training_mode must be false, and known when compiled")
    if not node.wants(1):
        return value
    kind = BOOL if node.opset >= 10 else value.dtype
    return [value, g.emit(value.shape, kind, Literal(1, kind))]


@operator("IsNaN")
def _is_nan(g: Builder, node: Node) -> Value:
    return g.map("is_nan", node[0], dtype=BOOL)


@operator("Clip")
def _clip(g: Builder, node: Node) -> Value:
    value = node[0]
    if node.opset < 11:
        low, high = (
            g.scalar(node.attributes[name], value) if name in node.attributes else None
            for name in ("min", "max")
        )
    else:
        low, high = node.given(1), node.given(2)
        need_one_type(g, value, low, high)
    if low is not None:
        value = g.map("max", value, low)
    return g.map("min", value, high) if high is not None else value


# Activations. Written so that vectors of floats need no comparison.


def _parts(g: Builder, value: Value) -> tuple[Value, Value]:
    """What is above 0, and what is below."""
    zero = g.scalar(0, value)
    return g.map("max", value, zero), g.map("min", value, zero)


@operator("LeakyRelu")
def _leaky_relu(g: Builder, node: Node) -> Value:
    need_real(g, "X", node[0])
    above, below = _parts(g, node[0])
    slope = g.scalar(node.attribute("alpha", 0.01), below)
    return g.map("add", above, g.map("mul", below, slope))


@operator("PRelu")
def _prelu(g: Builder, node: Node) -> Value:
    value, slope = node[0], node[1]
    need_one_type(g, value, slope)
    if value.dtype.kind != "f":
        scaled = g.map("mul", value, slope)
        return g.map(
            "where", g.compare("lt", value, g.scalar(0, value)), scaled, value, dtype=value.dtype
        )
    above, below = _parts(g, value)
    return g.map("add", above, g.map("mul", below, slope))


def _exponential(g: Builder, value: Value, alpha: float, gamma: float) -> Value:
    need_real(g, "X", value)
    above, below = _parts(g, value)
    curve = g.map("sub", g.map("exp", below), g.scalar(1, value))
    both = g.map("add", above, g.map("mul", curve, g.scalar(alpha, value)))
    return both if gamma == 1 else g.map("mul", both, g.scalar(gamma, value))


@operator("Elu")
def _elu(g: Builder, node: Node) -> Value:
    return _exponential(g, node[0], node.attribute("alpha", 1.0), 1)


@operator("Selu")
def _selu(g: Builder, node: Node) -> Value:
    alpha = node.attribute("alpha", 1.67326319217681884765625)
    return _exponential(g, node[0], alpha, node.attribute("gamma", 1.05070102214813232421875))


@operator("Celu")
def _celu(g: Builder, node: Node) -> Value:
    alpha = node.attribute("alpha", 1.0)
    need_real(g, "X", node[0])
    above, below = _parts(g, node[0])
    curve = g.map("exp", g.map("div", below, g.scalar(alpha, below)))
    curve = g.map("mul", g.map("sub", curve, g.scalar(1, below)), g.scalar(alpha, below))
    return g.map("add", above, curve)


@operator("ThresholdedRelu")
def _thresholded_relu(g: Builder, node: Node) -> Value:
    value = node[0]
    need_real(g, "X", value)
    above = g.compare("gt", value, g.scalar(node.attribute("alpha", 1.0), value))
    return g.map("where", above, value, g.scalar(0, value), dtype=value.dtype)


def _hard_sigmoid_of(g: Builder, value: Value, alpha: float, beta: float) -> Value:
    need_real(g, "X", value)
    line = g.map("add", g.map("mul", value, g.scalar(alpha, value)), g.scalar(beta, value))
    return g.map("max", g.map("min", line, g.scalar(1, value)), g.scalar(0, value))


@operator("HardSigmoid")
def _hard_sigmoid(g: Builder, node: Node) -> Value:
    return _hard_sigmoid_of(g, node[0], node.attribute("alpha", 0.2), node.attribute("beta", 0.5))


@operator("HardSwish")
def _hard_swish(g: Builder, node: Node) -> Value:
    return g.map("mul", node[0], _hard_sigmoid_of(g, node[0], 1 / 6, 0.5))


@operator("Gelu")
def _gelu(g: Builder, node: Node) -> Value:
    need_real(g, "X", node[0])
    return g.map("gelu_tanh" if node.attribute("approximate") == "tanh" else "gelu", node[0])


@operator("Softsign")
def _softsign(g: Builder, node: Node) -> Value:
    value = node[0]
    need_real(g, "input", value)
    return g.map("div", value, g.map("add", g.map("abs", value), g.scalar(1, value)))
