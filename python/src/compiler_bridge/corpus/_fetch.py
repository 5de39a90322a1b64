"""Makes a corpus of Debian source packages: unpacked and built in a scratch folder."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import shutil
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .._progress import Progress
from . import _build
from ._apt import Apt
from ._build import Build
from ._errors import CorpusError
from ._inputs import Tally, stamp
from ._journal import BUILT, Entry
from ._recipes import check_programs, recipe
from ._tools import Toolchain
from ._writer import CorpusWriter

LOGS = "logs"
_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]*")  # of Debian's policy; never a path
# In each folder that we empty: whatever else has such a name is somebody's.
_OURS = ".cbridge-fetch"


@dataclass(frozen=True)
class Fetch:
    packages: Sequence[str]
    output: Path
    extra: list[str] = field(default_factory=lambda: ["-Oz", "-g0"])
    """Arguments of the driver when bitcode is made."""
    sources: Path | None = None
    """A list of apt to use instead of the system's."""
    work: Path | None = None
    """Below which to unpack and build, and to leave it; none: in a folder that is removed."""
    without: Sequence[Path] = ()
    """Corpora whose modules this one must not have."""
    jobs: int = 1
    timeout: float = 1800.0
    """Of a package's build, in seconds."""


@dataclass(frozen=True)
class Package:
    """What became of a package."""

    name: str
    tally: Tally | None
    """None if there is nothing of it."""
    trouble: str = ""
    """What of its build went wrong."""


def fetch_packages(what: Fetch, tools: Toolchain) -> Generator[Package, None, None]:
    """One after the other; first those that are there."""
    for name in what.packages:
        if not _NAME.fullmatch(name):
            raise CorpusError(f"{name!r}: is no name of a Debian source package")
    with CorpusWriter(what.output, thinlto=False, without=what.without, tools=tools) as writer:
        version = stamp(*what.extra)
        names = dict.fromkeys(what.packages)
        missing = [name for name in names if not writer.is_done(f"package {name}", version)]
        yield from (Package(name, Tally()) for name in names if name not in missing)
        if not missing:
            return
        with _work_folder(what.work) as work:
            apt = Apt(own_folder(work / "apt"), what.sources)
            apt.update()
            progress = Progress("fetching", len(missing))
            try:
                for name in missing:
                    package = _package(name, what, writer, tools, apt, work, version)
                    progress.clear()
                    yield package
                    progress.advance(name)
            finally:
                progress.close()


@contextlib.contextmanager
def _work_folder(path: Path | None) -> Iterator[Path]:
    if path is not None:
        path.mkdir(parents=True, exist_ok=True)
        yield path.resolve()
        return
    folder = Path(tempfile.mkdtemp(prefix="cbridge-fetch-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def own_folder(path: Path) -> Path:
    """Makes a folder whose contents are ours; refuses one that is there and has others."""
    path.mkdir(parents=True, exist_ok=True)
    mark = path / _OURS
    if not mark.exists():
        if any(path.iterdir()):
            raise CorpusError(
                f"{path}: was not made by cbridge corpus fetch; move it, or use another --work"
            )
        mark.touch()
    return path


def _emptied(path: Path) -> Path:
    """Such a folder, without what an earlier run has left there."""
    for each in own_folder(path).iterdir():
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each)
        elif each.name != _OURS:  # the last to go, whatever ends us
            each.unlink()
    return path


def _package(
    name: str,
    what: Fetch,
    writer: CorpusWriter,
    tools: Toolchain,
    apt: Apt,
    work: Path,
    version: str,
) -> Package:
    source = f"package {name}"
    folder = work / "src" / name
    # What a killed build has left: of which package, nobody knows.
    stage = writer.directory / _build.STAGE
    try:
        shutil.rmtree(stage, ignore_errors=True)
        unpacked = apt.source(name, _emptied(folder))
        settle(unpacked)
        build = Build(unpacked, f"{name}/", what.extra, what.jobs)
        trouble = _run_steps(name, what, writer, tools, build)
        tally = _build.collect(writer, build)
    except (CorpusError, OSError) as error:
        writer.skip(name, str(error), source=source, stamp=version)
        return Package(name, None, str(error))
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        if what.work is None:
            shutil.rmtree(folder, ignore_errors=True)
    if tally == Tally():
        why = trouble or "its build compiled no C or C++"
        writer.skip(name, why, source=source, stamp=version)
        return Package(name, None, why)
    # What does not build for want of a library would not do so next time.
    writer.note(Entry(source, version, BUILT, name, trouble))
    return Package(name, tally, trouble)


# Each is generated from those before it.
_GENERATED = ("aclocal.m4", "configure", "config*h*in", "Makefile.in")


def settle(folder: Path) -> None:
    """Makes what autotools have generated newer than its sources, which Debian's patches touch: the
    tools themselves need not be there."""
    now = time.time_ns()
    for place, pattern in enumerate(_GENERATED):
        moment = now + place * 1_000_000
        for parent, _, files in os.walk(folder):
            for name in fnmatch.filter(files, pattern):
                os.utime(os.path.join(parent, name), ns=(moment, moment))


def _run_steps(name: str, what: Fetch, writer: CorpusWriter, tools: Toolchain, build: Build) -> str:
    """Builds a package; gives what went wrong."""
    logs = writer.directory / LOGS
    logs.mkdir(exist_ok=True)
    chosen = recipe(name, build.root)
    check_programs(chosen)
    with (
        _build.compilers(writer, tools, build) as environment,
        open(logs / f"{name}.log", "wb") as log,
    ):
        # The objects are of no use: they should be there soon.
        environment.update(CFLAGS="-O0", CXXFLAGS="-O0", LC_ALL="C", MAKEFLAGS="")
        environment.update(MAKEINFO="true", HELP2MAN="true")  # and nobody reads manuals here
        environment.update(FORCE_UNSAFE_CONFIGURE="1")  # GNU's, for root
        for step in chosen.steps:
            values = {"jobs": str(what.jobs), "cc": environment["CC"]}
            command = [word.format(**values) for word in step]
            log.write(f"$ {' '.join(command)}\n".encode(errors="surrogateescape"))
            log.flush()
            try:
                status = _build.run(command, environment, build.root, log, what.timeout)
            except CorpusError as error:
                return f"{os.path.basename(command[0])}: {error}"
            if status:
                return (
                    f"{os.path.basename(command[0])} failed{_last_error(log.name)}; see {log.name}"
                )
    return ""


def _last_error(log: str) -> str:
    """The line of a log that tells most; usually why the build ended."""
    with open(log, encoding="utf-8", errors="replace") as file:
        errors = [line.strip() for line in file if "error:" in line]
    return f": {errors[-1]}" if errors else ""
