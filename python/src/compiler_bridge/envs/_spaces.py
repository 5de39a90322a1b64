"""What compilers tell of a decision, as spaces of gymnasium."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..inlining._names import EXTRA_FEATURES, FREQUENCY, LLVM_FEATURES
from ..spec import TensorSpec

#: Every integer up to here is a float64, too.
_LARGEST = 1 << 53

#: Registers that LLVM offers to evict from, and one for "evict nothing".
POSITIONS = 33
_EVICT_INTEGERS = {"mask", "is_free", "is_hint", "is_local", "max_stage", "min_stage"}
#: LLVM's features of an eviction, in their order.
EVICT_FEATURES = (
    *("mask", "is_free", "nr_urgent", "nr_broken_hints", "is_hint", "is_local"),
    *("nr_rematerializable", "nr_defs_and_uses", "weighed_reads_by_max"),
    *("weighed_writes_by_max", "weighed_read_writes_by_max", "weighed_indvars_by_max"),
    *("hint_weights_by_max", "start_bb_freq_by_max", "end_bb_freq_by_max"),
    *("hottest_bb_freq_by_max", "liverange_size", "use_def_density", "max_stage", "min_stage"),
    "progress",
)


def inline_specs(extra: Iterable[str]) -> list[TensorSpec]:
    """LLVM's features, and those of `extra` in the plugin's order."""
    names = set(extra)
    if unknown := sorted(names - set(EXTRA_FEATURES) - {"all"}):
        raise ValueError(
            f"{unknown[0]!r} is no extra feature with a number; there are "
            f"{', '.join(EXTRA_FEATURES)}, all"
        )
    chosen = [name for name in EXTRA_FEATURES if "all" in names or name in names]
    return [
        TensorSpec(name, "float32" if name == FREQUENCY else "int64")
        for name in (*LLVM_FEATURES, *chosen)
    ]


def evict_specs() -> list[TensorSpec]:
    return [
        TensorSpec(
            name,
            "int64" if name in _EVICT_INTEGERS else "float32",
            (1,) if name == "progress" else (1, POSITIONS),
        )
        for name in EVICT_FEATURES
    ]


def space_of(specs: Sequence[TensorSpec]) -> spaces.Space[dict[str, NDArray[Any]]]:
    # Typed as what it holds, which gymnasium's own type does not tell.
    return spaces.Dict([(spec.name, _box(spec)) for spec in specs])  # type: ignore[return-value]


def _box(spec: TensorSpec) -> spaces.Box:
    if spec.dtype == "float32":
        # LLVM divides by the largest one; more values than there were at first may wait.
        most = 1.0 if spec.shape == (1, POSITIONS) else float(np.finfo(np.float32).max)
        return spaces.Box(0.0, most, spec.shape, np.float32)
    if spec.shape == (1, POSITIONS):
        return spaces.Box(0, 1 if spec.name == "mask" else _LARGEST, spec.shape, np.int64)
    return spaces.Box(-_LARGEST, _LARGEST, spec.shape, np.int64)
