"""What operators are written with: makes values and instructions of the Program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from ..export._signature import ModelError
from ._extent import (
    Extent,
    Shape,
    broadcast,
    constants,
    dense_strides,
    product,
    reshaped_strides,
    shape_of,
    shape_text,
)
from ._ir import (
    Array,
    Buffer,
    Call,
    Expr,
    Instruction,
    Kernel,
    Literal,
    Load,
    Map,
    Program,
    Value,
    whole,
)
from ._names import text_of
from ._types import BOOL, DType, ctype


class Unsupported(ModelError):  # noqa: N818 - what it is
    """What the generator cannot do: the message names the node and the reason."""


ONE = Extent.of(1)


class Builder:
    """`node`: what is being translated, for messages and comments."""

    def __init__(self, maxima: dict[str, int]) -> None:
        self.program = Program(maxima=maxima)
        self.node = ""
        self._stored: dict[int, tuple[Array, Buffer]] = {}
        self._turned: dict[int, tuple[Array, Value]] = {}
        # What has been evaluated, with node and inputs, which keep their identity by being here.
        self.folded: dict[object, tuple[object, list[Value]]] = {}
        self.rounds = 0  # that have been written out
        self._required: set[Extent] = set()
        self._count = 0

    def fail(self, reason: str) -> NoReturn:
        raise Unsupported(f"{self.node}: {_plain(reason)}")

    def message(self, reason: str) -> str:
        """What a Kernel that fails returns: C++."""
        return f'"{text_of(self.node)}: {text_of(reason)}"'

    def require(self, extent: Extent, limit: int | None = 2) -> None:
        """That it is not negative: if that is not known, evaluation fails where it is.

        `limit`: models are refused that need inputs larger than this.
        """
        lowest = extent.minimum(self.program.maxima)
        if lowest >= 0 or extent in self._required:
            return
        self._required.add(extent)
        number = dict(extent.terms).get((), 0)
        text = _plain(f"{extent - number} >= {-number}")
        if extent.constant is not None or (limit is not None and lowest < -limit):
            self.fail(f"{text} is not known before the model runs")
        code = f"if ({extent} < 0)\nreturn {self.message(f'needs {text}')};"
        self.add(Kernel(self.node, "Require", [], [], code, fails=True))

    # Values.

    def temp(self, dtype: DType, shape: Shape, kind: str = "temp") -> Value:
        self._count += 1
        for extent in shape:
            self.require(extent, limit=None)
        return whole(Buffer(f"t{self._count}", kind, dtype, product(shape)), shape)

    def constant(self, array: Array, *, weight: bool = False) -> Value:
        """`weight`: another file of weights may have other numbers in its place."""
        return Value(
            array.dtype,
            shape_of(array.shape),
            constant=array,
            weight=weight and array.dtype.kind == "f",
        )

    def stored(self, value: Value) -> Value:
        """In memory."""
        if value.buffer:
            return value
        if value.constant is not None:
            array = np.ascontiguousarray(value.constant)
            known = self._stored.get(id(value.constant))
            if not known:
                kind = "weight" if array.dtype.kind == "f" else "table"
                buffer = Buffer(f"w{len(self._stored)}", kind, array.dtype, value.size, array)
                known = self._stored[id(value.constant)] = (value.constant, buffer)
            return whole(known[1], value.shape)
        assert value.extents is not None
        kind = ctype(value.dtype)
        lines = [
            f"Y0[{i}] = static_cast<{kind}>({each});" for i, each in enumerate(value.extents.flat)
        ]
        return self.kernel("Extents", [(value.dtype, value.shape)], [], "\n".join(lines))[0]

    def contiguous(self, value: Value) -> Value:
        """In memory, in row-major order without gaps."""
        value = self.stored(value)
        return value if value.dense else self.emit(value.shape, value.dtype, Load(value))

    # Views.

    def reshape(self, value: Value, shape: Shape) -> Value:
        if value.constant is not None and (known := constants(shape)) is not None:
            return self.constant(value.constant.reshape(known), weight=value.weight)
        value = self.stored(value)
        strides = reshaped_strides(value.shape, value.strides, shape)
        if strides is None:
            value, strides = self.contiguous(value), dense_strides(shape)
        return Value(value.dtype, shape, value.buffer, strides, value.offset)

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        value = self.stored(value)
        return self.view(
            value,
            tuple(value.shape[i] for i in order),
            tuple(value.strides[i] for i in order),
        )

    def turned(self, value: Value) -> Value:
        """A matrix transposed; a constant once, however often it is asked for."""
        if value.constant is None:
            return self.transpose(value, (1, 0))
        known = self._turned.get(id(value.constant))
        if not known:
            made = self.constant(np.ascontiguousarray(value.constant.T), weight=value.weight)
            known = self._turned[id(value.constant)] = (value.constant, made)
        return known[1]

    def view(self, value: Value, shape: Shape, strides: Shape, offset: Extent | int = 0) -> Value:
        """Other elements of the same buffer; the offset is relative."""
        assert value.buffer
        for extent in shape:
            self.require(extent, limit=None)
        return Value(value.dtype, shape, value.buffer, strides, value.offset + offset)

    def broadcast(self, value: Value, shape: Shape) -> Value:
        """Seen as if it had this shape, to which it can be broadcast."""
        value = self.stored(value)
        missing = len(shape) - value.rank
        zero = Extent.of(0)
        strides = [zero] * missing
        for have, want, stride in zip(value.shape, shape[missing:], value.strides, strict=True):
            if have != want and have != ONE:
                self.fail(f"{shape_text(value.shape)} does not fit {shape_text(shape)}")
            strides.append(zero if have == ONE else stride)
        return self.view(value, shape, tuple(strides))

    def common_shape(self, *values: Value) -> Shape:
        shape = broadcast(*(value.shape for value in values))
        if shape is None:
            texts = " and ".join(shape_text(value.shape) for value in values)
            self.fail(f"whether {texts} fit each other is not known before the model runs")
        return shape

    # Instructions.

    def add(self, instruction: Instruction) -> None:
        self.program.body.append(instruction)

    def expr(self, value: Value, shape: Shape) -> Expr:
        """An element of the value, at the place of an element of the shape."""
        if value.constant is not None and not value.weight and _uniform(value.constant):
            return Literal(value.constant.reshape(-1)[0], value.dtype)
        return Load(self.broadcast(value, shape))

    def emit(self, shape: Shape, dtype: DType, expr: Expr) -> Value:
        """A new tensor, element by element."""
        out = self.temp(dtype, shape)
        self.add(Map(self.node, out, expr))
        return out

    def map(self, function: str, *values: Value, dtype: DType | None = None) -> Value:
        """A scalar function of _scalars.py, with broadcasting."""
        shape = self.common_shape(*values)
        dtype = dtype or values[0].dtype
        arguments = tuple(self.expr(value, shape) for value in values)
        return self.emit(shape, dtype, Call(function, arguments, dtype))

    def compare(self, function: str, left: Value, right: Value) -> Value:
        return self.map(function, left, right, dtype=BOOL)

    def cast(self, value: Value, dtype: DType) -> Value:
        return value if value.dtype == dtype else self.map("cast", value, dtype=dtype)

    def scalar(self, number: float, like: Value) -> Value:
        """A constant of the same type."""
        return self.constant(np.array(number, dtype=like.dtype))

    def kernel(
        self,
        operator: str,
        outs: Sequence[tuple[DType, Shape]],
        ins: Sequence[Value],
        code: str,
        *,
        needs: Sequence[str] = (),
        fails: bool = False,
        scratch: Sequence[tuple[DType, Shape]] = (),
    ) -> list[Value]:
        """C++ statements: see Kernel. If the text has strides of inputs, they are stored before."""
        made = [self.temp(dtype, shape) for dtype, shape in outs]
        memory = [self.temp(dtype, shape) for dtype, shape in scratch]
        self.add(
            Kernel(
                self.node,
                operator,
                made,
                [self.stored(value) for value in ins],
                code,
                tuple(needs),
                fails,
                memory,
            )
        )
        return made


def _plain(text: str) -> str:
    """Symbols as users know them."""
    return re.sub(r"\bN_", "", text)


def _uniform(array: Array) -> bool:
    """Whether all elements are the same, to the bit."""
    if array.size <= 1:
        return array.size == 1
    bits = np.ascontiguousarray(array).reshape(-1).view(f"V{array.dtype.itemsize}")
    return bool((bits == bits[0]).all())


def loop(index: str, extent: Extent, body: str) -> str:
    """A loop around statements; none if there is one round."""
    if extent.constant == 1:
        return f"{{\nconst int64_t {index} = 0;\n(void){index};\n{body}\n}}"
    return f"for (int64_t {index} = 0; {index} < {extent}; ++{index}) {{\n{body}\n}}"


def loops(indices: Sequence[str], shape: Sequence[Extent], body: str) -> str:
    """Loops around statements, the first index outermost."""
    for index, extent in reversed(list(zip(indices, shape, strict=True))):
        body = loop(index, extent, body)
    return body
