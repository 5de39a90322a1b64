#!/usr/bin/env python3
"""clang-tidy on all of our sources that CMake compiles: tidy.py BUILD-FOLDER [JOBS]

As ccache does for compilers, it remembers in the user's cache which sources were found clean, by
the contents of all files that they include, in any clone of this repository. A finding in a
header, which many sources make, is shown once.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OURS = ("src", "compilers", "tests", "examples", "bench", "tools")
TIDY = "clang-tidy-19"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "compiler-bridge/tidy"
# What -H tells of an included file, whose depth the dots are.
INCLUDED = re.compile(r"^\.+ (.*)$")
CHATTER = re.compile(r"^(\d+ (warning|error)s? |$)")


@functools.cache
def digest(path: str) -> str:
    """Of a file, which may be named as seen from the repository."""
    try:
        return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()
    except OSError:
        return ""


def changed_since(then: float, files: set[str]) -> bool:
    """Whether what was checked is no longer what is there."""
    for file in files:
        with contextlib.suppress(OSError):
            if (ROOT / file).stat().st_mtime >= then:
                return True
    return False


def anywhere(text: str) -> str:
    """The same in all clones."""
    return text.replace(f"{ROOT}/", "")


@dataclass
class Source:
    file: str
    commands: list[str]

    @property
    def _entry(self) -> Path:
        return CACHE / hashlib.sha256(anywhere(self.file).encode()).hexdigest()[:32]

    def _state(self, files: list[str], how: str) -> str:
        """Of all that a result depends on."""
        contents = [f"{file} {digest(file)}" for file in files]
        return hashlib.sha256("\n".join([how, *self.commands, *contents]).encode()).hexdigest()

    def was_clean(self, how: str) -> bool:
        try:
            state, *files = self._entry.read_text().splitlines()
        except (OSError, ValueError):
            return False
        return state == self._state(files, how)

    def keep_as_clean(self, files: list[str], how: str) -> None:
        CACHE.mkdir(parents=True, exist_ok=True)
        new = self._entry.with_suffix(f".{os.getpid()}")
        new.write_text("\n".join([self._state(files, how), *files]) + "\n")
        new.replace(self._entry)

    @property
    def _settings(self) -> set[str]:
        """Files that tell what is checked, also where there is none yet."""
        folders = Path(anywhere(self.file)).parents
        return {str(folder / ".clang-tidy") for folder in folders}

    def check(self, build: Path, how: str) -> list[str]:
        """The findings, of which there are none if it is clean."""
        began = time.time()
        options = ["-extra-arg=-Wno-unknown-warning-option", "-extra-arg=-H"]
        ran = subprocess.run(
            [TIDY, "-p", build, "-quiet", *options, self.file],
            capture_output=True,
            text=True,
            errors="replace",
        )
        files, findings = {anywhere(self.file), *self._settings}, ran.stdout.splitlines()
        for line in ran.stderr.splitlines():
            if found := INCLUDED.match(line):
                files.add(anywhere(os.path.normpath(build / found[1])))
            elif not CHATTER.match(line):
                findings.append(line)
        if ran.returncode == 0 and not findings and not changed_since(began, files):
            self.keep_as_clean(sorted(files), how)
        elif ran.returncode:
            findings.append(f"{anywhere(self.file)}: {TIDY} ended with {ran.returncode}")
        return findings


def sources(build: Path) -> list[Source]:
    commands = defaultdict(list)
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if anywhere(entry["file"]).startswith(tuple(f"{folder}/" for folder in OURS)):
            commands[entry["file"]].append(anywhere(entry["command"]))
    return [Source(file, commands[file]) for file in sorted(commands)]


def main() -> int:
    build = Path(sys.argv[1]).resolve()
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else os.cpu_count() or 1
    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True)
    how = version.stdout
    every = sources(build)
    changed = [source for source in every if not source.was_clean(how)]
    print(f"{len(every)} sources, {len(every) - len(changed)} of them clean before", flush=True)
    seen: set[str] = set()
    with ThreadPoolExecutor(jobs) as pool:
        for findings in pool.map(lambda source: source.check(build, how), changed):
            for line in findings:
                if line not in seen:
                    print(line, flush=True)
                    seen.add(line)
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
