"""Whether every runner decides the same, and whether code is what it must be."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from compiler_bridge import log

Array = np.ndarray[Any, Any]


@dataclass
class Checked:
    """What a variant made of the modules."""

    objects: list[str] = field(default_factory=list)  # digests
    object_bytes: int = 0
    decisions: dict[str, Array] = field(default_factory=dict)  # by module: features, then decision

    def add_object(self, file: Path) -> None:
        content = file.read_bytes()
        self.objects.append(hashlib.sha256(content).hexdigest())
        self.object_bytes += len(content)

    def same_objects(self, other: Checked) -> int:
        return sum(a == b for a, b in zip(self.objects, other.objects, strict=True))

    @property
    def count(self) -> int:
        return sum(len(rows) for rows in self.decisions.values())


def read_features(folder: Path) -> list[str]:
    """Their names, in the order of the columns below."""
    return list(log.read(next(folder.iterdir())).features)


def read_decisions(folder: Path) -> dict[str, Array]:
    """By the name of the module, in the order of the compile."""
    if not folder.exists():
        return {}  # nothing was ever asked
    table = log.read(folder)
    columns = [np.asarray(column).reshape(len(table), -1) for column in table.features.values()]
    rows = np.hstack([*columns, np.asarray(table.decision).reshape(len(table), -1)])
    places: dict[str, list[int]] = {}
    for i, context in enumerate(table.context):
        places.setdefault(context, []).append(i)
    return {context: rows[index] for context, index in places.items()}


def differing(ours: dict[str, Array], theirs: dict[str, Array]) -> int:
    """Records that are not the same, bit by bit: after another decision, other questions follow."""
    count = 0
    for context in ours.keys() | theirs.keys():
        a, b = ours.get(context), theirs.get(context)
        if a is None or b is None:
            count += len(b if a is None else a)  # type: ignore[arg-type]
            continue
        both = min(len(a), len(b))
        count += int((a[:both] != b[:both]).any(axis=1).sum()) + abs(len(a) - len(b))
    return count
