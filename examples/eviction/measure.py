#!/usr/bin/env python3
"""Counts what programs execute that cbridge-clang has compiled by a policy, against plain clang.

Nothing here is of the training: sources are compiled as any build would compile them. Programs that
the policy was trained on stand apart from the others.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from programs import COUNTERS, LEVEL, LIST, Bench, ExampleError, Program, call, read
from train import TRAINING, percent

import compiler_bridge
from compiler_bridge import BridgeError

_TOOLS = Path(compiler_bridge.__file__).parent / "bin"
_VARIABLES = ("CBRIDGE_DISABLE", "CBRIDGE_INLINE_MODEL", "CBRIDGE_PRIORITY_MODEL")


def compiled(program: Program, evict: str, folder: Path) -> list[Path]:
    """Objects, by the policy or, if that is empty, by plain clang."""
    _, standard = program.clang
    # Nothing else is decided by models.
    environment = {k: v for k, v in os.environ.items() if k not in _VARIABLES}
    made = []
    for source in program.sources:
        target = folder / f"{source.name}.o"
        command = [str(_TOOLS / "cbridge-clang"), f"--cbridge-evict={evict}", standard, LEVEL]
        said = call([*command, "-x", program.language, "-c", source, "-o", target], env=environment)
        # A compile never fails because of a model; here we want to know.
        if complaints := [line for line in said.splitlines() if line.startswith("cbridge-clang:")]:
            raise ExampleError(f"{program.name}/{source.name}: {complaints[0]}")
        made.append(target)
    return made


def rows(bench: Bench, programs: Sequence[Program], evict: str) -> list[tuple[str, int, int]]:
    found = []
    for program in programs:
        counts = []
        for runner in ("", evict):
            with tempfile.TemporaryDirectory(prefix="cbridge-evict-") as folder:
                counts.append(bench.executed(program, compiled(program, runner, Path(folder))))
        found.append((program.name, counts[0], counts[1]))
    return found


def table(title: str, counted: Sequence[tuple[str, int, int]]) -> list[str]:
    lines = [f"| {title} | greedy | policy | |", "|---|---|---|---|"]
    for name, before, after in counted:
        lines.append(f"| {name} | {before:,} | {after:,} | {percent(1 - after / before)} |")
    mean = sum(after / before for _, before, after in counted) / len(counted)
    return [*lines, f"| mean | | | {percent(1 - mean)} |"]


def main() -> int:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("runner", metavar="RUNNER", help="such as onnx:evict.onnx")
    add("--train", default=",".join(TRAINING), metavar="NAME,…", help="default: %(default)s")
    add("--programs", type=Path, default=LIST, metavar="LIST.json", help="default: those here")
    add("--counter", choices=("auto", *COUNTERS), default="auto", help="default: what works here")
    arguments = parser.parse_args()
    trained_on = arguments.train.split(",")
    try:
        programs = read(arguments.programs)
        with Bench(arguments.counter) as bench:
            parts = {
                "trained on": [p for p in programs.values() if p.name in trained_on],
                "held out": [p for p in programs.values() if p.name not in trained_on],
            }
            for title, part in parts.items():
                if part:
                    print("\n".join(table(title, rows(bench, part, arguments.runner))), end="\n\n")
            print(f"Instructions of one run, counted by {bench.counter}; outputs are as expected.")
    except (ExampleError, BridgeError) as error:
        print(f"measure.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
