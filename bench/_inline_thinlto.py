"""How in-process runners scale with the threads of a ThinLTO link."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from _clang import CLANG, LLD, Clock, environment, run
from _inline_variants import PLAIN, Variant

from compiler_bridge.corpus import Module

THREADS = [1, 2, 4, 8]
Row = dict[str, Any]


def compile_program(modules: list[Module], folder: Path, clock: Clock) -> list[str]:
    """Bitcode with summaries, as `clang -Oz -flto=thin` leaves it for the linker."""
    folder.mkdir(parents=True, exist_ok=True)
    objects = []
    for i, module in enumerate(modules):
        objects.append(str(folder / f"{i}.o"))
        words = [CLANG, "-Oz", "-flto=thin", "-c", "-x", "ir", str(module.bitcode)]
        run([*words, "-o", objects[-1]], environment())
        clock.step("ThinLTO, modules compiled", i + 1, len(modules))
    return objects


def link(variant: Variant, objects: list[str], threads: int, output: Path) -> float:
    """Wall-clock seconds. Tools of one package may have a `main` each; what else they lack does
    not matter to a shared library, nor that some modules were compiled for a program."""
    options = ["-shared", "-Bsymbolic", "-z", "muldefs", "--threads=1"]
    options.append(f"--thinlto-jobs={threads}")
    command = [LLD, *options, *variant.lld_arguments, *objects, "-o", str(output)]
    return run(command, variant.environment).wall_s


def measure(
    variants: list[Variant], objects: list[str], folder: Path, repetitions: int, clock: Clock
) -> list[Row]:
    """All in turn; the least of the repetitions, to which other programs only add."""
    times: dict[tuple[str, int], list[float]] = {}
    rounds = [(threads, each) for threads in THREADS for each in variants]
    for each in variants:  # files are read
        link(each, objects, max(THREADS), folder / "program.so")
    for repetition in range(repetitions):
        for i, (threads, each) in enumerate(rounds):
            taken = link(each, objects, threads, folder / "program.so")
            times.setdefault((each.name, threads), []).append(taken)
            clock.step(
                "ThinLTO, links", repetition * len(rounds) + i + 1, repetitions * len(rounds)
            )
    wall = {key: min(values) for key, values in times.items()}

    def scaling(name: str, threads: int) -> float:
        return wall[name, 1] / wall[name, threads]

    return [
        {
            "runner": each.name,
            "threads": threads,
            "modules": len(objects),
            "wall_s": wall[each.name, threads],
            "scaling": scaling(each.name, threads),
            "scaling_of_plain": scaling(each.name, threads) / scaling(PLAIN.name, threads),
        }
        for each in variants
        for threads in THREADS
    ]
