"""Child processes with a deadline, whose processor time is known."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_MOST_OUTPUT = 1 << 28  # what a program that went wrong can write before it is stopped


class Stopped(Exception):  # noqa: N818 - as KeyboardInterrupt
    """The run was stopped."""


@dataclass(frozen=True)
class Finished:
    """How a process ended. `status` is negative for a signal, None if it took too long."""

    status: int | None
    seconds: float
    stderr: str

    @property
    def why(self) -> str:
        """What went wrong, in one line."""
        if self.status is None:
            return "took too long"
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        # Clang's crashes begin with a request to report them.
        telling = [line for line in lines if "error:" in line or "rror: " in line] or lines
        detail = f": {telling[0]}" if telling else ""
        if self.status < 0:
            return f"ended by {_signal_name(-self.status)}{detail}"
        return f"exit status {self.status}{detail}"


class Children:
    """Starts processes from any thread; `stop` ends all of them, and starts no more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._stopped = False

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for group in self._groups:
                os.killpg(group, signal.SIGKILL)

    def check(self) -> None:
        """Raises Stopped if they are."""
        if self._stopped:
            raise Stopped

    def run(
        self,
        command: Sequence[str],
        timeout: float,
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        stdin: Path | None = None,
        stdout: Path | None = None,
        most_stderr: int = 1 << 16,
    ) -> Finished:
        """Runs a command to its end. Its standard output is lost unless a file is named."""
        with (
            tempfile.TemporaryFile() as errors,
            open(stdin or os.devnull, "rb") as source,
            open(stdout or os.devnull, "wb") as sink,
        ):
            process = self._start(command, environment, folder, source, sink, errors)
            status, usage = self._wait(process, timeout)
            errors.seek(0)
            text = errors.read(most_stderr).decode(errors="replace")
        return Finished(status, usage.ru_utime + usage.ru_stime, text)

    def _start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None,
        folder: Path | None,
        source: IO[bytes],
        sink: IO[bytes],
        errors: IO[bytes],
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise Stopped
            process = subprocess.Popen(
                command,
                env=environment,
                cwd=folder,
                stdin=source,
                stdout=sink,
                stderr=errors,
                start_new_session=True,
            )
            self._groups.add(process.pid)
            # Where a lower limit is set already, that one stays.
            with contextlib.suppress(OSError, ValueError):
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (_MOST_OUTPUT, _MOST_OUTPUT))
            return process

    def _wait(
        self, process: subprocess.Popen[bytes], timeout: float
    ) -> tuple[int | None, resource.struct_rusage]:
        handle = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            in_time = bool(poll.poll(timeout * 1000))
        finally:
            os.close(handle)
        with self._lock:
            # Until it is waited for, nobody else can have its number.
            os.killpg(process.pid, signal.SIGKILL)
            self._groups.remove(process.pid)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if self._stopped:
                raise Stopped
        return process.returncode if in_time else None, usage


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
