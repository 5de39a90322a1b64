"""Random inputs for a signature, and whether two answers agree."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..spec import TensorSpec
from ._signature import ModelError, described

Array = np.ndarray[Any, Any]
# The upper end is in the range, too; it can be an extent, by name, or so much less: "nodes-1".
Ranges = Mapping[str, tuple[float, float | str]]
Extents = Mapping[str, Sequence[str]]

_WORDS = ("", "main", "loop.body", "entry", "x86_64", "foo bar", "a", "_Z3addii", "öl", "vector")
# What dynamic extents are, in turn.
EXTENTS = (3, 1, 7, 2, 16, 5)
_MAX_ELEMENTS = 1 << 26


def check_ranges(
    ranges: Ranges, inputs: Sequence[TensorSpec], extents: Extents | None = None
) -> None:
    known = {spec.name: spec for spec in inputs}
    names = dict.fromkeys(each for spec in inputs for each in (extents or {}).get(spec.name, ()))
    for name, (low, high) in ranges.items():
        if name not in known:
            there = ", ".join(map(repr, known)) or "none"
            raise ModelError(f"range of {name!r}: there is no such input; there are {there}")
        if known[name].dtype in ("str", "bool"):
            raise ModelError(f"range of {name!r}: {described(known[name])} has none")
        try:
            least = _upper(high, dict.fromkeys(names, min(EXTENTS)))
            most = _upper(high, dict.fromkeys(names, max(EXTENTS)))
        except KeyError:
            there = ", ".join(map(repr, names)) or "none with a name"
            raise ModelError(
                f"range of {name!r}: {high!r} is neither a number nor an extent that varies; "
                f"there are {there}"
            ) from None
        if not low <= least:
            shown = f"{high}, which is {least:g} at times" if isinstance(high, str) else f"{high:g}"
            raise ModelError(f"range of {name!r}: {low:g} is above {shown}")
        top = float(np.finfo(known[name].dtype if _is_float(known[name]) else "float64").max)
        if low < -top or most > top or (_is_float(known[name]) and most - low > top):
            raise ModelError(
                f"range of {name!r}: {low:g} to {most:g} is too wide for {described(known[name])}"
            )


def _upper(high: float | str, sizes: Mapping[str, int]) -> float:
    """What an upper end is where extents have these sizes; KeyError if it is none of them."""
    if not isinstance(high, str):
        return high
    less = re.fullmatch(r"(.+)-([0-9]{1,9})", high)
    # A name may look like that itself.
    if less and high not in sizes:
        return sizes[less[1]] - int(less[2])
    return sizes[high]


def _is_float(spec: TensorSpec) -> bool:
    return spec.dtype.startswith("float")


def samples(
    inputs: Sequence[TensorSpec],
    count: int,
    seed: int = 0,
    ranges: Ranges | None = None,
    *,
    extents: Extents | None = None,
    equal: bool = False,
) -> Iterator[dict[str, Array]]:
    """Random values by name. Dynamic extents differ from sample to sample. Within one they are
    equal, so that models that want the same for several tensors get it, but for those that have
    different names in `extents`; with `equal`, even those.

    Floats are normal, integers 0 to 9 unless `ranges` says otherwise: most models take those.
    """
    generator = np.random.default_rng(seed)
    ranges = ranges or {}
    check_ranges(ranges, inputs, extents)
    ours = set().union(*((extents or {}).get(spec.name, ()) for spec in inputs))
    named = {name: i for i, name in enumerate(sorted(set().union(*(extents or {}).values())), 1)}
    for i in range(count):
        others = EXTENTS[i % len(EXTENTS)]
        sizes = {
            name: others if equal else EXTENTS[(i + named[name]) % len(EXTENTS)] for name in ours
        }
        sample = {}
        for spec in inputs:
            names = iter((extents or {}).get(spec.name, ()))
            shape = tuple(
                sizes.get(next(names, ""), others) if extent < 0 else extent
                for extent in spec.shape
            )
            limits = None
            if spec.name in ranges:
                low, high = ranges[spec.name]
                limits = low, _upper(high, sizes)
            sample[spec.name] = _values(spec, shape, limits, generator)
        yield sample


def checked(
    sample: Mapping[str, Any], inputs: Sequence[TensorSpec], place: str
) -> dict[str, Array]:
    """A sample that somebody else chose, as arrays."""
    result = {}
    for spec in inputs:
        if spec.name not in sample:
            raise ModelError(f"{place}: there is no input {spec.name!r}")
        value = np.asarray(sample[spec.name])
        shape = value.shape
        if len(shape) != len(spec.shape) or any(
            want not in (-1, got) for want, got in zip(spec.shape, shape, strict=True)
        ):
            raise ModelError(
                f"{place}, input {spec.name!r}: has shape {list(shape)}, not {described(spec)}"
            )
        result[spec.name] = value.astype(object if spec.dtype == "str" else spec.dtype)
    return result


def _values(
    spec: TensorSpec,
    shape: tuple[int, ...],
    limits: tuple[float, float] | None,
    generator: np.random.Generator,
) -> Array:
    if math.prod(shape) > _MAX_ELEMENTS:
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
    if spec.dtype == "str" and a.size == b.size == 0:
        return Difference(0.0, "")  # runners give lists, which lose the other extents then
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
