"""Training logs: what compilers recorded with `record=DIR/`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._closing import Closing
from .spec import TensorSpec, raw_specs

if TYPE_CHECKING:
    from ._torch import Decisions

__all__ = ["Decision", "Log", "LogWriter", "read", "torch_dataset"]

Column = Any  # an array of shape (n, *shape), or a list of n arrays or (nested) lists of str


@dataclass(frozen=True)
class Decision:
    """One row of a log. `reward` is NaN if nobody told it."""

    context: str
    ordinal: int
    features: dict[str, Any]
    decision: dict[str, Any]
    reward: float


@dataclass(frozen=True)
class Log:
    """The decisions of a log, by columns; a sequence of `Decision`.

    `features` and `decisions` map names to columns: arrays of shape `(n, *shape)` for fixed
    tensors, else lists of n. `decisions` is empty if the log holds none. `reward`, `ordinal` and
    `context_index` are arrays; `contexts[context_index[i]]` is the context of decision i. `cut`
    names the files whose end is missing.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    features: dict[str, Column]
    decisions: dict[str, Column]
    reward: np.ndarray[Any, Any]
    ordinal: np.ndarray[Any, Any]
    context_index: np.ndarray[Any, Any]
    contexts: list[str]
    files: list[str]
    cut: list[str]

    @property
    def complete(self) -> bool:
        """Whether no file was cut off."""
        return not self.cut

    @property
    def context(self) -> list[str]:
        """The context of each decision."""
        return [self.contexts[index] for index in self.context_index]

    @property
    def decision(self) -> Column:
        """The column of the decision, if that is one tensor."""
        if len(self.decisions) != 1:
            raise ValueError(f"the log holds {len(self.decisions)} decision tensors, not one")
        return next(iter(self.decisions.values()))

    def of_context(self, context: str) -> Log:
        """The decisions of one context."""
        try:
            index = self.contexts.index(context)
        except ValueError:
            raise KeyError(f"there is no context {context!r} in the log") from None
        return self.select(np.flatnonzero(self.context_index == index))

    def select(self, rows: Any) -> Log:
        """These decisions: an array of indices, or of truths, one per decision."""
        rows = np.asarray(rows)
        indices = np.flatnonzero(rows) if rows.dtype == bool else rows

        def taken(columns: dict[str, Column]) -> dict[str, Column]:
            return {
                name: [column[i] for i in indices] if isinstance(column, list) else column[indices]
                for name, column in columns.items()
            }

        return Log(
            self.inputs,
            self.outputs,
            taken(self.features),
            taken(self.decisions),
            self.reward[indices],
            self.ordinal[indices],
            self.context_index[indices],
            self.contexts,
            self.files,
            self.cut,
        )

    def __len__(self) -> int:
        return len(self.ordinal)

    def __getitem__(self, index: int) -> Decision:
        if not -len(self) <= index < len(self):
            raise IndexError(f"decision {index} of {len(self)}")
        return Decision(
            self.contexts[self.context_index[index]],
            int(self.ordinal[index]),
            {name: column[index] for name, column in self.features.items()},
            {name: column[index] for name, column in self.decisions.items()},
            float(self.reward[index]),
        )

    def __iter__(self) -> Iterator[Decision]:
        return (self[index] for index in range(len(self)))


def read(path: str | os.PathLike[str]) -> Log:
    """Reads a log, or all logs of a directory, whose tensors must be the same.

    What a compiler that was killed left behind is read as far as it goes: see `Log.cut`.
    """
    raw = _core.read_log(os.fspath(path))
    for side in ("inputs", "outputs"):
        raw[side] = tuple(TensorSpec.from_raw(spec) for spec in raw[side])
    return Log(**raw)


class LogWriter(Closing):
    """Writes a log.

    with LogWriter("x.log", [TensorSpec("size", "int64")], TensorSpec("inline", "int64")) as log:
        log.write("main", {"size": 3}, {"inline": 1}, reward=0.5)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec] | TensorSpec,
    ) -> None:
        self._log = _core.LogWriter(os.fspath(path), raw_specs(inputs), raw_specs(outputs))

    def write(
        self,
        context: str,
        features: Mapping[str, Any],
        decision: Mapping[str, Any],
        reward: float | None = None,
    ) -> None:
        """Writes one decision, and its reward if that is known already."""
        self._log.write(context, dict(features), dict(decision))
        if reward is not None:
            self._log.reward(reward)

    def reward(self, value: float) -> None:
        """Writes how good the latest decision turned out to be."""
        self._log.reward(value)

    def close(self) -> None:
        """Completes the file. Again is fine."""
        self._log.close()


def torch_dataset(
    path: str | os.PathLike[str] | Log,
    *,
    features: Sequence[str] | None = None,
    transform: Callable[[dict[str, Any]], Any] | None = None,
) -> Decisions:
    """The decisions of a log as a PyTorch dataset, for a `DataLoader`.

    An item is a dict: each feature (or those of `features`) and each decision by its name, and
    `"reward"`. Fixed tensors and numbers are torch tensors and collate as they are; for others
    give the loader a `collate_fn`. `transform` is applied to each item.
    """
    try:
        from ._torch import Decisions
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] != "torch":
            raise
        raise ImportError(
            "torch_dataset needs PyTorch: pip install 'compiler-bridge[torch]'"
        ) from error
    log = path if isinstance(path, Log) else read(path)
    names = list(log.features) if features is None else list(features)
    if unknown := set(names) - set(log.features):
        raise KeyError(f"the log has no feature {sorted(unknown)}; there are {list(log.features)}")
    return Decisions(log, names, transform)
