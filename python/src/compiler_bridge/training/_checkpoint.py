"""A training's state on disk: whole or not at all, after every step."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..export import ModelError
from ._network import Network, Vector

_FILE = "checkpoint.npz"
_NETWORKS = ("network", "average", "best", "start")
_VERSION = 2


@dataclass(frozen=True)
class Point:
    """Of a learning curve: shares of code that are saved, which are below 0 if there is more."""

    step: int
    training: float
    validation: float
    compiles: int


@dataclass
class State:
    """All that a training goes on from."""

    network: Network
    average: Network
    """Of the networks of the latest steps: they wander, and it less so. What is validated."""
    best: Network
    start: Network
    """Before the first step."""
    step: int = 0
    history: list[Point] = field(default_factory=list)
    first: Vector = field(default_factory=lambda: np.zeros(0, np.float32))
    second: Vector = field(default_factory=lambda: np.zeros(0, np.float32))
    """What an optimizer remembers."""

    @property
    def best_point(self) -> Point:
        return max(self.history, key=lambda point: (point.validation, -point.step))


def save(folder: Path, plan: dict[str, Any], state: State) -> None:
    about = {
        "version": _VERSION,
        "plan": plan,
        "step": state.step,
        "history": [asdict(point) for point in state.history],
        "layers": len(state.network.layers),
        "features": state.network.features,
    }
    arrays: dict[str, Any] = {
        "about": np.array(json.dumps(about)),
        "mean": state.network.mean,
        "scale": state.network.scale,
        "first": state.first,
        "second": state.second,
    }
    for name in _NETWORKS:
        for i, (weights, bias) in enumerate(getattr(state, name).layers):
            arrays[f"{name}{i}w"], arrays[f"{name}{i}b"] = weights, bias
    temporary = folder / f"{_FILE}.tmp"
    with open(temporary, "wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, folder / _FILE)


def load(folder: Path, plan: dict[str, Any]) -> State | None:
    """What is there; None if nothing is. Refuses what another training has left."""
    file = folder / _FILE
    if not file.exists():
        return None
    try:
        with np.load(file, allow_pickle=False) as stored:
            about = json.loads(str(stored["about"]))
            arrays = {name: stored[name] for name in stored.files if name != "about"}
        if about["version"] != _VERSION:
            raise ValueError(f"version {about['version']} instead of {_VERSION}")
        networks = {
            name: Network(
                arrays["mean"],
                arrays["scale"],
                tuple(
                    (arrays[f"{name}{i}w"], arrays[f"{name}{i}b"]) for i in range(about["layers"])
                ),
                features=tuple(about["features"]),
            )
            for name in _NETWORKS
        }
        history = [Point(**point) for point in about["history"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{file}: is no checkpoint of a training: {error}") from None
    _compare(file, about["plan"], json.loads(json.dumps(plan)))
    return State(
        **networks,
        step=about["step"],
        history=history,
        first=arrays["first"],
        second=arrays["second"],
    )


def _compare(file: Path, then: dict[str, Any], now: dict[str, Any]) -> None:
    for key in sorted({*then, *now}):
        if then.get(key) != now.get(key):
            raise ModelError(
                f"{file}: was made with {key} {then.get(key)!r}, now it is {now.get(key)!r}; go on "
                "as it began, or name another folder"
            )
