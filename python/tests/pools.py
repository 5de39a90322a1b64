"""What the tests of CompilerPool share."""

from __future__ import annotations

from compiler_bridge import TensorSpec

X = TensorSpec("x", "int64")
Y = TensorSpec("y", "int64")
EVERY_TYPE = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64"),
]
FOREVER = 1000.0  # a linger that never ends by itself: the batch is complete when all have asked


def plain(answers):
    """What the compilers got: numbers, lists and errors."""
    return [
        answer if isinstance(answer, Exception) else answer["y"].tolist()
        for each in answers
        for answer in each
    ]


def collect(pool, count):
    """Batches with so many questions altogether."""
    batches = []
    while sum(map(len, batches)) < count:
        batches.append(pool.next(timeout=20))
    return batches
