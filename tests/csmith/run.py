#!/usr/bin/env python3
"""Random programs, compiled with random decisions: they must print what they print at -O0.

Each program of csmith is compiled by clang at -O0, and at a level that changes from program to
program with the plugin by a model that always inlines, one that never does, and one that tosses a
coin; or, with --driver, by cbridge-clang with random evictions and priorities of register
allocation. Seeds are fixed, so that a failure can be repeated.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LEVELS = ["-O1", "-O2", "-O3", "-Os", "-Oz"]
SHAPE = [
    "--max-funcs",
    "8",
    "--max-block-size",
    "3",
    "--max-expr-complexity",
    "6",
    "--no-packed-struct",
]
INCLUDE = "/usr/include/csmith"
# Of so many programs one is also compiled without a model.
SAMPLE = 10
# Of a program: most end at once, and some never do.
SECONDS = 0.5


class MiscompileError(Exception):
    """A program was compiled wrongly."""


def run(
    command: list[str], seconds: float, folder: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )


def compile_program(command: list[str], model: str = "") -> None:
    done = run(command, 60, CBRIDGE_INLINE_MODEL=model)
    if done.returncode or done.stderr:
        raise MiscompileError(
            f"{' '.join(command)}\nwith {model or 'no model'}: {done.returncode}, {done.stderr}"
        )


def variants(seed: int, options: argparse.Namespace) -> Iterator[tuple[list[str], str]]:
    """Compilers with their options, and their models for inlining."""
    if options.driver:
        yield [options.driver, f"--cbridge-evict=coin:{seed}"], ""
        yield [options.driver, f"--cbridge-priority=coin:{seed}"], ""
        both = [f"--cbridge-evict=coin:{seed + 1}", f"--cbridge-priority=coin:{seed + 1}"]
        yield [options.driver, *both], ""
    else:
        for model in ["constant:1", "constant:0", f"coin:{seed}"]:
            yield [options.clang, f"-fpass-plugin={options.plugin}"], model


def check(seed: int, options: argparse.Namespace, scratch: Path) -> bool:
    """Whether the program of this seed ended in time and could be compared."""
    # csmith writes platform.info where it is, and fails on one that another is writing.
    folder = scratch / str(seed)
    folder.mkdir()
    source, program = folder / "program.c", folder / "program"
    made = run(["csmith", "--seed", str(seed), *SHAPE, "-o", str(source)], 60, folder)
    if made.returncode:
        raise MiscompileError(f"csmith --seed {seed}: {made.stderr}")
    rest = ["-w", "-I", INCLUDE, "-fuse-ld=lld", str(source), "-o", str(program)]
    compile_program([options.clang, *rest, "-O0"])
    try:
        expected = run([str(program)], SECONDS)
    except subprocess.TimeoutExpired:
        return False
    level = LEVELS[seed % len(LEVELS)]
    plain = b""
    if seed % SAMPLE == 0:
        compile_program([options.clang, *rest, level])
        plain = program.read_bytes()
    for compiler, model in variants(seed, options):
        compile_program([*compiler, *rest, level], model)
        options.changed += plain not in (b"", program.read_bytes())
        actual = run([str(program)], 60)
        if (actual.returncode, actual.stdout) != (expected.returncode, expected.stdout):
            raise MiscompileError(
                f"csmith --seed {seed} {' '.join(SHAPE)}: by {' '.join(compiler)} {model} at "
                f"{level} it prints\n{actual.stdout}and not\n{expected.stdout}"
            )
    shutil.rmtree(folder)
    return True


def outcomes(options: argparse.Namespace, scratch: Path) -> Iterator[bool]:
    with ThreadPoolExecutor(options.jobs) as pool:
        # More seeds than programs are needed: some never end.
        seeds = range(options.first, options.first + 2 * options.programs)
        tasks = [pool.submit(check, seed, options, scratch) for seed in seeds]
        try:
            for task in tasks:
                yield task.result()
        finally:
            pool.shutdown(cancel_futures=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clang", default="clang-19")
    parser.add_argument("--plugin", help="CompilerBridgePasses.so")
    parser.add_argument("--driver", help="cbridge-clang, instead")
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if bool(options.plugin) == bool(options.driver):
        parser.error("give --plugin or --driver")
    options.changed = 0  # programs that are not those of a plain compile
    compared = endless = 0
    with tempfile.TemporaryDirectory() as scratch:
        try:
            for ended in outcomes(options, Path(scratch)):
                compared += ended
                endless += not ended
                if compared == options.programs:
                    break
        except MiscompileError as wrong:
            print(wrong, file=sys.stderr)
            return 1
    print(f"{compared} programs, 3 decisions each: the output of -O0")
    print(f"{options.changed} of a sample differ from a plain compile")
    print(f"{endless} programs left out, as they do not end")
    # Models that change nothing prove nothing.
    return compared < options.programs or options.changed < compared // SAMPLE


if __name__ == "__main__":
    sys.exit(main())
