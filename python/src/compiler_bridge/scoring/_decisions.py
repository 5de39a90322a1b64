"""Decisions that two policies take differently, from what both have recorded."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import log
from ._remarks import Site

# Features of MLGO's inliner that count the whole module: one other decision changes them at all
# later sites, which stay the same sites.
_MODULE_WIDE = frozenset(["node_count", "edge_count"])
# The feature by which a pass tells what its own heuristic would do at this very site; its remarks
# tell that, too.
_DEFAULT = "inlining_default"
# How sure a model is, for remarks: no decision, and only some models tell it.
_SCORE = "inlining_score"
_SITE = ("caller", "callee")

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Asked:
    """The decisions of a compile, by columns: features that are one number, and one string."""

    contexts: list[str]
    ordinals: list[int]
    names: tuple[str, ...]
    features: Array  # a row per decision, a column per name
    labels: dict[str, list[str]]
    decisions: Array  # a row per decision
    fallbacks: tuple[str, ...] = ()  # why the compiler's heuristic decided, where it did; not saved

    def __len__(self) -> int:
        return len(self.ordinals)

    def keys(self) -> Iterator[tuple[str, bytes, int]]:
        """What identifies each question: the context, the site by name or else by its features, and
        the how manieth time it was asked."""
        named = set(_SITE) <= self.labels.keys()
        wide = set(self.names) if named else _MODULE_WIDE
        local = [i for i, name in enumerate(self.names) if name not in wide]
        rows = np.ascontiguousarray(self.features[:, local])
        seen: dict[tuple[str, bytes], int] = {}
        for i, context in enumerate(self.contexts):
            labels = "\0".join(column[i] for column in self.labels.values())
            question = context, rows[i].tobytes() + labels.encode(errors="surrogateescape")
            seen[question] = seen.get(question, -1) + 1
            yield *question, seen[question]

    def save(self, path: Path) -> None:
        arrays: dict[str, Any] = {
            "contexts": np.array(self.contexts, dtype=str),
            "ordinals": np.array(self.ordinals, dtype=np.int64),
            "names": np.array(self.names, dtype=str),
            "features": self.features,
            "decisions": self.decisions,
        }
        for name, text in self.labels.items():
            arrays[f"label {name}"] = np.array(text, dtype=str)
        with open(path, "wb") as file:
            np.savez_compressed(file, **arrays)

    @staticmethod
    def load(path: Path) -> Asked:
        """ValueError, or another exception, if the file is damaged."""
        # Opened here: numpy leaves a file open that is no archive.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            asked = Asked(
                stored["contexts"].tolist(),
                stored["ordinals"].tolist(),
                tuple(stored["names"].tolist()),
                stored["features"],
                {
                    name.removeprefix("label "): stored[name].tolist()
                    for name in stored.files
                    if name.startswith("label ")
                },
                stored["decisions"],
            )
        asked._check()
        return asked

    def _check(self) -> None:
        count = len(self)
        columns: list[Sized] = [self.contexts, self.features, self.decisions, *self.labels.values()]
        if any(len(column) != count for column in columns):
            raise ValueError("columns of different lengths")
        for array in (self.features, self.decisions):
            if array.dtype != np.float64 or array.ndim != 2:
                raise ValueError("no table of numbers")
        if self.features.shape[1] != len(self.names):
            raise ValueError("features without a name")


def read(folder: Path, sites: Sequence[Site] = ()) -> Asked | None:
    """What was recorded in a folder, and where if that is told; None if nothing was."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return None
    asked = _read(folder)
    decided = asked.decisions[:, :1].ravel() != 0
    # Else the two are not about the same.
    if len(sites) == len(asked) and [site.inline for site in sites] == decided.tolist():
        return _at(asked, sites)
    return asked


def _at(asked: Asked, sites: Sequence[Site]) -> Asked:
    labels = {
        "caller": [site.caller for site in sites],
        "callee": [site.callee for site in sites],
        **asked.labels,
    }
    fallbacks = tuple(site.fallback for site in sites if site.fallback is not None)
    asked = dataclasses.replace(asked, labels=labels, fallbacks=fallbacks)
    defaults = [site.default for site in sites if site.default is not None]
    if _DEFAULT in asked.names or len(defaults) != len(sites):
        return asked
    return dataclasses.replace(
        asked,
        names=(*asked.names, _DEFAULT),
        features=np.column_stack([asked.features, np.array(defaults, dtype=np.float64)]),
    )


def _read(folder: Path) -> Asked:
    recorded = log.read(folder)
    count = len(recorded)
    columns, labels = {}, {}
    for name, column in recorded.features.items():
        if isinstance(column, np.ndarray):
            if column[:1].size <= 1:
                columns[name] = column.reshape(count).astype(np.float64)
        elif all(isinstance(_single(value), str) for value in column):
            labels[name] = [str(_single(value)) for value in column]
    decided = [
        column.reshape(count, -1).astype(np.float64)
        for name, column in recorded.decisions.items()
        if isinstance(column, np.ndarray) and name != _SCORE
    ]
    return Asked(
        recorded.context,
        recorded.ordinal.tolist(),
        tuple(columns),
        np.column_stack(list(columns.values())) if columns else np.zeros((count, 0)),
        labels,
        np.hstack(decided) if decided else np.zeros((count, 0)),
    )


def _single(value: Any) -> Any:
    """The one element of a column's entry, however deep it lies."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


@dataclass(frozen=True)
class Difference:
    """A site at which the policy decided otherwise."""

    module: str
    context: str
    ordinal: int  # among the policy's decisions in this context
    baseline: list[float]
    policy: list[float]
    features: dict[str, float]
    labels: dict[str, str]


@dataclass
class _Moments:
    count: int = 0
    total: Any = 0.0
    squares: Any = 0.0

    def add(self, rows: Array) -> None:
        self.count += len(rows)
        self.total = self.total + rows.sum(axis=0)
        self.squares = self.squares + (rows**2).sum(axis=0)


@dataclass
class Disagreement:
    """Sums up, module by module, where two policies were asked the same and what they answered."""

    baseline_is_heuristic: bool = False
    asked_baseline: int = 0
    asked_policy: int = 0
    fallbacks: Counter[str] = field(default_factory=Counter)  # of the policy: why, and how often
    compared: int = 0
    differences: list[Difference] = field(default_factory=list)
    _names: tuple[str, ...] = ()
    _agreeing: _Moments = field(default_factory=_Moments)
    _differing: _Moments = field(default_factory=_Moments)

    def add(self, module: str, baseline: Asked | None, policy: Asked | None) -> None:
        self.asked_baseline += len(baseline) if baseline else 0
        self.asked_policy += len(policy) if policy else 0
        self.fallbacks.update(policy.fallbacks if policy else ())
        if policy is None or not policy.decisions.shape[1]:
            return
        rows, theirs = self._joined(baseline, policy)
        if not len(rows):
            return
        ours = policy.decisions[rows]
        other = (ours != theirs).any(axis=1)
        self.compared += len(rows)
        for row, before in zip(rows[other], theirs[other], strict=True):
            self.differences.append(_difference(module, policy, int(row), before))
        if self._names in ((), policy.names):
            self._names = policy.names
            self._agreeing.add(policy.features[rows[~other]])
            self._differing.add(policy.features[rows[other]])

    @property
    def own_decisions(self) -> int:
        """Those that the policy took itself; the others of its were the compiler's heuristic's."""
        return self.asked_policy - self.fallbacks.total()

    def symbols(self) -> list[str]:
        """The functions at the sites."""
        names = (each.labels.get(end) for each in self.differences for end in _SITE)
        return sorted({name for name in names if name})

    def rename(self, names: dict[str, str]) -> None:
        self.differences = [
            dataclasses.replace(
                each, labels={end: names.get(name, name) for end, name in each.labels.items()}
            )
            for each in self.differences
        ]

    def _joined(self, baseline: Asked | None, policy: Asked) -> tuple[np.ndarray[Any, Any], Array]:
        """Rows of the policy's decisions, and what the baseline decided there."""
        width = policy.decisions.shape[1]
        if self.baseline_is_heuristic and _DEFAULT in policy.names and width == 1:
            column = policy.features[:, policy.names.index(_DEFAULT)]
            return np.arange(len(policy)), column.reshape(-1, 1)
        nothing = np.zeros(0, dtype=np.int64), np.zeros((0, width))
        if not baseline or (baseline.names, baseline.decisions.shape[1]) != (policy.names, width):
            return nothing
        place = {key: row for row, key in enumerate(baseline.keys())}
        pairs = [(row, place[key]) for row, key in enumerate(policy.keys()) if key in place]
        if not pairs:
            return nothing
        rows, others = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
        return rows, baseline.decisions[others]

    def telling(self, most: int = 8) -> list[tuple[str, float]]:
        """Features by which sites of different decisions stand out, the most telling first: how far
        their mean lies from that of the other sites, in standard deviations over all."""
        few, many = self._differing, self._agreeing
        if few.count == 0 or many.count == 0:
            return []
        count = few.count + many.count
        mean = (few.total + many.total) / count
        spread = np.sqrt(np.maximum((few.squares + many.squares) / count - mean**2, 0))
        shift = few.total / few.count - many.total / many.count
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = np.where(spread > 1e-12 * (1 + np.abs(mean)), shift / spread, 0.0)
        order = sorted(range(len(self._names)), key=lambda i: -abs(effect[i]))
        found = [(self._names[i], float(effect[i])) for i in order if effect[i]]
        return [each for each in found if each[0] != _DEFAULT][:most]


def _difference(module: str, policy: Asked, row: int, before: Array) -> Difference:
    return Difference(
        module,
        policy.contexts[row],
        policy.ordinals[row],
        before.tolist(),
        policy.decisions[row].tolist(),
        dict(zip(policy.names, policy.features[row].tolist(), strict=True)),
        {name: column[row] for name, column in policy.labels.items()},
    )
