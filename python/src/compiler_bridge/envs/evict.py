"""Which register to free when none is left."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .._compile_worker import Compiled
from .._core import Request
from ..corpus import Corpus, Module
from ._channel import HostChannel
from ._cost import register_cost
from ._env import CompileEnv, EpisodeError, Observation
from ._episode import Task
from ._spaces import POSITIONS, evict_specs


class EvictEnv(CompileEnv):
    """`compiler_bridge/Evict-v0`: whose register a value gets that finds none free, 0 to 31, or 32
    for nobody's. `info["action_mask"]` and `action_masks()` tell which are possible.

    Another decision is replaced by one near LLVM's own, and counted: `info["illegal_actions"]`.

    The reward comes at the end: which part of what spills, reloads and copies cost by LLVM's own
    heuristic is saved, each as often as LLVM thinks that it is executed per call of its function.
    Where they cost more, it is the negative part of the new costs that the others were less: the
    reward is between -1 and 1. `info` has "cost" and "baseline_cost".

    `corpus`, `modules`, `timeout`, `max_decisions`: as those of InlineEnv. `arguments`: more of
    `clang -cc1`, by default the level at which modules are compiled.
    """

    def __init__(
        self,
        corpus: str | os.PathLike[str] | Corpus,
        modules: Sequence[str] | None = None,
        *,
        arguments: Sequence[str] = ("-O2",),
        timeout: float = 60.0,
        max_decisions: int | None = None,
    ) -> None:
        super().__init__(
            corpus,
            modules,
            evict_specs(),
            POSITIONS,
            arguments=arguments,
            timeout=timeout,
            max_decisions=max_decisions,
        )

    def _open(self, folder: Path) -> HostChannel:
        channel = HostChannel(folder)
        self._flags = channel.flags()
        return channel

    @property
    def _remarks(self) -> Path:
        return self._scratch() / "remarks.yaml"

    def _task(self, module: Module, asks: bool) -> Task:
        self._remarks.unlink(missing_ok=True)  # a compile that fails leaves none behind
        record = ["-opt-record-file", str(self._remarks), "-opt-record-format", "yaml"]
        record += ["-opt-record-passes", "^regalloc$"]
        extra = [*self._arguments, *record, *(self._flags if asks else [])]
        return Task(module, module.compile_command(output=os.devnull, extra=extra)[1:])

    def _measure(self, compiled: Compiled) -> Mapping[str, float]:
        try:
            cost = register_cost(self._remarks.read_text(encoding="utf-8", errors="replace"))
        except (OSError, ValueError) as error:
            raise EpisodeError("compile_failed", f"LLVM's remarks: {error}") from None
        return {"cost": cost, **super()._measure(compiled)}

    def _reward(self, measured: Mapping[str, float], baseline: Mapping[str, float]) -> float:
        most = max(measured["cost"], baseline["cost"])
        return (baseline["cost"] - measured["cost"]) / most if most else 0.0

    def _observe(self, request: Request) -> Observation:
        observation = super()._observe(request)
        # A value that must not be spilled weighs infinitely much, which divided by itself is one.
        density = observation["use_def_density"]
        observation["use_def_density"] = np.where(np.isfinite(density), density, np.float32(1))
        return observation

    def _mask_of(self, observation: Observation) -> NDArray[np.int8]:
        mask: NDArray[np.int8] = (observation["mask"].reshape(-1) != 0).astype(np.int8)
        return mask
