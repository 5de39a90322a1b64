"""What operators refuse: inputs of other shapes or types than they need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from .._builder import ONE, Builder
from .._extent import Extent, Shape, broadcast, shape_of, shape_text
from .._ir import Value
from .._scalars import SCALARS


def refuse_shape(g: Builder, name: str, value: Value, needs: str) -> NoReturn:
    g.fail(f"input {name}: has shape {shape_text(value.shape)}, needs {needs}")


def need_shape(g: Builder, name: str, value: Value | None, *shape: Extent | int) -> None:
    """Of an input that may be left out."""
    if value is not None and value.shape != shape_of(shape):
        refuse_shape(g, name, value, shape_text(shape_of(shape)))


def need_rank(g: Builder, name: str, value: Value, rank: int, *, more: bool = False) -> None:
    """`more`: or a larger one."""
    if value.rank < rank or (value.rank > rank and not more):
        axes = "1 axis" if rank == 1 else f"{rank} axes"
        refuse_shape(g, name, value, axes + (" or more" if more else ""))


def need_one(g: Builder, name: str, value: Value | None) -> None:
    if value is not None and value.size != ONE:
        refuse_shape(g, name, value, "one element")


def need_to_fit(g: Builder, name: str, value: Value | None, shape: Shape) -> None:
    """That it can be broadcast to this shape, and does not enlarge it."""
    if value is None:
        return
    if value.rank > len(shape) or broadcast(value.shape, shape) != shape:
        refuse_shape(g, name, value, f"what can be broadcast to {shape_text(shape)}")


def need_extents(g: Builder, what: str, extents: Iterable[Extent]) -> None:
    """That none is negative."""
    for extent in extents:
        if extent.constant is not None and extent.constant < 0:
            g.fail(f"{what}: {extent} is negative")
        g.require(extent, None)


def need_one_type(g: Builder, *values: Value | None) -> None:
    types = list(dict.fromkeys(value.dtype.name for value in values if value is not None))
    if len(types) > 1:
        g.fail(f"inputs of types {types[0]} and {types[1]}, which must be the same")


def need_type(g: Builder, name: str, value: Value | None, *types: str) -> None:
    if value is not None and value.dtype.name not in types:
        g.fail(f"input {name}: has type {value.dtype}, needs {' or '.join(types)}")


def need_indices(g: Builder, name: str, value: Value) -> None:
    need_type(g, name, value, "int32", "int64")


def need_real(g: Builder, name: str, value: Value) -> None:
    need_type(g, name, value, "float32", "float64")


def need_function(g: Builder, function: str, value: Value) -> None:
    """That a scalar function is defined for elements of this type."""
    scalar, real = SCALARS[function], value.dtype.kind == "f"
    if (scalar.real if real else scalar.integer) is None:
        g.fail(f"is not defined for elements of type {value.dtype}")
