"""Passes over a Program: fewer instructions, fewer buffers."""

from __future__ import annotations

from collections import Counter

from ._extent import Extent
from ._ir import (
    Buffer,
    Call,
    Expr,
    Gemm,
    Instruction,
    Literal,
    Load,
    Map,
    Program,
    Sum,
    Value,
    expressions,
    loads,
    with_loads,
)
from ._scalars import SCALARS
from ._types import FLOAT

_LARGEST = 128  # parts of an expression


def write_outputs_in_place(program: Program) -> None:
    """What is only copied to an output is computed there."""
    body: list[Instruction] = []
    renamed: dict[Buffer, Value] = {}
    for instruction in program.body:
        if isinstance(instruction, Map) and isinstance(instruction.expr, Load):
            source, target = instruction.expr.value, instruction.out.buffer
            if (
                target
                and target.kind == "output"
                and source.whole
                and source.buffer
                and source.buffer.kind == "temp"
                and source.dtype == target.dtype
            ):
                source.buffer.kind, source.buffer.name = "output", target.name
                renamed[target] = source
                continue
        body.append(instruction)
    program.body = body
    program.outputs = [
        (name, renamed.get(value.buffer, value) if value.buffer else value)
        for name, value in program.outputs
    ]


def remove_unused(program: Program) -> None:
    used = {value.buffer for _, value in program.outputs}
    body: list[Instruction] = []
    for instruction in reversed(program.body):
        outs = instruction.writes()
        # Those without outputs check something.
        if not outs or any(v.buffer in used and v.size.constant != 0 for v in outs):
            body.append(instruction)
            used.update(value.buffer for value in instruction.reads())
    program.body = body[::-1]


def fuse(program: Program) -> None:
    """Puts what one instruction alone reads into that instruction."""
    readers: Counter[Buffer] = Counter()
    for instruction in program.body:
        readers.update({value.buffer for value in instruction.reads() if value.buffer})
    makers: dict[Buffer, Instruction] = {}
    body: dict[int, Instruction] = {}
    for place, instruction in enumerate(program.body):
        body[place] = instruction
        if isinstance(instruction, Map | Gemm):
            body[place] = _absorb(instruction, readers, makers, body)
        for value in body[place].writes():
            if value.buffer:
                makers[value.buffer] = body[place]
    program.body = [body[place] for place in sorted(body)]


def _absorb(
    into: Map | Gemm,
    readers: Counter[Buffer],
    makers: dict[Buffer, Instruction],
    body: dict[int, Instruction],
) -> Map | Gemm:
    places = {id(instruction): place for place, instruction in body.items()}
    changed = True
    while changed:
        changed = False
        expr = into.expr if isinstance(into, Map) else into.result
        # The latest product first: only one can take the rest in.
        candidates = {value.buffer for value in loads(expr) if value.buffer in makers}
        for buffer in sorted(candidates, key=lambda b: -places.get(id(makers[b]), 0)):
            maker = makers[buffer]
            if buffer.kind != "temp" or readers[buffer] != 1:
                continue
            if not all(
                _same_place(value, into.out) for value in loads(expr) if value.buffer is buffer
            ):
                continue
            if isinstance(into, Gemm) and buffer in (into.left.buffer, into.right.buffer):
                continue
            fused = _fused(into, expr, buffer, maker)
            if fused is None or _parts(fused) > _LARGEST:
                continue
            # What the maker reads is read here instead; twice, if it was read here before.
            before = {value.buffer for value in into.reads()}
            for read in {value.buffer for value in maker.reads()} & before:
                if read:
                    readers[read] -= 1
            del body[places.pop(id(maker))]
            place = places.pop(id(into))
            body[place], places[id(fused)] = fused, place
            into, changed = fused, True
            break
    return into


def _parts(of: Map | Gemm) -> int:
    return sum(1 for _ in expressions(of.expr if isinstance(of, Map) else of.result))


def _same_place(value: Value, out: Value) -> bool:
    return value.shape == out.shape and value.whole


def _fused(into: Map | Gemm, expr: Expr, buffer: Buffer, maker: Instruction) -> Map | Gemm | None:
    if isinstance(maker, Map):
        if maker.out.shape != into.out.shape:
            return None
        merged = _replace(expr, buffer, maker.expr)
        if isinstance(into, Map):
            return Map(into.node, into.out, merged)
        if not is_vector(merged):
            return None
        return Gemm(into.node, into.out, into.left, into.right, merged, into.rows)
    if isinstance(maker, Gemm) and isinstance(into, Map):
        merged = _replace(expr, buffer, maker.result)
        if maker.out.shape != into.out.shape or not is_vector(merged):
            return None
        return Gemm(maker.node, into.out, maker.left, maker.right, merged, maker.rows)
    return None


def _replace(expr: Expr, buffer: Buffer, by: Expr) -> Expr:
    return with_loads(expr, lambda load: by if load.value.buffer is buffer else load)


def is_vector(expr: Expr) -> bool:
    """Whether it can be computed for several neighbours at once."""
    for each in expressions(expr):
        if each.dtype != FLOAT:
            return False
        if isinstance(each, Call):
            if SCALARS[each.function].scalar_only or SCALARS[each.function].real is None:
                return False
        elif isinstance(each, Load):
            if not vector_load(each.value):
                return False
        elif not isinstance(each, Literal | Sum):
            return False
    return True


def vector_load(value: Value) -> bool:
    """Whether neighbours along the last axis lie side by side, or are the same."""
    if not value.shape:
        return True
    return value.strides[-1] in (Extent.of(0), Extent.of(1)) or value.shape[-1] == Extent.of(1)
