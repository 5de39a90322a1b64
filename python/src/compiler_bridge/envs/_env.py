"""What the environments share: modules of a corpus, one compile per episode."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .._compile_worker import Compiled, CompileWorker
from .._core import Request
from .._scratch import Scratch, in_memory
from ..corpus import Corpus, Module
from ..errors import BridgeError
from ..spec import TensorSpec
from ._channel import Channel
from ._episode import Episode, Task
from ._modules import Modules
from ._spaces import space_of

Observation = dict[str, NDArray[Any]]
Info = dict[str, Any]
# Modules in a row that cannot be compiled before the compiler is to blame.
_MOST_FAILURES = 10


class EpisodeError(BridgeError):
    """There is no episode to be had: "asks_nothing" or "compile_failed"."""


class CompileEnv(gymnasium.Env[Observation, np.int64]):
    """An episode is the compile of a module, a step one decision of the compiler.

    The compiler is a process of its own, and each compile a child of that. Nothing is started
    before `reset`, and `close` ends and removes all of it.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as gymnasium declares it

    def __init__(
        self,
        corpus: str | os.PathLike[str] | Corpus,
        modules: Sequence[str] | None,
        specs: Sequence[TensorSpec],
        choices: int,
        *,
        arguments: Sequence[str],
        timeout: float,
        max_decisions: int | None,
    ) -> None:
        if not timeout > 0 or (max_decisions is not None and max_decisions < 1):
            raise ValueError("timeout and max_decisions are greater than 0")
        if isinstance(arguments, str):
            raise TypeError("arguments are a list; for one write [argument]")
        self._modules = Modules(corpus, modules)
        self._arguments, self._timeout = tuple(arguments), timeout
        self._max_decisions = max_decisions
        self.observation_space = space_of(specs)
        self.action_space = spaces.Discrete(choices)
        self._specs = tuple(specs)
        self._baselines: dict[str, Mapping[str, float]] = {}
        self._folder: Path | None = None
        self._remove_folder: weakref.finalize[..., Any] | None = None
        self._channel: Channel | None = None
        self._worker: CompileWorker | None = None
        self._episode: Episode | None = None
        self._ahead = ""  # what was begun: "reset" or "step"
        self._mask = np.ones(choices, np.int8)
        self._decisions = self._illegal = 0

    # What makes them different.

    def _open(self, folder: Path) -> Channel:
        raise NotImplementedError

    def _new_worker(self) -> CompileWorker:
        return CompileWorker()

    def _task(self, module: Module, asks: bool) -> Task:
        raise NotImplementedError

    def _measure(self, compiled: Compiled) -> Mapping[str, float]:
        """What is told at the end."""
        return {"text": compiled.text, "total": compiled.total}

    def _reward(self, measured: Mapping[str, float], baseline: Mapping[str, float]) -> float:
        raise NotImplementedError

    def _observe(self, request: Request) -> Observation:
        return {spec.name: request[spec.name] for spec in self._specs}

    def _mask_of(self, observation: Observation) -> NDArray[np.int8]:
        return np.ones_like(self._mask)

    def _complaint(self, compiled: Compiled) -> str:
        """Why a compile that went well asked nothing, if that is not the module's fault."""
        return ""

    # What gymnasium calls.

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Starts to compile `options["module"]`, or a module that is drawn."""
        super().reset(seed=seed)
        if unknown := set(options or {}) - {"module"}:
            raise ValueError(f"options: there is no {min(unknown)!r}, but 'module'")
        name = (options or {}).get("module")
        if seed is not None or name is not None or self._ahead != "reset":
            self._drop()
        self._ahead = ""
        self._decisions = self._illegal = 0
        failures = 0
        while True:
            module = self._episode.task.module if self._episode else self._choose(name)
            request, why = self._first_question(module)
            if request is not None:
                observation = self._observe(request)
                return observation, {"module": module.name, **self._masked(observation)}
            if why:
                failures += 1
                if name is not None or failures == _MOST_FAILURES:
                    raise EpisodeError("compile_failed", f"{module.name}: {why}")
            else:
                self._modules.asks_nothing(module)
                if name is not None or self._modules.all_silent:
                    which = module.name if name is not None else "no module of these"
                    raise EpisodeError("asks_nothing", f"{which}: there is nothing to decide")

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, Info]:
        """Takes a decision and waits for the next question, or the end of the compile."""
        if self._ahead != "step":
            self._decide(action)
        self._ahead = ""
        episode = self._episode
        assert episode is not None
        if (request := episode.next()) is None:
            return self._end(self._nothing())
        observation = self._observe(request)
        if self._decisions == self._max_decisions:
            episode.finish()
            return self._end(observation, truncated=True)
        return observation, 0.0, False, False, self._masked(observation)

    def check(self, action: Any) -> None:
        """Refuses what is no decision at all."""
        if not self.action_space.contains(action):
            raise ValueError(f"{action} is no decision; there are 0 to {len(self._mask) - 1}")

    def share(self, other: CompileEnv) -> None:
        """What one of them learns of the modules, which are the same, the other knows as well."""
        self._modules, self._baselines = other._modules, other._baselines

    def ahead(self, action: Any) -> None:
        """Begins what `step(action)`, or after the end of an episode `reset()`, will wait for.
        Several compilers work at a time if all begin before the first is waited for."""
        if self._ahead:
            return
        if self._episode is None:
            self._begin(self._choose(None))
            self._ahead = "reset"
        else:
            self._decide(action)
            self._ahead = "step"

    def action_masks(self) -> NDArray[np.bool_]:
        """Which decisions are legal now, as sb3-contrib's MaskablePPO asks for it."""
        return self._mask.astype(np.bool_)

    def close(self) -> None:
        self._drop()
        if self._worker is not None:
            self._worker.close()
        if self._channel is not None:
            self._channel.close()
        if self._remove_folder is not None:
            self._remove_folder()
        self._worker = self._channel = self._folder = self._remove_folder = None

    def _choose(self, name: str | None) -> Module:
        return self._modules.draw(self.np_random) if name is None else self._modules.named(name)

    def _first_question(self, module: Module) -> tuple[Request | None, str]:
        """None if there is none, and why if it should have asked."""
        why = ""
        for _ in range(2):  # a worker that died of something else gets another chance
            episode = self._episode or self._begin(module)
            if (request := episode.next()) is not None:
                return request, ""
            self._forget()
            why = episode.result.why or self._complaint(episode.result)
            if not why:
                break
        return None, why

    def _begin(self, module: Module) -> Episode:
        if self._channel is None:
            self._channel = self._open(self._scratch())
        task = self._task(module, asks=True)
        self._episode = Episode(task, self._ready_worker(), self._channel, self._timeout)
        return self._episode

    def _decide(self, action: Any) -> None:
        if self._episode is None or self._ahead:
            raise gymnasium.error.ResetNeeded("the episode is over, or has not begun: call reset()")
        self.check(action)
        self._decisions += 1
        self._illegal += not self._mask[int(action)]
        self._episode.reply(int(action))

    def _end(
        self, observation: Observation, truncated: bool = False
    ) -> tuple[Observation, float, bool, bool, Info]:
        episode = self._episode
        assert episode is not None
        self._forget()
        self._mask = np.ones_like(self._mask)
        module, result = episode.task.module, episode.result
        info: Info = {
            "action_mask": self._mask.copy(),
            "module": module.name,
            "decisions": self._decisions,
            "illegal_actions": self._illegal,
        }
        try:
            if result.failure:
                raise EpisodeError("compile_failed", result.why)
            measured, baseline = self._measure(result), self._baseline(module)
        except EpisodeError as error:
            info["failure"] = str(error)
            return observation, 0.0, False, True, info
        info.update(measured)
        info.update({f"baseline_{name}": value for name, value in baseline.items()})
        return observation, self._reward(measured, baseline), not truncated, truncated, info

    def _baseline(self, module: Module) -> Mapping[str, float]:
        if (known := self._baselines.get(module.name)) is not None:
            return known
        task = self._task(module, asks=False)
        worker, self._worker = self._ready_worker(), None
        try:
            done = worker.compile(
                task.arguments, environment=task.environment, timeout=self._timeout
            )
        except BaseException:  # its answer is not for the next one to hear
            worker.close()
            raise
        self._worker = worker
        if done.failure:
            raise EpisodeError("compile_failed", f"by LLVM's own heuristic: {done.why}")
        return self._baselines.setdefault(module.name, self._measure(done))

    def _masked(self, observation: Observation) -> Info:
        self._mask = self._mask_of(observation)
        return {"action_mask": self._mask.copy()}

    def _nothing(self) -> Observation:
        """What is observed once nothing is asked any more."""
        return {spec.name: np.zeros(spec.shape, spec.dtype) for spec in self._specs}

    def _forget(self) -> None:
        """The compile at hand is over."""
        if (episode := self._episode) is None:
            return
        if episode.stopped:
            self._worker = None
        if episode.result.failure and self._channel is not None:
            # Its last question may still come: no other asks there.
            self._channel.close()
            self._channel = None
        self._episode = None

    def _drop(self) -> None:
        if self._episode is not None:
            self._episode.stop("another episode was begun")
            self._forget()
        self._ahead = ""

    def _ready_worker(self) -> CompileWorker:
        if self._worker is None:
            self._worker = self._new_worker()
        return self._worker

    def _scratch(self) -> Path:
        """A folder of its own, in memory if there is room for files."""
        if self._folder is None:
            made = Scratch("cbridge-env-", in_memory())
            self._folder = made.path
            self._remove_folder = weakref.finalize(self, made.close)
        return self._folder
