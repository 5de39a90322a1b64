"""Builds packages by plain clang and by cbridge-clang, and runs their own tests."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from _clang import RunError
from _inline_suites import Results, Suite

from compiler_bridge.corpus import CorpusError
from compiler_bridge.corpus._apt import Apt
from compiler_bridge.corpus._fetch import own_folder, settle
from compiler_bridge.corpus._recipes import check_programs, recipe
from compiler_bridge.scoring import _elf

# A suite that fails is run again, so that one whose time ran out on a busy machine is not blamed.
ATTEMPTS = 2
GRACE = 10.0  # seconds that killed processes may take to be gone


@dataclass(frozen=True)
class Compilers:
    """What a package is built with."""

    name: str
    cc: str
    cxx: str
    variables: Mapping[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        ours = ("CBRIDGE_INLINE_", "CBRIDGE_EVICT_", "CBRIDGE_PRIORITY_", "MAKE", "MFLAGS")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
        for name in ("CBRIDGE_DISABLE", "CBRIDGE_BUDGET", "CBRIDGE_CLANG"):
            kept.pop(name, None)
        # Programs of this Python's environment are none of the package's.
        folders = kept.get("PATH", os.defpath).split(os.pathsep)
        kept["PATH"] = os.pathsep.join(each for each in folders if each != f"{sys.prefix}/bin")
        kept |= {"CC": self.cc, "CXX": self.cxx, "CFLAGS": "-Oz", "CXXFLAGS": "-Oz"}
        kept |= {"LC_ALL": "C", "CCACHE_DISABLE": "1", "FORCE_UNSAFE_CONFIGURE": "1"}
        kept |= {"MAKEINFO": "true", "HELP2MAN": "true"}  # nobody reads manuals here
        return {**kept, **self.variables}


@dataclass(frozen=True)
class Tested:
    """Of the tests that pass if plain clang compiles: how many do by the policy, too, and which
    do not. `changed` objects of the build have another size of code: else nothing was tested."""

    passed: int
    total: int
    differ: list[str]
    changed: int = 0

    def __str__(self) -> str:
        return f"{self.passed}/{self.total}"


def compare_results(plain: Results, policy: Results) -> Tested:
    expected = [name for name, passed in plain.items() if passed]
    differ = [name for name in expected if not policy.get(name)]
    return Tested(len(expected) - len(differ), len(expected), differ)


def changed_objects(plain: Path, policy: Path) -> int:
    """Those with another size of code."""
    pairs = [(each, policy / each.relative_to(plain)) for each in plain.rglob("*.o")]
    return sum(_text(a) != _text(b) for a, b in pairs if b.is_file())


def _text(file: Path) -> int | None:
    try:
        return _elf.sizes(file).text
    except _elf.ElfError:
        return None


class Sources:
    """Debian's source packages, unpacked below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._apt: Apt | None = None

    def get(self, name: str) -> Path:
        place = own_folder(self._folder / name)
        if (place / "complete").exists():
            return next(path for path in place.iterdir() if path.is_dir())
        for each in place.iterdir():
            if each.is_dir():
                shutil.rmtree(each)
        if self._apt is None:
            self._apt = Apt(own_folder(self._folder / "apt"))
            self._apt.update()
        unpacked = self._apt.source(name, place)
        settle(unpacked)
        (place / "complete").touch()
        return unpacked


@dataclass(frozen=True)
class TestRun:
    """Builds and tests below a folder, where logs stay; so many jobs, so many seconds per step."""

    folder: Path
    sources: Sources
    jobs: int
    timeout: float

    def run(self, name: str, suite: Suite, plain: Compilers, policy: Compilers) -> Tested:
        try:
            source = self.sources.get(name)
            reference = self._once(name, suite, source, plain)
            result = compare_results(reference, self._once(name, suite, source, policy))
            for _ in range(ATTEMPTS - 1):
                if not result.differ:
                    break
                again = compare_results(reference, self._test(name, suite, policy))
                lost = [each for each in result.differ if each in again.differ]
                result = Tested(result.total - len(lost), result.total, lost)
        except (CorpusError, OSError) as why:
            raise RunError(f"{name}: {why}") from None
        if not result.total:
            raise RunError(f"{name}: no test passes with plain clang; see {self.folder}")
        places = [self._place(name, each) for each in (plain, policy)]
        result = replace(result, changed=changed_objects(*places))
        for place in places:
            shutil.rmtree(place, ignore_errors=True)
        return result

    def _place(self, name: str, compilers: Compilers) -> Path:
        return self.folder / f"{name}-{compilers.name}"

    def _once(self, name: str, suite: Suite, source: Path, compilers: Compilers) -> Results:
        place = self._place(name, compilers)
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(source, place, symlinks=True)
        chosen = suite.build or recipe(name, place)
        check_programs(chosen)
        with open(self.folder / f"{place.name}-build.log", "wb") as log:
            for step in chosen.steps:
                command = [word.format(jobs=self.jobs, cc=compilers.cc) for word in step]
                # What has not been built fails its tests.
                if run_to_end(command, compilers.environment(), place, log, self.timeout) is None:
                    raise RunError(f"{name}: {command[0]} takes too long; see {log.name}")
        return self._test(name, suite, compilers)

    def _test(self, name: str, suite: Suite, compilers: Compilers) -> Results:
        """What has been tested when time is up counts."""
        place = self._place(name, compilers)
        file = self.folder / f"{place.name}-test.log"
        command = [word.format(jobs=self.jobs) for word in suite.test]
        with open(file, "wb") as log:
            run_to_end(command, compilers.environment(), place, log, self.timeout)
        return suite.read(file.read_text(errors="replace"))


def run_to_end(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    log: IO[bytes],
    timeout: float,
) -> int | None:
    """The exit status; None if it took too long. Whatever it has left running in its session, also
    in other process groups, is ended."""
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    in_time = False
    try:
        handle = os.pidfd_open(process.pid)
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            in_time = bool(poll.poll(timeout * 1000))
        finally:
            os.close(handle)
    finally:
        # Until it is waited for, no other session can have its number.
        _end_session(process.pid)
        process.wait()
    return process.returncode if in_time else None


def _end_session(leader: int) -> None:
    os.kill(leader, signal.SIGKILL)
    until = time.monotonic() + GRACE
    while (found := _session(leader)) and time.monotonic() < until:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)  # for the kernel, which takes them away


def _session(leader: int) -> list[int]:
    """Those of its processes that have not ended."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdecimal():
            with contextlib.suppress(OSError):
                fields = (each / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == leader and fields[0] not in "ZX":
                    found.append(int(each.name))
    return found
