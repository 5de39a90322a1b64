"""Extents of tensors: polynomials over the extents that vary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Monomial = tuple[str, ...]


@dataclass(frozen=True)
class Extent:
    """A sum of products of symbols, such as 2*N + 1. Equal ones compare equal."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(value: int | str | Extent) -> Extent:
        if isinstance(value, Extent):
            return value
        if isinstance(value, str):
            return Extent((((value,), 1),))
        return Extent((((), int(value)),) if value else ())

    @staticmethod
    def _sum(terms: Iterable[tuple[Monomial, int]]) -> Extent:
        total: dict[Monomial, int] = {}
        for monomial, factor in terms:
            total[monomial] = total.get(monomial, 0) + factor
        return Extent(tuple(sorted((m, f) for m, f in total.items() if f)))

    @property
    def constant(self) -> int | None:
        """Its value, if it does not vary."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and self.terms[0][0] == ():
            return self.terms[0][1]
        return None

    def symbols(self) -> set[str]:
        return {symbol for monomial, _ in self.terms for symbol in monomial}

    def __add__(self, other: int | Extent) -> Extent:
        return self._sum((*self.terms, *Extent.of(other).terms))

    def __neg__(self) -> Extent:
        return Extent(tuple((m, -f) for m, f in self.terms))

    def __sub__(self, other: int | Extent) -> Extent:
        return self + -Extent.of(other)

    def __mul__(self, other: int | Extent) -> Extent:
        right = Extent.of(other).terms
        return self._sum((tuple(sorted(m + n)), f * g) for m, f in self.terms for n, g in right)

    __radd__, __rmul__ = __add__, __mul__

    def divided_by(self, other: Extent) -> Extent | None:
        """The quotient, if it is exact whatever the symbols are."""
        if len(other.terms) != 1:
            return Extent.of(1) if self == other and self.terms else None
        (divisor, factor), result = other.terms[0], []
        for monomial, count in self.terms:
            left = list(monomial)
            for symbol in divisor:
                if symbol not in left:
                    return None
                left.remove(symbol)
            if count % factor:
                return None
            result.append((tuple(left), count // factor))
        return Extent(tuple(result))

    def at(self, values: Mapping[str, int]) -> int:
        total = 0
        for monomial, factor in self.terms:
            for symbol in monomial:
                factor *= values[symbol]
            total += factor
        return total

    def maximum(self, maxima: Mapping[str, int]) -> int:
        """A bound: what it is when everything that adds to it is as large as it can be."""
        return Extent(tuple((m, f) for m, f in self.terms if f > 0)).at(maxima)

    def minimum(self, maxima: Mapping[str, int]) -> int:
        """The same from below."""
        return Extent(tuple((m, f) for m, f in self.terms if f < 0 or not m)).at(maxima)

    def __str__(self) -> str:
        """As C++ and people write it."""
        text = ""
        # Symbols first, as in 2 * N + 1.
        for monomial, factor in sorted(self.terms, key=lambda term: (-len(term[0]), term[0])):
            sign, size = ("-" if factor < 0 else "+"), abs(factor)
            parts = ([str(size)] if size != 1 or not monomial else []) + list(monomial)
            product = " * ".join(parts)
            text += f" {sign} {product}" if text else ("-" if factor < 0 else "") + product
        return text or "0"

    def factor(self) -> str:
        """The same, for a place in a product."""
        return f"({self})" if len(self.terms) > 1 else str(self)


Shape = tuple[Extent, ...]


def shape_of(extents: Iterable[int | str | Extent]) -> Shape:
    return tuple(Extent.of(each) for each in extents)


def product(extents: Iterable[Extent]) -> Extent:
    total = Extent.of(1)
    for each in extents:
        total = total * each
    return total


def dense_strides(shape: Shape) -> Shape:
    """Of row-major order."""
    strides: list[Extent] = []
    step = Extent.of(1)
    for extent in reversed(shape):
        strides.append(step)
        step = step * extent
    return tuple(reversed(strides))


def reshaped_strides(shape: Shape, strides: Shape, wanted: Shape) -> Shape | None:
    """Of the same elements in another shape, if strides can say it."""
    one = Extent.of(1)
    old = [pair for pair in zip(shape, strides, strict=True) if pair[0] != one]
    result: list[Extent] = [one] * len(wanted)
    done = 0
    axis = 0
    while axis < len(wanted):
        if wanted[axis] == one:
            axis += 1
            continue
        if done == len(old):
            return None
        # The fewest axes of both that hold as many elements.
        begin, (have, stride) = axis, old[done]
        done, want, axis = done + 1, wanted[axis], axis + 1
        while have != want:
            if have.divided_by(want) is not None and axis < len(wanted):
                want, axis = want * wanted[axis], axis + 1
            elif want.divided_by(have) is not None and done < len(old):
                extent, inner = old[done]
                if stride != inner * extent:
                    return None
                have, stride, done = have * extent, inner, done + 1
            else:
                return None
        for each in reversed(range(begin, axis)):
            result[each] = stride
            stride = stride * wanted[each]
    return tuple(result) if done == len(old) else None


def constants(shape: Iterable[Extent]) -> tuple[int, ...] | None:
    """As numbers, if nothing varies."""
    values = [extent.constant for extent in shape]
    return None if None in values else tuple(v for v in values if v is not None)


def broadcast(*shapes: Shape) -> Shape | None:
    """The common shape, or nothing if it depends on values that are not known."""
    rank = max((len(shape) for shape in shapes), default=0)
    result = []
    for axis in range(-rank, 0):
        here = {shape[axis] for shape in shapes if len(shape) >= -axis}
        here.discard(Extent.of(1))
        if len(here) > 1:
            return None
        result.append(here.pop() if here else Extent.of(1))
    return tuple(result)


def shape_text(shape: Shape) -> str:
    return "[" + ",".join(map(str, shape)) + "]"
