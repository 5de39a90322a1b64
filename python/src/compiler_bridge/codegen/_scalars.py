"""Scalar functions of expressions, and what they are in C++.

`real` is for floats and doubles, and for vectors of floats unless `scalar_only`; `integer` for
integers and bools. Which applies, the first argument's type decides.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scalar:
    real: str | None = None
    integer: str | None = None
    scalar_only: bool = False
    needs: tuple[str, ...] = ()


def _math(function: str, piece: str | None = None) -> Scalar:
    return Scalar(f"{function}Of({{0}})", needs=(piece or function,))


def _compare(function: str) -> Scalar:
    """A function, since compilers warn of `A < A`."""
    text = f"{function}({{0}}, {{1}})"
    return Scalar(text, text, scalar_only=True, needs=("elements",))


def _integer(function: str, arguments: int = 2) -> str:
    names = ", ".join(f"{{{i}}}" for i in range(arguments))
    return f"{function}({names})"


_INTS = ("elements",)

SCALARS: dict[str, Scalar] = {
    "add": Scalar("({0} + {1})", _integer("intAdd"), needs=_INTS),
    "sub": Scalar("({0} - {1})", _integer("intSub"), needs=_INTS),
    "mul": Scalar("({0} * {1})", _integer("intMul"), needs=_INTS),
    "div": Scalar("({0} / {1})", _integer("intDiv"), needs=_INTS),
    "pow": Scalar("powOf({0}, {1})", _integer("intPow"), needs=("pow", "elements")),
    "mod": Scalar(None, _integer("intMod"), needs=_INTS),
    "fmod": Scalar(_integer("fmodOf"), _integer("intRemainder"), scalar_only=True, needs=_INTS),
    "neg": Scalar("(-{0})", _integer("intNeg", 1), needs=_INTS),
    "abs": Scalar("absOf({0})", _integer("intAbs", 1), needs=("vec", "elements")),
    "sign": Scalar("signOf({0})", _integer("intSign", 1), needs=("vec", "elements")),
    "min": Scalar("minOf({0}, {1})", _integer("intMin"), needs=("vec", "elements")),
    "max": Scalar("maxOf({0}, {1})", _integer("intMax"), needs=("vec", "elements")),
    "sqrt": _math("sqrt", "vec"),
    "exp": _math("exp"),
    "log": _math("log"),
    "floor": _math("floor", "round"),
    "ceil": _math("ceil", "round"),
    "round": _math("round"),
    "reciprocal": _math("reciprocal", "vec"),
    "erf": _math("erf"),
    "tanh": _math("tanh"),
    "sigmoid": _math("sigmoid"),
    "relu": Scalar("reluOf({0})", "intMax({0}, 0)", needs=("vec", "elements")),
    "softplus": _math("softplus"),
    "sin": Scalar("sinOf({0})", scalar_only=True, needs=("trig",)),
    "cos": Scalar("cosOf({0})", scalar_only=True, needs=("trig",)),
    "tan": Scalar("tanOf({0})", scalar_only=True, needs=("trig",)),
    "gelu": _math("gelu"),
    "gelu_tanh": _math("geluTanh", "gelu"),
    "eq": _compare("isEqual"),
    "lt": _compare("isLess"),
    "le": _compare("isLessOrEqual"),
    "gt": _compare("isGreater"),
    "ge": _compare("isGreaterOrEqual"),
    "and": _compare("isBoth"),
    "or": _compare("isEither"),
    "xor": _compare("isDifferent"),
    "not": Scalar(None, "(!{0})"),
    "bit_and": Scalar(None, _integer("intAnd"), needs=_INTS),
    "bit_or": Scalar(None, _integer("intOr"), needs=_INTS),
    "bit_xor": Scalar(None, _integer("intXor"), needs=_INTS),
    "bit_not": Scalar(None, _integer("intNot", 1), needs=_INTS),
    "is_nan": Scalar("({0} != {0})", "false", scalar_only=True),
    # The first argument is a bool.
    "where": Scalar(None, "({0} ? {1} : {2})"),
    # To the type of the call.
    "cast": Scalar("castTo<{type}>({0})", "castTo<{type}>({0})", scalar_only=True, needs=_INTS),
}
