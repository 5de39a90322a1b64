"""Which calls to inline."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from .._compile_worker import Compiled, CompileWorker
from .._plugin import find_plugin
from ..corpus import Corpus, Module
from ..inlining._names import EXTRA_FEATURES
from ._channel import PoolChannel
from ._env import CompileEnv
from ._episode import Task
from ._spaces import inline_specs

_METRICS = ("text", "total")


class InlineEnv(CompileEnv):
    """`compiler_bridge/Inline-v0`: for each call that LLVM may inline, but need not, 1 or 0.

        env = gymnasium.make("compiler_bridge.envs:compiler_bridge/Inline-v0", corpus="training")

    `corpus`: where the modules are, which are compiled as their commands say; `modules`: names of
    those to be used. `features`: names of features beyond LLVM's 38, or ["all"]. `arguments`:
    more of `clang -cc1`.

    The reward comes at the end: which part of the code that LLVM's own heuristic makes is saved.
    `metric`: of "text", the code, or "total", all that is loaded.

    `timeout`: seconds that a compile may take, without the time it waits for decisions.
    `max_decisions`: after so many, LLVM decides the rest and the episode is truncated. `plugin`:
    the pass plugin, if it is not that of this package.
    """

    def __init__(
        self,
        corpus: str | os.PathLike[str] | Corpus,
        modules: Sequence[str] | None = None,
        *,
        features: Sequence[str] = (),
        metric: str = "text",
        arguments: Sequence[str] = (),
        timeout: float = 60.0,
        max_decisions: int | None = None,
        plugin: str | os.PathLike[str] | None = None,
    ) -> None:
        if metric not in _METRICS:
            raise ValueError(f"{metric!r} is no metric; there are {', '.join(_METRICS)}")
        if isinstance(features, str):
            raise TypeError("features are a list; for one write [name]")
        specs = inline_specs(features)
        super().__init__(
            corpus,
            modules,
            specs,
            2,
            arguments=arguments,
            timeout=timeout,
            max_decisions=max_decisions,
        )
        self._metric = metric
        self._extra = ",".join(spec.name for spec in specs if spec.name in EXTRA_FEATURES)
        self._plugin = find_plugin(plugin)

    def _open(self, folder: Path) -> PoolChannel:
        channel = PoolChannel()
        self._address = channel.address
        return channel

    def _new_worker(self) -> CompileWorker:
        return CompileWorker([self._plugin])

    def _task(self, module: Module, asks: bool) -> Task:
        environment: dict[str, str | None] = {
            "CBRIDGE_DISABLE": None,
            "CBRIDGE_INLINE_EXPLAIN": None,
            "CBRIDGE_INLINE_FEATURES": self._extra or None,
            "CBRIDGE_INLINE_MODEL": self._address if asks else None,
        }
        plugin = [f"-fpass-plugin={self._plugin}"] if asks else []
        command = module.compile_command(output=os.devnull, extra=[*self._arguments, *plugin])
        return Task(module, command[1:], environment)

    def _reward(self, measured: Mapping[str, float], baseline: Mapping[str, float]) -> float:
        least = max(baseline[self._metric], 1)
        return (baseline[self._metric] - measured[self._metric]) / least

    def _complaint(self, compiled: Compiled) -> str:
        # The plugin says so if it could not ask.
        lines = [line for line in compiled.printed.splitlines() if self._address in line]
        return lines[0] if lines else ""
