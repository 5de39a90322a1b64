"""The generator's own small language: buffers, views of them, and what is done with them.

A Program is a list of instructions over buffers. A Value is a strided view, so that transposing,
slicing, broadcasting and reshaping cost nothing. Three kinds of instructions:

* Map: every element of the output by an expression over elements of inputs;
* Gemm: products of matrices, with an expression that is applied to each result;
* Kernel: C++ text, for everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._extent import Extent, Shape, constants, dense_strides, product, shape_text
from ._types import FLOAT, DType, ctype

Array = np.ndarray[Any, Any]


@dataclass(eq=False)
class Buffer:
    """Memory: of an input, an output, weights, or an intermediate result ("temp")."""

    name: str
    kind: str
    dtype: DType
    size: Extent
    data: Array | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor: elements of a buffer, or a constant that has none yet.

    `extents`: what an integer tensor holds, where that is known as extents of the inputs.
    `weight`: a constant that fine-tuning may change.
    """

    dtype: DType
    shape: Shape
    buffer: Buffer | None = None
    strides: Shape = ()
    offset: Extent = field(default_factory=lambda: Extent.of(0))
    constant: Array | None = None
    extents: Array | None = None
    weight: bool = False

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Extent:
        return product(self.shape)

    @property
    def dense(self) -> bool:
        """In row-major order without gaps; where it begins does not matter."""
        wanted = dense_strides(self.shape)
        one = Extent.of(1)
        return all(
            stride == dense
            for extent, stride, dense in zip(self.shape, self.strides, wanted, strict=True)
            if extent != one
        )

    @property
    def whole(self) -> bool:
        """All of its buffer, in order."""
        return (
            self.buffer is not None
            and self.dense
            and self.offset == Extent.of(0)
            and self.size == self.buffer.size
        )

    def at(self, indices: Sequence[str]) -> str:
        """The place of an element, in C++: relative to the buffer."""
        parts = [] if self.offset.constant == 0 else [self.offset.factor()]
        for index, stride, extent in zip(indices, self.strides, self.shape, strict=True):
            if extent.constant == 1 or stride.constant == 0 or index == "0":
                continue
            place = index if index.isidentifier() or index.isdigit() else f"({index})"
            parts.append(place if stride.constant == 1 else f"{place} * {stride.factor()}")
        return " + ".join(parts) or "0"

    def __str__(self) -> str:
        text = f"{ctype(self.dtype)}{shape_text(self.shape)}"
        if self.buffer is None:
            return f"constant {text}"
        if self.whole:
            return f"{self.buffer} {text}"
        return f"{self.buffer}+{self.offset} {text} by {shape_text(self.strides)}"


def whole(buffer: Buffer, shape: Shape) -> Value:
    return Value(buffer.dtype, shape, buffer, dense_strides(shape))


# Expressions over the elements of one place in the output.


@dataclass(frozen=True, eq=False)
class Load:
    """An element of a value whose shape has been broadcast to that of the output."""

    value: Value

    @property
    def dtype(self) -> DType:
        return self.value.dtype


@dataclass(frozen=True, eq=False)
class Literal:
    constant: Any
    dtype: DType


@dataclass(frozen=True, eq=False)
class Index:
    """The place along an axis."""

    axis: int
    dtype: DType


@dataclass(frozen=True, eq=False)
class Call:
    """A scalar function of _scalars.py."""

    function: str
    arguments: tuple[Expr, ...]
    dtype: DType


@dataclass(frozen=True, eq=False)
class Sum:
    """What a Gemm has summed up: only in its `result`."""

    dtype: DType = FLOAT


Expr = Load | Literal | Index | Call | Sum


def expressions(root: Expr) -> Iterator[Expr]:
    """All parts, arguments first; a part that is shared comes once."""
    seen: set[int] = set()

    def visit(expr: Expr) -> Iterator[Expr]:
        if id(expr) in seen:
            return
        seen.add(id(expr))
        if isinstance(expr, Call):
            for argument in expr.arguments:
                yield from visit(argument)
        yield expr

    return visit(root)


def loads(root: Expr) -> list[Value]:
    return [each.value for each in expressions(root) if isinstance(each, Load)]


def with_loads(root: Expr, change: Callable[[Load], Expr]) -> Expr:
    """The same expression with something else for each load; what is shared stays so."""
    done: dict[int, Expr] = {}

    def visit(each: Expr) -> Expr:
        if id(each) not in done:
            if isinstance(each, Load):
                done[id(each)] = change(each)
            elif isinstance(each, Call):
                arguments = tuple(visit(argument) for argument in each.arguments)
                done[id(each)] = Call(each.function, arguments, each.dtype)
            else:
                done[id(each)] = each
        return done[id(each)]

    return visit(root)


_SHOWN = 60  # parts; what is shared is shown as often as it is used


def expr_text(expr: Expr) -> str:
    count = sum(1 for _ in expressions(expr))
    return f"an expression of {count} parts" if count > _SHOWN else _expr_text(expr, [0])


def _expr_text(expr: Expr, shown: list[int]) -> str:
    shown[0] += 1
    if shown[0] > 4 * _SHOWN:
        return "..."
    match expr:
        case Load():
            return str(expr.value.buffer)
        case Literal():
            return str(expr.constant)
        case Index():
            return f"index{expr.axis}"
        case Sum():
            return "sum"
        case Call():
            return (
                f"{expr.function}({', '.join(_expr_text(each, shown) for each in expr.arguments)})"
            )


@dataclass(eq=False)
class Instruction:
    """`node`: what it comes from, for people."""

    node: str

    def reads(self) -> list[Value]:
        raise NotImplementedError

    def writes(self) -> list[Value]:
        raise NotImplementedError


@dataclass(eq=False)
class Map(Instruction):
    out: Value
    expr: Expr

    def reads(self) -> list[Value]:
        return loads(self.expr)

    def writes(self) -> list[Value]:
        return [self.out]

    def __str__(self) -> str:
        return f"{self.out} = map {expr_text(self.expr)}"


@dataclass(eq=False)
class Gemm(Instruction):
    """out[.., m, n] = result(sum over k of left[.., m, k] * right[.., k, n]); floats.

    The axes before the last two are loops around it. `rows`: right is given as [n, k].
    """

    out: Value
    left: Value
    right: Value
    result: Expr
    rows: bool = False

    def reads(self) -> list[Value]:
        return [self.left, self.right, *loads(self.result)]

    def writes(self) -> list[Value]:
        return [self.out]

    def __str__(self) -> str:
        kind = "gemm_rows" if self.rows else "gemm"
        text = f"{self.out} = {kind} {self.left}, {self.right}"
        return text if isinstance(self.result, Sum) else f"{text}: {expr_text(self.result)}"


@dataclass(eq=False)
class Kernel(Instruction):
    """C++ statements. They name inputs A0, A1, ..., outputs Y0, Y1, ... (pointers to the first
    element of the value's buffer), and extents; `fails`: they may return a message. `needs`: pieces
    of kernels/. `scratch`: floats of memory, which they find at S0, S1, ..."""

    operator: str
    outs: list[Value]
    ins: list[Value]
    code: str
    needs: tuple[str, ...] = ()
    fails: bool = False
    scratch: list[Value] = field(default_factory=list)

    def reads(self) -> list[Value]:
        return self.ins

    def writes(self) -> list[Value]:
        return [*self.outs, *self.scratch]

    def __str__(self) -> str:
        outs = ", ".join(map(str, self.outs))
        return f"{outs} = {self.operator} {', '.join(map(str, self.ins))}"


@dataclass
class Program:
    """What is computed; inputs and outputs in the model's order."""

    inputs: list[tuple[str, Value]] = field(default_factory=list)
    outputs: list[tuple[str, Value]] = field(default_factory=list)
    body: list[Instruction] = field(default_factory=list)
    maxima: dict[str, int] = field(default_factory=dict)
    symbols: dict[str, str] = field(default_factory=dict)  # identifiers -> the model's names

    def buffers(self) -> list[Buffer]:
        """All that is used, in the order of first use."""
        seen: dict[Buffer, None] = {}
        for _, value in [*self.inputs, *self.outputs]:
            if value.buffer:
                seen[value.buffer] = None
        for instruction in self.body:
            for value in [*instruction.reads(), *instruction.writes()]:
                if value.buffer:
                    seen[value.buffer] = None
        return list(seen)

    def __str__(self) -> str:
        lines = [f"input {name}: {value}" for name, value in self.inputs]
        lines += [f"{each}    # {each.node}" for each in self.body]
        lines += [f"output {name}: {value}" for name, value in self.outputs]
        return "\n".join(lines) + "\n"


def known_shape(value: Value) -> tuple[int, ...] | None:
    return constants(value.shape)
