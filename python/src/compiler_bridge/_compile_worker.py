"""Clang, ready to compile: processes that fork a child per compile (docs/formats/worker.md)."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._children import Stopped

_PROGRAM = "cbridge-compile-worker"
# How much longer than the compile its answer may take.
_GRACE = 10.0
# Milliseconds that poll(2) can wait, which are 24 days.
_LONGEST = 2**31 - 1
_WORKER_ENDED = "the compile worker ended"
# Failures that are nobody's fault: SIGKILL and SIGTERM, and too little memory for a child.
_ENDED = (
    _WORKER_ENDED,
    "ended by signal 9 ",
    "ended by signal 15 ",
    "fork: ",
    "no memory for the object",
)
# The worker's exit status if it cannot start.
_UNUSABLE = 2


class WorkerError(Exception):
    """There is no worker, or it does not answer."""


@dataclass(frozen=True)
class Compiled:
    """What became of a compile. `failure` is empty if there is an object: of `text` bytes of code,
    `total` bytes that are loaded, and its functions with their sizes."""

    text: int = 0
    total: int = 0
    functions: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    printed: str = ""
    failure: str = ""
    timeout: bool = False

    @property
    def was_ended(self) -> bool:
        """By somebody else, such as a system that is short of memory."""
        return self.failure.startswith(_ENDED)

    @property
    def why(self) -> str:
        """What went wrong, in one line."""
        lines = [line.strip() for line in self.printed.splitlines() if "error:" in line]
        return f"{self.failure}: {lines[0]}" if lines else self.failure


class CompileWorker:
    """One process. Use it from one thread at a time; `close` from any."""

    def __init__(self, plugins: Sequence[str | os.PathLike[str]] = ()) -> None:
        self._command = [str(find()), *(os.fspath(plugin) for plugin in plugins)]
        self._process: subprocess.Popen[str] | None = None
        self._closed = False
        self._lock = threading.Lock()

    def compile(
        self,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str | None] | None = None,
        timeout: float = 300.0,
        object_file: str | os.PathLike[str] | None = None,
    ) -> Compiled:
        """Compiles as `clang ARGUMENTS` would, which begin with -cc1; only that the object goes to
        `object_file`, or nowhere. Variables whose value is None are unset."""
        task: dict[str, object] = {
            "arguments": list(arguments),
            "environment": dict(environment or {}),
            "seconds": timeout,
        }
        if object_file is not None:
            task["object"] = os.fspath(object_file)
        answer = self._ask(json.dumps(task) + "\n", timeout + _GRACE)
        if answer is None:
            if self._closed:
                raise Stopped
            return Compiled(failure=_WORKER_ENDED)
        return Compiled(**answer)

    def _ask(self, line: str, timeout: float) -> dict[str, Any] | None:
        process = self._running()
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(line)
            process.stdin.flush()
            # A line per task: nothing is read that poll would not see.
            poll = select.poll()
            poll.register(process.stdout, select.POLLIN)
            if poll.poll(min(timeout * 1000, _LONGEST)):
                if answer := process.stdout.readline():
                    found: dict[str, Any] = json.loads(answer)
                    return found
                process.wait(_GRACE)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            pass
        # It has ended, been killed, or hangs; the next compile starts another.
        if self._end(process) == _UNUSABLE and not self._closed:
            raise WorkerError(f"{self._command[0]} cannot start; see above")
        return None

    def _running(self) -> subprocess.Popen[str]:
        with self._lock:
            if self._closed:
                raise Stopped
            if self._process is None:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    encoding="utf-8",
                    start_new_session=True,  # a terminal's Ctrl-C is for us to handle
                )
            return self._process

    def _end(self, process: subprocess.Popen[str]) -> int:
        with self._lock:
            if self._process is process:
                self._process = None
        return _end(process)

    def close(self) -> None:
        """Ends it; compiles at hand raise Stopped."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process:
            _end(process)


def _end(process: subprocess.Popen[str]) -> int:
    """Its exit status. Two threads may do this at a time."""
    assert process.stdin
    assert process.stdout
    process.kill()
    status = process.wait()
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):  # what was not written yet
            stream.close()
    return status


class CompileWorkers:
    """Several of them, for any number of threads."""

    def __init__(self, count: int, plugins: Sequence[str | os.PathLike[str]] = ()) -> None:
        self._all = [CompileWorker(plugins) for _ in range(count)]
        self._free: queue.SimpleQueue[CompileWorker] = queue.SimpleQueue()
        for worker in self._all:
            self._free.put(worker)

    def __len__(self) -> int:
        return len(self._all)

    def __enter__(self) -> CompileWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def one(self) -> Iterator[CompileWorker]:
        """One that nobody else uses until this ends."""
        worker = self._free.get()
        try:
            yield worker
        finally:
            self._free.put(worker)

    @contextlib.contextmanager
    def stopping(self) -> Iterator[None]:
        """As Children.stopping, for `for_each`; for good."""
        self.close()
        yield

    def close(self) -> None:
        for worker in self._all:
            worker.close()


def find() -> Path:
    """The program."""
    if given := os.environ.get("CBRIDGE_COMPILE_WORKER"):
        return Path(given)
    path = Path(__file__).parent / "bin" / _PROGRAM
    if not path.is_file():
        raise WorkerError(
            f"there is no {_PROGRAM} in {path.parent}: this package was built without clang's "
            "headers (Debian: libclang-19-dev)",
        )
    return path
