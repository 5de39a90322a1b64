"""Decisions to imitate: LLVM's own, and the best of a search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from .. import log
from ..export import ModelError
from ._features import DEFAULT_COLUMN, FEATURES, Matrix, matrix
from ._imitation import Examples
from ._rollout import Trajectory

# In bytes: what a decision of LLVM's that nobody has questioned is worth, and the most that one
# decision can be worth: a few are worth thousands, which others are not to be sacrificed for.
_USUAL, _MOST = 2.0, 150.0


def of_heuristic(trajectories: Iterable[Trajectory]) -> Examples:
    """What LLVM decided, all worth the same."""
    parts = [(each.rows, each.decisions) for each in trajectories if len(each.decisions)]
    return _joined([(rows, made, np.ones(len(made), np.float32)) for rows, made in parts])


def of_search(folder: Path) -> Examples:
    """What `cbridge search inline -o FOLDER` has found: decisions are worth what they save."""
    parts = []
    for file in logs(folder):
        found = log.read(file)
        if not found.complete:
            raise ModelError(f"{file}: is cut off; the search that wrote it writes it again")
        if not len(found):
            continue
        if missing := [name for name in FEATURES if name not in found.features]:
            raise ModelError(f"{file}: lacks the feature {missing[0]!r}")
        rows = matrix(found.features)
        parts.append((rows, *_judged(rows, np.asarray(found.decision)[:, 0], found.reward)))
    if not parts:
        raise ModelError(f"{folder}: its logs have no decisions")
    return _joined(parts)


def logs(folder: Path) -> list[Path]:
    """What a search has written, which must not be nothing."""
    if files := sorted(folder.rglob("*.log")):
        return files
    raise ModelError(f"{folder}: has no training logs; `cbridge search inline -o` writes them")


def _judged(
    rows: Matrix,
    decisions: np.ndarray[tuple[int], np.dtype[np.int64]],
    rewards: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> tuple[
    np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.float32]]
]:
    """Which decision is the better one, and how much better. What nobody has tried otherwise is
    LLVM's."""
    usual = rows[:, DEFAULT_COLUMN].astype(np.int64)
    worth = np.where(np.isnan(rewards), 0, rewards)
    better = np.where(worth < 0, 1 - decisions, decisions)
    better = np.where(worth == 0, usual, better)
    weights = np.minimum(np.abs(worth), _MOST) + np.where(better == usual, _USUAL, 0)
    return better, weights.astype(np.float32)


def _joined(
    parts: Sequence[
        tuple[
            Matrix,
            np.ndarray[tuple[int], np.dtype[np.int64]],
            np.ndarray[tuple[int], np.dtype[np.float32]],
        ]
    ],
) -> Examples:
    if not parts:
        raise ModelError("no module of the corpus has a call to decide on")
    return Examples(*(np.concatenate(column) for column in zip(*parts, strict=True)))
