"""A compile whose questions are the steps of an episode."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .._children import Stopped
from .._compile_worker import Compiled, CompileWorker
from .._core import Request
from ..corpus import Module
from ..errors import BridgeError, BridgeTimeout
from ._channel import Channel


@dataclass(frozen=True)
class Task:
    """What is compiled, and how."""

    module: Module
    arguments: Sequence[str]
    environment: Mapping[str, str | None] = field(default_factory=dict)


class Episode:
    """One compile, in a thread. `timeout`: so many seconds it may take, without those in which it
    waits for decisions."""

    def __init__(self, task: Task, worker: CompileWorker, channel: Channel, timeout: float) -> None:
        self.task = task
        self._worker, self._channel, self._timeout = worker, channel, timeout
        self._left = timeout
        self._failure = ""
        self._compiled = Compiled(failure="was not compiled")
        self._error: BaseException | None = None
        self.stopped = self._over = False
        # A program that forgets to close its environment ends all the same.
        self._thread = threading.Thread(target=self._compile, name="cbridge-episode", daemon=True)
        self._thread.start()

    def _compile(self) -> None:
        try:
            self._compiled = self._worker.compile(
                self.task.arguments,
                environment=self.task.environment,
                timeout=1e9,  # that is for us to tell
            )
        except Stopped:
            self._compiled = Compiled(failure="was stopped")
        except BaseException as error:
            self._error = error
        self._channel.ended()

    def next(self) -> Request | None:
        """The next question; None at the end, for which see `result`."""
        start = time.monotonic()
        try:
            request = self._channel.next(max(self._left, 0.0))
        except BridgeTimeout:
            self.stop(f"the compile took longer than {self._timeout:g} s")
            return None
        except BridgeError as error:  # it says what it must not
            self.stop(str(error))
            return None
        finally:
            self._left -= time.monotonic() - start
        if request is None:
            self._join()
            if self._error is not None:
                raise self._error
        return request

    def reply(self, decision: int) -> None:
        self._channel.reply(decision)

    def finish(self) -> None:
        """LLVM decides all the rest, from the question at hand."""
        self._channel.decline()
        while self.next() is not None:
            self._channel.decline()

    def stop(self, why: str) -> None:
        """Ends the compile at hand, and its worker for good."""
        if self._over:  # and that was heard
            return
        self.stopped, self._failure = True, why
        self._worker.close()
        self._channel.drain()
        self._join()

    def _join(self) -> None:
        self._over = True
        self._thread.join()

    @property
    def result(self) -> Compiled:
        """What became of it. Its `failure` is empty if it went well."""
        if self._failure:
            return Compiled(failure=self._failure)
        return self._compiled
