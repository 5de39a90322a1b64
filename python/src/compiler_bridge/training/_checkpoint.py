"""A training's state on disk: whole or not at all, after every step."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..export import ModelError, _check
from ._network import Network, Vector

_FILE = "checkpoint.npz"
_NETWORKS = ("network", "average", "best", "start")
_VERSION = 3
_HOW = "go on as it began, or name another folder"


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
    modules: int = 0
    """That could be compiled, in both corpora."""

    @property
    def best_point(self) -> Point:
        return max(self.history, key=lambda point: (point.validation, -point.step))


def save(
    folder: Path, plan: dict[str, Any], state: State, inputs: Mapping[str, str] | None = None
) -> None:
    """`plan` is what the training was told, by name; `inputs` are digests of what it was given, by
    option."""
    about = {
        "version": _VERSION,
        "plan": plan,
        "inputs": dict(inputs or {}),
        "modules": state.modules,
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


def exists(folder: Path) -> bool:
    return (folder / _FILE).exists()


def load(
    folder: Path, plan: dict[str, Any], inputs: Mapping[str, str] | None = None
) -> State | None:
    """What is there; None if nothing is. Refuses what another training has left."""
    if not exists(folder):
        return None
    file = folder / _FILE
    try:
        with open(file, "rb") as opened, np.load(opened, allow_pickle=False) as stored:
            about = json.loads(str(stored["about"]))
            arrays = {name: stored[name] for name in stored.files if name != "about"}
        if about["version"] != _VERSION:
            raise ModelError(
                f"{file}: is of version {about['version']}, this is {_VERSION}; name another folder"
            )
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
        state = State(
            **networks,
            step=about["step"],
            history=[Point(**point) for point in about["history"]],
            first=arrays["first"],
            second=arrays["second"],
            modules=about["modules"],
        )
        then, given = about["plan"], about["inputs"]
        if not state.history:
            raise ValueError("it has no history")
    except ModelError:
        raise
    except Exception as error:  # numpy and zipfile have many for a file that is damaged
        why = _check.first_line(error) or type(error).__name__
        raise ModelError(f"{file}: is no checkpoint of a training, or damaged: {why}") from None
    _compare(file, then, json.loads(json.dumps(plan)))
    _compare_inputs(file, given, inputs or {})
    return state


def _compare(file: Path, then: dict[str, Any], now: dict[str, Any]) -> None:
    for key in sorted({*then, *now}):
        if then.get(key) != now.get(key):
            raise ModelError(
                f"{file}: was made with {key} {then.get(key)!r}, now it is {now.get(key)!r}; {_HOW}"
            )


def _compare_inputs(file: Path, then: Mapping[str, str], now: Mapping[str, str]) -> None:
    different = []
    for option in sorted({*then, *now}):
        if option not in now:
            different.append(f"with {option}")
        elif option not in then:
            different.append(f"without {option}")
        elif then[option] != now[option]:
            different.append(f"with another {option}, or when that had other contents")
    if different:
        raise ModelError(f"{file}: was made {', and '.join(different)}; {_HOW}")
