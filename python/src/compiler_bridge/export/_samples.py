"""Random inputs for a signature, and whether two answers agree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..spec import TensorSpec
from ._signature import ModelError, described

Array = np.ndarray[Any, Any]
Ranges = Mapping[str, tuple[float, float]]

_WORDS = ("", "main", "loop.body", "entry", "x86_64", "foo bar", "a", "_Z3addii", "öl", "vector")
# What dynamic extents are, in turn.
_EXTENTS = (3, 1, 7, 2, 16, 5)
_MAX_EXTENTS = 1 << 22


def check_ranges(ranges: Ranges, inputs: Sequence[TensorSpec]) -> None:
    known = {spec.name: spec for spec in inputs}
    for name, (low, high) in ranges.items():
        if name not in known:
            there = ", ".join(map(repr, known)) or "none"
            raise ModelError(f"range of {name!r}: there is no such input; there are {there}")
        if known[name].dtype in ("str", "bool"):
            raise ModelError(f"range of {name!r}: {described(known[name])} has none")
        if not low <= high:
            raise ModelError(f"range of {name!r}: {low:g} is above {high:g}")


def samples(
    inputs: Sequence[TensorSpec],
    count: int,
    seed: int = 0,
    ranges: Ranges | None = None,
    sizes: Sequence[int] = _EXTENTS,
) -> Iterator[dict[str, Array]]:
    """Random values by name. All dynamic extents of one sample are equal, so that models that
    want the same for several tensors get it; they differ from sample to sample.

    Floats are normal, integers 0 to 9 unless `ranges` says otherwise: most models take those.
    """
    generator = np.random.default_rng(seed)
    ranges = ranges or {}
    check_ranges(ranges, inputs)
    for i in range(count):
        size = sizes[i % len(sizes)]
        yield {spec.name: _values(spec, size, ranges.get(spec.name), generator) for spec in inputs}


def _values(
    spec: TensorSpec, size: int, limits: tuple[float, float] | None, generator: np.random.Generator
) -> Array:
    shape = tuple(size if extent < 0 else extent for extent in spec.shape)
    if math.prod(shape) > _MAX_EXTENTS * 16:
        raise ModelError(f"input {spec.name!r}: {described(spec)} is too large to be tried")
    if spec.dtype == "str":
        words = np.empty(shape, dtype=object)
        words[...] = np.array(_WORDS, dtype=object)[generator.integers(0, len(_WORDS), shape)]
        return words
    if spec.dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if spec.dtype.startswith("float"):
        low, high = limits or (0.0, 0.0)
        floats = generator.uniform(low, high, shape) if limits else generator.normal(size=shape)
        return np.asarray(floats, dtype=spec.dtype)
    info = np.iinfo(spec.dtype)
    low, high = limits or (0, 9)
    first, last = max(math.ceil(low), info.min), min(math.floor(high), info.max)
    if first > last:
        raise ModelError(f"range of {spec.name!r}: no {spec.raw()[1]} is in it")
    return np.asarray(
        generator.integers(first, last, shape, dtype=spec.dtype, endpoint=True), dtype=spec.dtype
    )


TOLERANCE_RULE = "|a - b| <= tolerance * max(1, |b|); all but floats exactly"


@dataclass(frozen=True)
class Difference:
    """Where two answers are farthest apart."""

    amount: float
    text: str


def compare(spec: TensorSpec, got: Any, wanted: Any, tolerance: float) -> Difference:
    """How far an output is from what it should be; `text` is empty if it is near enough."""
    a, b = np.asarray(got), np.asarray(wanted)
    if spec.dtype == "str":
        a, b = a.astype(object), b.astype(object)
    if a.shape != b.shape:
        return Difference(math.inf, f"has shape {list(a.shape)}, not {list(b.shape)}")
    if a.size == 0:
        return Difference(0.0, "")
    if not spec.dtype.startswith("float"):
        off = np.asarray(a != b)
        amount = math.inf
    else:
        if a.dtype != b.dtype:
            return Difference(math.inf, f"is {a.dtype}, not {b.dtype}")
        with np.errstate(invalid="ignore"):
            error = np.abs(a.astype(np.float64) - b)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            error = np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf))
            error = error / np.where(np.isfinite(b), np.maximum(1.0, np.abs(b)), 1.0)
        off = np.asarray(error > tolerance)
        amount = float(error.max())
    if not off.any():
        return Difference(amount if spec.dtype.startswith("float") else 0.0, "")
    flat = int(np.argmax(error)) if spec.dtype.startswith("float") else int(np.argmax(off))
    index = np.unravel_index(flat, a.shape)
    where = f"element {[int(i) for i in index]}" if index else "its value"
    by = f", off by {amount:.3g}" if spec.dtype.startswith("float") else ""
    return Difference(amount, f"{where} is {_shown(a[index])}, not {_shown(b[index])}{by}")


def _shown(value: Any) -> str:
    return repr(value.item() if hasattr(value, "item") else value)
