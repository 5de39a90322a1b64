"""Einsum: by products of matrices."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .._builder import Builder
from .._extent import Extent, Shape, product
from .._ir import Value
from .._registry import Node, operator
from .matrix import matmul
from .reduction import SUM, fold

_ZERO = Extent.of(0)


class Term:
    """A value whose axes have names, each once."""

    def __init__(self, value: Value, labels: Sequence[str]) -> None:
        self.value, self.labels = value, list(labels)

    def ordered(self, g: Builder, labels: Sequence[str]) -> Value:
        return g.transpose(self.value, [self.labels.index(each) for each in labels])

    def extent(self, label: str) -> Extent:
        return self.value.shape[self.labels.index(label)]


@operator("Einsum")
def _einsum(g: Builder, node: Node) -> Value:
    values = [node[i] for i in range(len(node.inputs))]
    terms, result = _parsed(g, node.attribute("equation"), values)
    done = terms[0]
    for i, term in enumerate(terms[1:], 1):
        later = {label for each in terms[i + 1 :] for label in each.labels} | set(result)
        done = _product(g, done, term, later)
    done = _summed(g, done, set(result))
    return done.ordered(g, result)


def _parsed(g: Builder, equation: str, values: Sequence[Value]) -> tuple[list[Term], list[str]]:
    left, arrow, right = equation.replace(" ", "").partition("->")
    texts = left.split(",")
    if len(texts) != len(values) or not re.fullmatch(r"[A-Za-z.,]*", left):
        g.fail(f"the equation {equation!r} does not fit {len(values)} inputs")
    ellipses = 0
    terms = []
    for text, value in zip(texts, values, strict=True):
        if "." in text.replace("...", "", 1):
            g.fail(f"{text!r} is not understood")
        hidden = value.rank - len(text.replace("...", ""))
        if hidden < 0 or (hidden and "..." not in text):
            g.fail(f"{text!r} does not fit a tensor with {value.rank} axes")
        ellipses = max(ellipses, hidden)
        terms.append(_diagonal(g, value, _labels(text, hidden)))
    if arrow:
        result = _labels(right, ellipses if "..." in right else 0)
        known = {label for term in terms for label in term.labels}
        for label in result:
            if label not in known:
                g.fail(f"the equation {equation!r}: no input has {label!r} of the output")
            if result.count(label) > 1:
                g.fail(f"the equation {equation!r}: the output has {label!r} twice")
        return terms, result
    # As NumPy has it: what occurs once, in alphabetical order.
    names = left.replace(".", "").replace(",", "")
    once = sorted(name for name in set(names) if names.count(name) == 1)
    return terms, [*_labels("...", ellipses), *once]


def _labels(text: str, hidden: int) -> list[str]:
    """Axes of an ellipsis are counted from the last one."""
    dots = [f".{i}" for i in reversed(range(hidden))]
    front, _, back = text.partition("...")
    return [*front, *dots, *back]


def _diagonal(g: Builder, value: Value, labels: Sequence[str]) -> Term:
    """A name that occurs twice goes along both axes at once."""
    value = g.stored(value)
    shape: dict[str, Extent] = {}
    strides: dict[str, Extent] = {}
    for label, extent, stride in zip(labels, value.shape, value.strides, strict=True):
        if shape.setdefault(label, extent) != extent:
            g.fail(f"{label!r} is {shape[label]} and {extent}")
        strides[label] = strides.get(label, _ZERO) + stride
    return Term(g.view(value, tuple(shape.values()), tuple(strides.values())), list(shape))


def _summed(g: Builder, term: Term, wanted: set[str]) -> Term:
    """Without the axes that nobody wants."""
    axes = [i for i, label in enumerate(term.labels) if label not in wanted]
    if not axes:
        return term
    left = [i for i in range(len(term.labels)) if i not in axes]
    total = fold(g, SUM, term.value, axes)
    shape = tuple(total.shape[i] for i in left)
    return Term(g.reshape(total, shape), [term.labels[i] for i in left])


def _product(g: Builder, left: Term, right: Term, later: set[str]) -> Term:
    left = _summed(g, left, later | set(right.labels))
    right = _summed(g, right, later | set(left.labels))
    shared = [label for label in left.labels if label in right.labels]
    batch = [label for label in shared if label in later]
    summed = [label for label in shared if label not in later]
    if any(left.extent(label) != right.extent(label) for label in summed):
        g.fail(f"{', '.join(summed)}: the extents of both sides differ")
    rows = [label for label in left.labels if label not in shared]
    columns = [label for label in right.labels if label not in shared]
    a = _matrix(g, left, batch, rows, summed)
    b = _matrix(g, right, batch, summed, columns)
    made = matmul(g, a, b)
    shape: Shape = (
        *made.shape[: len(batch)],
        *(left.extent(label) for label in rows),
        *(right.extent(label) for label in columns),
    )
    return Term(g.reshape(made, shape), [*batch, *rows, *columns])


def _matrix(
    g: Builder, term: Term, batch: Sequence[str], first: Sequence[str], second: Sequence[str]
) -> Value:
    value = term.ordered(g, [*batch, *first, *second])
    sizes = [product(term.extent(label) for label in group) for group in (first, second)]
    return g.reshape(value, (*value.shape[: len(batch)], *sizes))
