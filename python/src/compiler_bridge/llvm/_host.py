"""The other end of LLVM's interactive protocol."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from .. import _core
from .._core import Request
from ..errors import BridgeTimeout

#: The options of LLVM that make it ask: which advisor, and where it asks.
_OPTIONS = {
    "inline": ("-enable-ml-inliner=release", "-inliner-interactive-channel-base="),
    "evict": (
        "-regalloc-enable-advisor=release",
        "-regalloc-evict-interactive-channel-base=",
    ),
    "priority": (
        "-regalloc-enable-priority-advisor=release",
        "-regalloc-priority-interactive-channel-base=",
    ),
}
#: How long a compiler may take to remove its temporary files.
_GRACE = 5.0


@dataclass(frozen=True)
class Counts:
    """What happened at a channel."""

    compilers: int
    questions: int
    #: Decisions that were not legal or not given, in whose place a legal one was sent.
    replaced: int


class InteractiveHost(_core.InteractiveHost):
    """Answers stock LLVM 19 compilers that ask over FIFOs `BASE.in` and `BASE.out`.

        with InteractiveHost(decisions="evict") as host:
            for request in host.run(["clang-19", *host.flags(), "-O2", "-c", "a.c"]):
                host.reply(policy(request["mask"], request["li_size"]))

    `decisions` says what is asked for: "inline", "evict" (which register to free), "priority"
    (which value gets its register first), or several of them, each then at `BASE-DECISION`.
    Without `base`, a private directory is made. `request.context` is the function;
    `host.decision_of(request)` what it asks for. Compilers come one after the other.

    What LLVM could not bear, such as an eviction outside of the mask, is replaced by a legal
    decision and counted; so is a question that gets no reply before the next request is fetched.

    `run` starts a compiler and ends with it, also if it asks nothing. `for request in host`
    serves compilers that others start, until `close()`, which any thread may call. These must
    have ended before: without a host LLVM waits for ever.
    """

    def __init__(
        self,
        base: str | os.PathLike[str] | None = None,
        decisions: str | Sequence[str] = "evict",
    ) -> None:
        names = [decisions] if isinstance(decisions, str) else list(decisions)
        for name in names:
            if name not in _OPTIONS:
                raise ValueError(f"{name!r} is no decision; there are {', '.join(_OPTIONS)}")
        if not names or len(set(names)) != len(names):
            raise ValueError("name each decision once")
        self._owner = os.getpid()
        self._folder = tempfile.mkdtemp(prefix="cbridge-") if base is None else None
        if base is None:
            base = f"{self._folder}/channel"
        path = os.path.abspath(base)
        self._bases = {name: path if len(names) == 1 else f"{path}-{name}" for name in names}
        self._commands: set[subprocess.Popen[Any]] = set()
        #: Of the latest command that `run` has run to its end.
        self.returncode: int | None = None
        try:
            super().__init__(list(self._bases.values()))
        except BaseException:
            self._remove_folder()
            raise

    @property
    def bases(self) -> dict[str, str]:
        """Where each decision is asked for."""
        return dict(self._bases)

    @property
    def counts(self) -> dict[str, Counts]:
        """What happened so far; empty after `close()`."""
        return {
            name: Counts(*counts) for name, counts in zip(self._bases, self._counts(), strict=False)
        }

    def decision_of(self, request: Request) -> str:
        """What a request asks for."""
        return list(self._bases)[request.worker]

    def flags(self, tool: str = "clang") -> list[str]:
        """The options that make a compiler ask here: "clang", or "opt", "llc" and the like."""
        options = []
        for name, base in self._bases.items():
            advisor, channel = _OPTIONS[name]
            for option in (advisor, channel + base):
                options += ["-mllvm", option] if tool.startswith("clang") else [option]
        return options

    def next(self, timeout: float | None = None) -> Request | None:
        """The next request; None after `close()`, BridgeTimeout after so many seconds."""
        return self._next(timeout, -1)

    def __iter__(self) -> Iterator[Request]:
        return self

    def __next__(self) -> Request:
        request = self._next(None, -1)
        if request is None:
            raise StopIteration
        return request

    def run(self, command: Sequence[str | os.PathLike[str]], **options: Any) -> Iterator[Request]:
        """Starts a compiler and gives its requests until it ends; see `returncode` then.

        `options` are those of `subprocess.Popen`. A loop that is left early ends the compiler.
        """
        self._forget_the_dead()
        # A group of its own: what it starts ends with it.
        with subprocess.Popen(command, start_new_session=True, **options) as process:
            self._commands.add(process)
            ended = os.pidfd_open(process.pid)
            try:
                while (request := self._next(None, ended)) is not None:
                    yield request
                if process.poll() is None:  # closed, by another thread
                    _end(process)
                self.returncode = process.wait()
            finally:
                _end(process)
                os.close(ended)
                self._commands.discard(process)

    def close(self) -> None:
        """Ends what `run` has started, and removes the FIFOs."""
        for process in list(self._commands):
            _end(process)
        self._close()
        self._remove_folder()

    def _forget_the_dead(self) -> None:
        """A compiler that was killed may have left a question, and an answer that it never fetched.
        The next one could fetch that before its own question is read here: compilers ask without
        waiting for anybody."""
        with contextlib.suppress(BridgeTimeout):
            # What has no answer yet gets one, which goes the same way.
            while self._next(0.0, -1) is not None:
                pass
        for base in self._bases.values():
            with contextlib.suppress(OSError):  # closed
                answers = os.open(f"{base}.in", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                with open(answers, "rb", buffering=0) as file:
                    while file.read(1 << 16):
                        pass

    def _remove_folder(self) -> None:
        if self._folder and self._owner == os.getpid():  # not by a forked worker
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> InteractiveHost:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _end(process: subprocess.Popen[Any]) -> None:
    """Ends a compiler and what it has started, if it still runs."""
    if process.poll() is not None:
        return
    for by in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, by)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
            return
