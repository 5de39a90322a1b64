"""A policy for evictions: a small network gives every candidate a score, and the highest wins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from compiler_bridge.training import Graph, Network

# Registers that a value can be thrown out of; the last position stands for "evict nothing".
POSITIONS = 33
_OWN = POSITIONS - 1
_INTEGERS = ("is_free", "is_hint", "is_local", "max_stage", "min_stage")
_REALS = (
    *("nr_urgent", "nr_broken_hints", "nr_rematerializable", "nr_defs_and_uses"),
    *("weighed_reads_by_max", "weighed_writes_by_max", "weighed_read_writes_by_max"),
    *("weighed_indvars_by_max", "hint_weights_by_max", "start_bb_freq_by_max"),
    *("end_bb_freq_by_max", "hottest_bb_freq_by_max", "liverange_size", "use_def_density"),
)
_HINTS, _WEIGHT = "nr_broken_hints", "use_def_density"
# What a candidate's row has: LLVM's features of it, whether it is the value that asks, and how much
# of the function is done.
FEATURES = (*_INTEGERS, *_REALS, "own", "progress")

Rows = np.ndarray[tuple[int, int], np.dtype[np.float32]]
Allowed = np.ndarray[tuple[int], np.dtype[np.bool_]]


def rows_of(request: Mapping[str, Any] | Any) -> tuple[Rows, Allowed]:
    """A row per candidate, and which of them are legal."""
    rows = np.zeros((POSITIONS, len(FEATURES)), np.float32)
    for column, name in enumerate((*_INTEGERS, *_REALS)):
        rows[:, column] = request[name][0]
    weights = rows[:, FEATURES.index(_WEIGHT)]
    # A value that must not be spilled weighs infinitely much, which divided by itself is one.
    weights[np.isnan(weights)] = 1
    rows[_OWN, FEATURES.index("own")] = 1
    rows[:, FEATURES.index("progress")] = request["progress"][0]
    return rows, request["mask"][0] != 0


def heuristic(rows: Rows, allowed: Allowed) -> int:
    """Near LLVM's own decision, which it does not tell: whoever breaks the fewest hints and weighs
    least has to go, if it breaks none and weighs less than the value that asks."""
    hints = rows[:, FEATURES.index(_HINTS)]
    weights = rows[:, FEATURES.index(_WEIGHT)]
    others = np.flatnonzero(allowed[:_OWN])
    if not len(others):
        return _OWN
    best = int(others[np.lexsort((others, weights[others], hints[others]))[0]])
    worthwhile = hints[best] == 0 and weights[best] < weights[_OWN]
    return best if worthwhile or not allowed[_OWN] else _OWN


def choose(network: Network, rows: Rows, allowed: Allowed) -> int:
    """The network's decision."""
    scores = network.scores(network.standardized(rows))
    return int(np.argmax(np.where(allowed, scores, -np.inf)))


def as_onnx(network: Network) -> Any:
    """The model: LLVM's features in, `index_to_evict` out."""
    from onnx import TensorProto

    graph = Graph()
    node, constant = graph.node, graph.constant
    whole = node("Concat", _INTEGERS, "integers", axis=0)
    integers = node("Cast", [whole], "real_integers", to=TensorProto.FLOAT)
    unknown = node("IsNaN", [_WEIGHT], "weighs_infinitely")
    unit = constant("unit", np.float32(1))
    weight = node("Where", [unknown, unit, _WEIGHT], "weight")
    own = np.zeros((1, POSITIONS), np.float32)
    own[0, _OWN] = 1
    ones = constant("ones", np.ones((1, POSITIONS), np.float32))
    progress = node("Mul", [ones, "progress"], "progress_of_all")
    reals = [weight if name == _WEIGHT else name for name in _REALS]
    columns = node("Concat", [integers, *reals, constant("own", own), progress], "columns", axis=0)
    rows = node("Transpose", [columns], "rows", perm=[1, 0])
    scored = graph.layers(graph.standardized(rows, network.mean, network.scale), network.layers)
    scores = node("Reshape", [scored, constant("flat", np.array([1, POSITIONS]))], "scores")
    legal = node("Cast", ["mask"], "legal", to=TensorProto.BOOL)
    possible = node("Where", [legal, scores, constant("never", np.float32(-1e30))], "possible")
    node("ArgMax", [possible], "index_to_evict", axis=1, keepdims=0)
    shape = [1, POSITIONS]
    return graph.model(
        "eviction",
        [
            *((name, TensorProto.INT64, shape) for name in ("mask", *_INTEGERS)),
            *((name, TensorProto.FLOAT, shape) for name in _REALS),
            ("progress", TensorProto.FLOAT, [1]),
        ],
        [("index_to_evict", TensorProto.INT64, [1])],
    )
