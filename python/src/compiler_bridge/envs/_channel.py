"""Where a compiler asks, and how one learns that it has ended."""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path
from typing import Protocol

from .. import _core
from .._core import Request
from ..errors import BridgeError, BridgeTimeout
from ..llvm import InteractiveHost
from ..pool import CompilerPool
from ..runner import Runner
from ..spec import TensorSpec

# A policy may think as long as it likes; a compiler whose policy has died knows at once.
_PATIENCE = "timeout=1000000s"
# How long one that has ended may take to say so.
_DRAIN = 10.0
_ENDED = TensorSpec("compile_ended", "int64")
_HEARD = TensorSpec("heard", "int64")
_LOGGER = logging.getLogger("compiler_bridge")


class Channel(Protocol):
    """The questions of one compile after the other. Of one thread, except for `ended`."""

    def next(self, timeout: float) -> Request | None:
        """The next question; None if the compile has ended. BridgeTimeout after so many seconds."""

    def reply(self, decision: int) -> None: ...

    def decline(self) -> None:
        """Leaves the latest question to LLVM."""

    def ended(self) -> None:
        """Says that the compile has ended, and waits until that is heard."""

    def drain(self) -> None:
        """Hears that the compile has ended, which it has; what it asked before is dropped."""

    def close(self) -> None: ...


class PoolChannel:
    """A pool with two addresses: at the first the compiler asks, at the second the thread that
    waits for it tells when it has ended. Both wake the one that waits for questions."""

    def __init__(self) -> None:
        self._pool = CompilerPool(2, max_batch=1)
        self._asks_at, self._ends_at = self._pool.addresses
        _LOGGER.addFilter(self._is_news)
        self._asked: _core.Batch | None = None
        self._notices: Runner | None = None

    @property
    def address(self) -> str:
        return f"{self._asks_at}?{_PATIENCE}"

    def next(self, timeout: float) -> Request | None:
        while (batch := self._pool.next(timeout)) is not None:
            if not len(batch):
                continue  # the end of a session, of which the thread tells more
            if batch.workers[0]:
                batch.reply(1)
                return None
            self._asked = batch
            return batch.requests[0]
        return None

    def reply(self, decision: int) -> None:
        assert self._asked is not None
        self._asked.reply(decision)

    def decline(self) -> None:
        assert self._asked is not None
        self._asked.fail("the rest is left to LLVM")

    def ended(self) -> None:
        with contextlib.suppress(BridgeError):  # closed: nobody wants to hear it
            if self._notices is None:
                self._notices = Runner(f"{self._ends_at}?{_PATIENCE}", [_ENDED], _HEARD)
            self._notices.evaluate({_ENDED.name: 1})

    def drain(self) -> None:
        with contextlib.suppress(BridgeTimeout):
            while self.next(_DRAIN) is not None:
                pass

    def close(self) -> None:
        if self._notices is not None:
            self._notices.close()
        self._pool.close()
        _LOGGER.removeFilter(self._is_news)

    def _is_news(self, record: logging.LogRecord) -> bool:
        """That a compile was ended here, or has failed, episodes tell."""
        return self._asks_at not in record.getMessage()


class HostChannel:
    """LLVM's interactive protocol, which is all that its allocator of registers speaks."""

    def __init__(self, folder: Path) -> None:
        self._base = folder / "channel"
        self._host = InteractiveHost(self._base, "evict")
        self._ended = os.eventfd(0, os.EFD_CLOEXEC)

    def flags(self) -> list[str]:
        return self._host.flags()

    def next(self, timeout: float) -> Request | None:
        request = self._host._next(timeout, self._ended)
        if request is None:
            self.drain()
        return request

    def reply(self, decision: int) -> None:
        self._host.reply(decision)  # what is not legal is replaced

    def decline(self) -> None:
        """The next call of `next` does it."""

    def ended(self) -> None:
        os.eventfd_write(self._ended, 1)

    def drain(self) -> None:
        os.eventfd_read(self._ended)
        # A compiler that died may have left an answer in its FIFO, for which the next one must
        # not take it.
        self._host.close()
        self._host = InteractiveHost(self._base, "evict")

    def close(self) -> None:
        self._host.close()
        os.close(self._ended)
