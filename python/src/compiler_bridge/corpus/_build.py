"""Runs a build with compilers that keep bitcode, and makes a corpus of it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

from . import _cc1, _wrapper
from ._errors import CorpusError
from ._inputs import Input, Tally, add_all
from ._journal import Entry
from ._tools import Toolchain
from ._writer import CorpusWriter

# Below the corpus, which may be large where a system's temporary directory is not. What a killed
# run has left there is taken by the next.
STAGE = ".cbridge-staging"
_GRACE = 5.0  # for a build to remove what it has half made


@dataclass(frozen=True)
class Build:
    """How a build is run and what of it is kept."""

    root: Path
    """What modules are named after."""
    prefix: str = ""
    """Before their names, such as `jansson/`."""
    extra: list[str] = field(default_factory=list)
    """Arguments of the driver when bitcode is made, such as -Oz."""
    jobs: int = 1


@contextlib.contextmanager
def compilers(writer: CorpusWriter, tools: Toolchain, build: Build) -> Iterator[dict[str, str]]:
    """The environment in which a build's compilers keep bitcode, for `collect` to take."""
    folder = Path(tempfile.mkdtemp(prefix="cbridge-compilers-"))
    try:
        stage = (writer.directory / STAGE).resolve()
        _wrapper.write(folder, stage, tools, build.root.resolve(), build.extra)
        yield _wrapper.environment(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path | None = None,
    log: IO[bytes] | None = None,
    timeout: float | None = None,
) -> int:
    """Runs a build to its end; its exit status.

    With a log it has no terminal. Whatever ends it ends all that it has started. At a terminal it
    stays in our process group, to ask and be interrupted there.
    """
    at_terminal = log is None and os.isatty(0)
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=cwd,
            stdin=subprocess.DEVNULL if log else None,
            stdout=log,
            stderr=log,
            start_new_session=log is not None,
            process_group=None if at_terminal or log else 0,
        )
    except OSError as error:
        raise CorpusError(f"cannot run {command[0]!r}: {error.strerror}") from None
    try:
        return process.wait(timeout)
    except BaseException as reason:
        # Ctrl-C of a terminal has reached all of it.
        if not (at_terminal and isinstance(reason, KeyboardInterrupt) and not reason.args):
            _end(process.pid, partial(_kill_tree if at_terminal else os.killpg, process.pid), log)
        process.wait()
        if isinstance(reason, subprocess.TimeoutExpired):
            raise CorpusError(f"takes more than {timeout:.0f} s") from None
        raise


def _end(leader: int, kill: Callable[[int], None], log: IO[bytes] | None) -> None:
    """Ends a child and all that it has started; if a person looks on, asks them first. The child is
    still to be waited for: until then nobody else can have its number."""
    with contextlib.suppress(ProcessLookupError):
        if log is None:
            kill(signal.SIGTERM)
            end = time.monotonic() + _GRACE
            look = os.WEXITED | os.WNOHANG | os.WNOWAIT
            while time.monotonic() < end and os.waitid(os.P_PID, leader, look) is None:
                time.sleep(0.01)
        kill(signal.SIGKILL)


def _kill_tree(leader: int, number: int) -> None:
    """As killpg, for a process and what has come from it and still is below it."""
    found = [leader]
    for pid in found:
        for file in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += map(int, file.read_text().split())
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def build_modules(
    writer: CorpusWriter, tools: Toolchain, build: Build, command: Sequence[str]
) -> tuple[int, Tally]:
    """Runs a build at the terminal, and takes its modules, however it ends."""
    tally = Tally()
    try:
        with compilers(writer, tools, build) as environment:
            status = run(command, environment)
    finally:
        tally = collect(writer, build)
    return status, tally


def collect(writer: CorpusWriter, build: Build) -> Tally:
    """Takes what the compilers have kept into the corpus."""
    stage = writer.directory / STAGE
    if not stage.exists():
        return Tally()
    latest: dict[str, Input] = {}
    for path in sorted(stage.glob("*.job")) + sorted(stage.glob("*.failed")):
        each = _input(path, build.prefix)
        # A source that was compiled twice, the second time in vain, is none that is broken.
        if path.suffix == ".job" or each.source not in latest:
            latest[each.source] = each
    # By name: the order of a parallel build is another each time.
    inputs = sorted(latest.values(), key=lambda each: (each.name, each.source))
    tally = add_all("collecting", writer, inputs, build.jobs)
    lost = len(list(stage.glob("*.lost")))
    shutil.rmtree(stage, ignore_errors=True)
    if lost:
        raise CorpusError(
            f"{stage}: what was compiled could not be kept there, {lost} times; is the disk full?"
        )
    return tally


def _input(path: Path, prefix: str) -> Input:
    name, target, *words = (os.fsdecode(word) for word in path.read_bytes().split(b"\0"))
    # A source can become a part of several programs, compiled for each of them.
    source = f"build {prefix}{name}" if name == target else f"build {prefix}{name} in {target}"
    bitcode = path.with_suffix(".bc")
    if path.suffix == ".job" and bitcode.exists():
        content = hashlib.sha256(bitcode.read_bytes())
        content.update("\0".join(_cc1.code_generation(words)).encode(errors="surrogateescape"))
        version = content.hexdigest()[:16]
    else:
        version = ""

    def add(writer: CorpusWriter) -> Entry:
        if path.suffix == ".failed":
            raise CorpusError(words[0])
        return writer.add(f"{prefix}{name}", bitcode, words, source=source, stamp=version)

    return Input(f"{prefix}{name}", source, version, add)
