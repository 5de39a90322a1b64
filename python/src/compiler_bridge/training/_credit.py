"""Which decisions made a module larger or smaller: sizes of functions tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np

from ..inlining._search import containing
from ._network import Vector
from ._sampling import Sample


def credit(sample: Sample, usual: Mapping[str, int]) -> Vector:
    """Bytes that each explored decision saved, against `usual`, the sizes of functions where no
    decision is explored. Where several explored decisions touch a function, they share what
    happened to it. 0 for decisions that are as usual."""
    into: dict[str, set[str]] = defaultdict(set)
    for (caller, callee), inlined in zip(sample.pairs, sample.decisions, strict=True):
        if inlined:
            into[callee].add(caller)
    explored = np.flatnonzero(sample.explored)
    # Sorted: sums depend on the order.
    touched = {int(i): sorted(containing(sample.pairs[i], into)) for i in explored}
    sharing = Counter(function for functions in touched.values() for function in functions)
    sizes = sample.compiled.functions
    saved = np.zeros(len(sample.decisions), np.float32)
    for i, functions in touched.items():
        saved[i] = sum((usual.get(f, 0) - sizes.get(f, 0)) / sharing[f] for f in functions)
    return saved
