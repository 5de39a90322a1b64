"""What an inlining policy looks at, as a matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..inlining._names import (
    DEFAULT,
    EXTRA_FEATURES,
    FREQUENCY,
    LLVM_FEATURES,
    LOOP_DEPTH,
)

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]


# Two are 0 outside of ThinLTO; loops and frequencies take too long to find out.
_LEFT_OUT = {
    "is_callee_avail_external",
    "is_caller_avail_external",
    FREQUENCY,
    LOOP_DEPTH,
}
EXTRA = tuple(name for name in EXTRA_FEATURES if name not in _LEFT_OUT)
FEATURES = tuple(name for name in LLVM_FEATURES if name not in _LEFT_OUT) + EXTRA
DEFAULT_COLUMN = FEATURES.index(DEFAULT)


def matrix(columns: Mapping[str, Any], names: Sequence[str] = FEATURES) -> Matrix:
    """One row per decision."""
    if not columns:
        return np.zeros((0, len(names)), np.float32)
    return np.stack([np.asarray(columns[name])[:, 0].astype(np.float32) for name in names], axis=1)


def squashed(values: Matrix) -> Matrix:
    """Sizes and costs of all magnitudes, as the network sees them."""
    return np.sign(values) * np.log1p(np.abs(values))
