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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

MOST_OUTPUT = 1 << 28  # what a program that went wrong can write before it is stopped


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
    """Starts processes from any thread; `stop` ends all of them, and starts no more. Each is in a
    session of its own: a terminal's Ctrl-C reaches only us, who end it and all that it started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._stopped = False

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            self._kill()

    @contextlib.contextmanager
    def stopping(self) -> Iterator[None]:
        """As `stop`, for as long as it takes to end the threads that have started them."""
        with self._lock:
            before, self._stopped = self._stopped, True
            self._kill()
        try:
            yield
        finally:
            with self._lock:
                self._stopped = before

    def _kill(self) -> None:
        for group in self._groups:
            os.killpg(group, signal.SIGKILL)

    def run(
        self,
        command: Sequence[str],
        timeout: float,
        *,
        environment: Mapping[str, str] | None = None,
        folder: str | os.PathLike[str] | None = None,
        stdin: Path | None = None,
        stdout: Path | IO[bytes] | None = None,
        stderr: IO[bytes] | None = None,
        most_stderr: int = 1 << 16,
        most_output: int | None = MOST_OUTPUT,
    ) -> Finished:
        """Runs a command to its end. Its standard output is lost unless a file is named; of its
        standard error so much is told. It can write files of `most_output` bytes."""
        with contextlib.ExitStack() as files:
            errors = stderr or files.enter_context(tempfile.TemporaryFile())
            source = files.enter_context(open(stdin or os.devnull, "rb"))
            if stdout is None or isinstance(stdout, Path):
                stdout = files.enter_context(open(stdout or os.devnull, "wb"))
            process = self._start(
                command, environment, folder, (source, stdout, errors), most_output
            )
            status, usage = self._wait(process, timeout)
            errors.seek(0)
            text = errors.read(most_stderr).decode(errors="replace")
        return Finished(status, usage.ru_utime + usage.ru_stime, text)

    def _start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None,
        folder: str | os.PathLike[str] | None,
        streams: tuple[IO[bytes], IO[bytes], IO[bytes]],
        most_output: int | None,
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise Stopped
            process = subprocess.Popen(
                command,
                env=environment,
                cwd=folder,
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                start_new_session=True,
            )
            self._groups.add(process.pid)
            if most_output is not None:
                # Where a lower limit is set already, that one stays.
                with contextlib.suppress(OSError, ValueError):
                    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most_output, most_output))
            return process

    def _wait(
        self, process: subprocess.Popen[bytes], timeout: float
    ) -> tuple[int | None, resource.struct_rusage]:
        handle = os.pidfd_open(process.pid)
        in_time = False
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            in_time = bool(poll.poll(timeout * 1000))
        finally:
            # Also if this is the main thread, and was interrupted.
            os.close(handle)
            usage = self._end(process)
        if self._stopped:
            raise Stopped
        return process.returncode if in_time else None, usage

    def _end(self, process: subprocess.Popen[bytes]) -> resource.struct_rusage:
        """Waits for a process, which ends now if it has not."""
        with self._lock:
            # Until it is waited for, nobody else can have its number.
            os.killpg(process.pid, signal.SIGKILL)
            self._groups.remove(process.pid)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        return usage


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
