"""C++ of instructions, whose buffers have the names of pointers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ._builder import loops
from ._extent import Extent
from ._fuse import is_vector
from ._ir import (
    Call,
    Expr,
    Gemm,
    Index,
    Instruction,
    Kernel,
    Literal,
    Load,
    Map,
    Sum,
    Value,
    expressions,
    loads,
    with_loads,
)
from ._pieces import for_type
from ._scalars import SCALARS
from ._types import ctype, literal

ONE = Extent.of(1)


class NotForTypeError(Exception):
    """A scalar function that a type does not have."""


@dataclass
class Emitter:
    """Of one instruction. `result`: the name for a struct that has to be before its function."""

    result: str
    needs: set[str]
    struct: str = ""

    def body(self, instruction: Instruction) -> str:
        match instruction:
            case Map():
                return self.map(instruction)
            case Gemm():
                return self.gemm(instruction)
            case Kernel():
                return self.kernel(instruction)
        raise AssertionError(instruction)

    # Expressions.

    def statements(self, expr: Expr, indices: Sequence[str], mode: str) -> tuple[list[str], str]:
        """Statements with the parts of an expression, and its own name.

        mode: "scalar"; "vector": Lanes neighbours along the last axis at once; "either": of type T,
        in a template.
        """
        names: dict[int, str] = {}
        lines = []
        for i, each in enumerate(expressions(expr)):
            kind = {"scalar": ctype(each.dtype), "vector": "Vec", "either": "T"}[mode]
            match each:
                case Sum():
                    names[id(each)] = "Total"
                    continue
                case Literal():
                    text = literal(each.constant, each.dtype)
                    names[id(each)] = text if mode == "scalar" else f"splat<{kind}>({text})"
                    continue
                case Index():
                    text = f"static_cast<{ctype(each.dtype)}>({indices[each.axis]})"
                case Load():
                    text = self.load(each.value, indices, mode)
                case Call():
                    text = self.call(each, [names[id(a)] for a in each.arguments])
            names[id(each)] = f"V{i}"
            lines.append(f"const {kind} V{i} = {text};")
        return lines, names[id(expr)]

    def load(self, value: Value, indices: Sequence[str], mode: str) -> str:
        assert value.buffer
        place = value.at(indices)
        if mode == "scalar":
            return f"{value.buffer}[{place}]"
        kind = "Vec" if mode == "vector" else "T"
        same = not value.shape or value.shape[-1] == ONE or value.strides[-1] == Extent.of(0)
        if same:
            return f"splat<{kind}>({value.buffer}[{place}])"
        return f"read<{kind}>({address(value, indices)})"

    def call(self, call: Call, arguments: list[str]) -> str:
        scalar = SCALARS[call.function]
        kind = call.arguments[0].dtype
        self.needs.update(for_type(name, kind) for name in scalar.needs)
        real = kind.kind == "f"
        template = scalar.real if real else scalar.integer
        if template is None:
            raise NotForTypeError(f"{call.function} of elements of type {kind} is not supported")
        return template.format(*arguments, type=ctype(call.dtype))

    # Instructions.

    def map(self, map_: Map) -> str:
        expr, out = map_.expr, map_.out
        if not any(isinstance(each, Index) for each in expressions(expr)):
            expr, out = collapse(expr, out)
        rank = out.rank
        indices = [f"I{axis}" for axis in range(rank)]
        lines, name = self.statements(expr, indices, "scalar")
        scalar = "\n".join([*lines, f"{out.buffer}[{out.at(indices)}] = {name};"])
        vectors = rank and out.strides[-1] == ONE and has_vectors(out.shape[-1])
        if not vectors or not is_vector(expr):
            return loops(indices, out.shape, scalar)
        self.needs.add("vec")
        lines, name = self.statements(expr, indices, "vector")
        vector = "\n".join([*lines, f"store({address(out, indices)}, {name});"])
        last, extent = indices[-1], out.shape[-1]
        inner = (
            f"const int64_t Whole = {extent} - {extent.factor()} % Lanes;\n"
            f"for (int64_t {last} = 0; {last} < Whole; {last} += Lanes) {{\n{vector}\n}}\n"
        )
        # Lanes is 4 or 8.
        if extent.constant is None or extent.constant % 8:
            inner += f"for (int64_t {last} = Whole; {last} < {extent}; ++{last}) {{\n{scalar}\n}}\n"
        return loops(indices[:-1], out.shape[:-1], inner)

    def gemm(self, gemm: Gemm) -> str:
        self.needs.update(["gemm_rows" if gemm.rows else "gemm"])
        out, left, right, result = rows_together(gemm)
        outer = [f"B{axis}" for axis in range(out.rank - 2)]
        m, n = out.shape[-2:]
        k = left.shape[-1]
        epilogue = self.epilogue(result, outer)
        first = [*outer, "0", "0"]
        place, target = address(left, first), address(out, first)
        if gemm.rows:
            call = (
                f"gemmRows({m}, {n}, {k}, {place}, {left.strides[-2]}, "
                f"{address(right, ['0', '0'])}, nullptr, {target}, {out.strides[-2]}, {epilogue});"
            )
        else:
            call = (
                f"gemm({m}, {n}, {k}, {place}, {left.strides[-2]}, {left.strides[-1]}, "
                f"{address(right, first)}, {right.strides[-2]}, nullptr, "
                f"{target}, {out.strides[-2]}, {epilogue});"
            )
        return loops(outer, out.shape[:-2], call)

    def epilogue(self, result: Expr, outer: Sequence[str]) -> str:
        """What is applied to each sum: a struct before the function, since local ones in C++17 have
        no templates."""
        if isinstance(result, Sum):
            return "NoEpilogue()"
        extra = loads(result)
        buffers = list(dict.fromkeys(value.buffer for value in extra if value.buffer))
        symbols = sorted({s for value in extra for s in _symbols(value)})
        lines, name = self.statements(result, [*outer, "M", "N"], "either")
        fields = [f"const {ctype(b.dtype)} *{b};" for b in buffers]
        fields += [f"int64_t {each};" for each in [*symbols, *outer]]
        used = " ".join(lines)
        unused = "".join(f"(void){i};\n" for i in "MN" if not re.search(rf"\b{i}\b", used))
        body = "\n".join(lines)
        small = "static constexpr bool Small = true;\n" if is_small(result) else ""
        self.struct = (
            f"struct {self.result} {{\n{small}" + "\n".join(fields) + "\n"
            f"template <class T> MEMBER T operator()(T Total, int64_t M, int64_t N) const {{\n"
            f"{unused}{body}\nreturn {name};\n}}\n}};\n"
        )
        given = ", ".join([*map(str, buffers), *symbols, *outer])
        return f"{self.result}{{{given}}}"

    def kernel(self, kernel: Kernel) -> str:
        self.needs.update(kernel.needs)
        return kernel.code


def is_small(expr: Expr) -> bool:
    """Whether it is so little code that a copy per element is better than a loop."""
    calls = [each for each in expressions(expr) if isinstance(each, Call)]
    return len(calls) <= 4 and all(
        set(SCALARS[each.function].needs) <= {"vec", "elements"} for each in calls
    )


def address(value: Value, indices: Sequence[str]) -> str:
    """Of an element."""
    place = value.at(indices)
    return str(value.buffer) if place == "0" else f"{value.buffer} + {place}"


def _symbols(value: Value) -> set[str]:
    return set().union(value.offset.symbols(), *(stride.symbols() for stride in value.strides))


def has_vectors(extent: Extent) -> bool:
    return extent.constant is None or extent.constant >= 4


def collapse(expr: Expr, out: Value) -> tuple[Expr, Value]:
    """The same with as few axes as possible: neighbours become one where all values allow it."""
    values = [out, *loads(expr)]
    groups: list[list[int]] = []
    for axis in range(out.rank):
        if out.shape[axis] == ONE:
            continue
        if groups and all(
            value.strides[groups[-1][-1]] == value.strides[axis] * out.shape[axis]
            for value in values
        ):
            groups[-1].append(axis)
        else:
            groups.append([axis])

    def shrink(value: Value) -> Value:
        shape = []
        for group in groups:
            extent = ONE
            for axis in group:
                extent = extent * value.shape[axis]
            shape.append(extent)
        strides = tuple(value.strides[group[-1]] for group in groups)
        return Value(value.dtype, tuple(shape), value.buffer, strides, value.offset)

    return with_loads(expr, lambda load: Load(shrink(load.value))), shrink(out)


def rows_together(gemm: Gemm) -> tuple[Value, Value, Value, Expr]:
    """Batches that have the same right side become rows of one product, if they lie so."""
    out, left, right, result = gemm.out, gemm.left, gemm.right, gemm.result
    while out.rank > 2 and (gemm.rows or right.strides[-3] == Extent.of(0) or out.shape[-3] == ONE):
        rows = out.shape[-2]
        if any(
            value.strides[-3] != value.strides[-2] * rows and out.shape[-3] != ONE and rows != ONE
            for value in (out, left, *loads(result))
        ):
            break

        def merge(value: Value, rows: Extent = rows) -> Value:
            stride = value.strides[-2] if value.shape[-2] != ONE else value.strides[-3]
            return Value(
                value.dtype,
                (*value.shape[:-3], value.shape[-3] * value.shape[-2], value.shape[-1]),
                value.buffer,
                (*value.strides[:-3], stride, value.strides[-1]),
                value.offset,
            )

        out, left, result = (
            merge(out),
            merge(left),
            with_loads(result, lambda load: Load(merge(load.value))),
        )
        if not gemm.rows:
            right = Value(
                right.dtype,
                (*right.shape[:-3], *right.shape[-2:]),
                right.buffer,
                (*right.strides[:-3], *right.strides[-2:]),
                right.offset,
            )
    return out, left, right, result
