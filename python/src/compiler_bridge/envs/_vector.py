"""Several compilers at a time, in one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import iterate

from ._env import CompileEnv
from .evict import EvictEnv
from .inline import InlineEnv


class CompileVectorEnv(SyncVectorEnv):
    """As SyncVectorEnv, only that all compilers get their decisions before the first one's next
    question is waited for: so many work at a time, and no observation travels between processes of
    Python. What LLVM's own heuristic makes of a module is found out once for all."""

    def __init__(
        self,
        make: Callable[[], CompileEnv],
        num_envs: int,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ) -> None:
        super().__init__([make] * num_envs, autoreset_mode=autoreset_mode)
        self._compilers = cast("list[CompileEnv]", self.envs)
        for other in self._compilers[1:]:
            other.share(self._compilers[0])

    def step(self, actions: Any) -> Any:
        decisions = list(iterate(self.action_space, actions))
        if len(decisions) != self.num_envs:
            raise ValueError(f"{len(decisions)} actions for {self.num_envs} environments")
        for decision in decisions:  # none is sent if one is wrong
            self._compilers[0].check(decision)
        for compiler, decision in zip(self._compilers, decisions, strict=True):
            compiler.ahead(decision)
        return super().step(actions)


def inline_vector(num_envs: int = 1, **options: Any) -> CompileVectorEnv:
    """`gymnasium.make_vec("compiler_bridge/Inline-v0", num_envs, corpus=...)`."""
    return _vector(InlineEnv, num_envs, options)


def evict_vector(num_envs: int = 1, **options: Any) -> CompileVectorEnv:
    """`gymnasium.make_vec("compiler_bridge/Evict-v0", num_envs, corpus=...)`."""
    return _vector(EvictEnv, num_envs, options)


def _vector(
    kind: Callable[..., CompileEnv], num_envs: int, options: dict[str, Any]
) -> CompileVectorEnv:
    mode = options.pop("autoreset_mode", AutoresetMode.NEXT_STEP)
    return CompileVectorEnv(lambda: kind(**options), num_envs, mode)
