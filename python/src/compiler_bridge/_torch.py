"""Training logs for PyTorch: imported only where that is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from .log import Log


def _convert(value: Any) -> Any:
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


class Decisions(Dataset):
    """See `compiler_bridge.log.torch_dataset`. Can be pickled, for the workers of a loader."""

    def __init__(
        self, log: Log, features: list[str], transform: Callable[[dict[str, Any]], Any] | None
    ) -> None:
        chosen = {name: log.features[name] for name in features}
        if twice := [name for name in (*log.decisions, "reward") if name in chosen]:
            raise ValueError(f"{twice} names a feature and a decision; choose other features")
        columns = {**chosen, **log.decisions, "reward": log.reward.astype(np.float32)}
        self._columns = {name: _convert(column) for name, column in columns.items()}
        self._length = len(log)
        self._transform = transform

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Any:
        if not -self._length <= index < self._length:
            raise IndexError(f"decision {index} of {self._length}")
        item = {name: _convert(column[index]) for name, column in self._columns.items()}
        return self._transform(item) if self._transform else item
