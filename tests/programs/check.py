#!/usr/bin/env python3
"""Compiles programs of examples/programs, runs them, compares what they print.

Compiles at -O0 and -O2, and all programs if none is named. With --list it only looks whether
programs.json lists all there is. Needs the standard library alone.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).resolve().parents[2] / "examples" / "programs"
LEVELS = ["-O0", "-O2"]
STANDARDS = {"c": "-std=c11", "c++": "-std=c++17"}
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
BUILD_SECONDS = 240
RUN_SECONDS = 20

Program = dict[str, Any]


class CheckError(Exception):
    """A program that is not as it should be."""


def load() -> list[Program]:
    with (PROGRAMS / "programs.json").open(encoding="utf-8") as file:
        programs: list[Program] = json.load(file)["programs"]
    return programs


def check_list(programs: list[Program]) -> None:
    """Every folder is a program, and every source file is one of its sources."""
    folders = sorted(path.name for path in PROGRAMS.iterdir() if path.is_dir())
    names = sorted(program["name"] for program in programs)
    if folders != names:
        raise CheckError(f"programs.json lists {names}, the folders are {folders}")
    for program in programs:
        folder = PROGRAMS / program["name"]
        found = sorted(path.name for path in folder.iterdir() if path.suffix in (".c", ".cpp"))
        if sorted(program["sources"]) != found:
            raise CheckError(
                f"{program['name']}: lists {program['sources']}, the folder has {found}"
            )
        inputs = [argument for argument in program["arguments"] if "." in argument]
        inputs += [program["expected"], *([program["stdin"]] if program["stdin"] else [])]
        for name in inputs:
            if not (folder / name).is_file():
                raise CheckError(f"{program['name']}: lacks {name}")


def build(program: Program, compiler: str, flags: list[str], target: Path) -> None:
    folder = PROGRAMS / program["name"]
    sources = [str(folder / name) for name in program["sources"]]
    standard = STANDARDS[program["language"]]
    command = [compiler, standard, *WARNINGS, *flags, *sources, "-o", str(target)]
    # gcc colours its messages if it believes that someone looks.
    environment = {**os.environ, "GCC_COLORS": ""}
    try:
        done = subprocess.run(
            command,
            env=environment,
            timeout=BUILD_SECONDS,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise CheckError(f"{compiler}: {error.strerror}") from error
    if done.returncode:
        raise CheckError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def run(program: Program, executable: Path) -> str:
    """What the program prints. It runs in its folder, where its inputs are."""
    folder = PROGRAMS / program["name"]
    stdin = (folder / program["stdin"]).read_bytes() if program["stdin"] else b""
    done = subprocess.run(
        [str(executable), *program["arguments"]],
        cwd=folder,
        input=stdin,
        timeout=RUN_SECONDS,
        capture_output=True,
        check=False,
    )
    if done.returncode or done.stderr:
        raise CheckError(f"exit code {done.returncode}: {done.stderr.decode(errors='replace')}")
    printed: str = done.stdout.decode(errors="replace")
    return printed


def compare(program: Program, got: str) -> None:
    name = program["expected"]
    want = (PROGRAMS / program["name"] / name).read_text(encoding="utf-8")
    if got != want:
        lines = difflib.unified_diff(
            want.splitlines(), got.splitlines(), name, "printed", lineterm=""
        )
        raise CheckError("\n".join(list(lines)[:40]) or "only line ends differ")


def check(program: Program, compiler: str, levels: list[str], flags: list[str]) -> None:
    for level in levels:
        with tempfile.TemporaryDirectory() as folder:
            executable = Path(folder) / program["name"]
            try:
                build(program, compiler, [level, *flags], executable)
                compare(program, run(program, executable))
            except subprocess.TimeoutExpired as late:
                raise CheckError(f"{program['name']} {level}: more than {late.timeout} s") from late
            except CheckError as wrong:
                raise CheckError(f"{program['name']} {level}: {wrong}") from wrong
        print(f"{program['name']} {level}: as expected", flush=True)


def main() -> int:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cc", default="cc", help="the C compiler")
    parser.add_argument("--cxx", default="c++", help="the C++ compiler")
    parser.add_argument("--level", action="append", help="instead of -O0 and -O2")
    parser.add_argument("--flag", action="append", default=[], help="one more for both")
    parser.add_argument("--list", action="store_true", help="only check programs.json")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a program")
    options = parser.parse_args()

    try:
        programs = load()
        check_list(programs)
        unknown = set(options.names) - {program["name"] for program in programs}
        if unknown:
            raise CheckError(f"no such program: {', '.join(sorted(unknown))}")
        if options.list:
            return 0
        for program in programs:
            if not options.names or program["name"] in options.names:
                compiler = options.cc if program["language"] == "c" else options.cxx
                check(program, compiler, options.level or LEVELS, options.flag)
    except CheckError as wrong:
        print(wrong, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
