"""The model's end: serving compilers."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from ._closing import Served
from ._core import Request
from .spec import TensorSpec, raw_specs

#: What a forked worker must let go of.
serving: weakref.WeakSet[_core.Peer] = weakref.WeakSet()


def _before_fork() -> None:
    for peer in list(serving):
        peer._before_fork()


def _after_fork() -> None:
    for peer in list(serving):
        peer._after_fork()


def _let_go() -> None:
    """A forked worker must not keep compilers waiting for a trainer that is gone."""
    for peer in list(serving):
        peer._forked()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_let_go)


class CompilerInterface(Served):
    """Answers the questions of compilers at an address such as `shm:name` or `pipe:/tmp/x/base`.

    Without an address it is the peer that a runner started (`spawn=`). Over a pipe, one compiler
    after the other is served; in shared memory any number of them, one question at a time (see
    CompilerPool for many). One that lies or dies ends only its own session, which is logged as a
    warning of the logger `compiler_bridge`.

        with CompilerInterface("pipe:/tmp/x/base") as compiler:
            for request in compiler:
                compiler.reply({"action": policy(request["embedding"])})

    An episode ends with one more request, whose `done` is true: it repeats the last features,
    carries the last reward, and a reply to it is ignored. `truncated` says that the compiler died.
    The loop ends after `sessions` sessions, when the compiler that started this peer is gone, or
    after `close()`, which any thread may call. Ctrl-C works while waiting.

    `inputs` and `outputs`: refuse compilers that do not send these features or want another
    decision. `max_message`: refuse larger messages (bytes). `copy=False`: arrays may lie in the
    compiler's own memory (`shm:`), where they are valid only until the reply.
    """

    def __init__(
        self,
        address: str = "",
        *,
        inputs: Sequence[TensorSpec] | None = None,
        outputs: Sequence[TensorSpec] | TensorSpec | None = None,
        sessions: int = 0,
        max_message: int = 1 << 30,
        copy: bool = True,
    ) -> None:
        super().__init__(
            [address], raw_specs(inputs), raw_specs(outputs), sessions, max_message, copy
        )
        self._stored: Mapping[str, Any] | Any | None = None
        serving.add(self)

    @property
    def address(self) -> str:
        """Where it serves."""
        return self.addresses[0]

    def populate_buffer(self, decision: Mapping[str, Any] | Any) -> None:
        """Stores the reply that the next `evaluate` sends."""
        self._stored = decision

    def evaluate(self, timeout: float | None = None) -> Request | None:
        """Sends what is stored, if anything, and waits for the next request.

        None says that there will be no more requests.
        """
        if self._stored is not None:
            self.reply(self._stored)
            self._stored = None
        return self.next(timeout)
