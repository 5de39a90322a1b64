"""Modules compiled by several compilers in turn, and what each took."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import numpy as np
from _clang import CLANG, Clock, Usage, run
from _inline_variants import Variant

from compiler_bridge.corpus import Module


def compile_module(module: Module, variant: Variant, output: Path) -> Usage:
    if variant.driver:
        words = ["-Oz", "-c", "-x", "ir", str(module.bitcode), "-o", str(output)]
        return run([variant.driver, *words], variant.environment)
    extra = ["-Oz", *variant.clang_arguments]
    return run(module.compile_command(CLANG, output, extra), variant.environment)


def measure(
    variants: list[Variant], modules: list[Module], repetitions: int, scratch: Path, clock: Clock
) -> dict[str, list[list[Usage]]]:
    """By variant and module. Module by module, all in turn, each time another one first."""
    taken: dict[str, list[list[Usage]]] = {each.name: [[] for _ in modules] for each in variants}
    for repetition in range(repetitions):
        for i, module in enumerate(modules):
            first = (i + repetition) % len(variants)
            for variant in variants[first:] + variants[:first]:
                taken[variant.name][i].append(compile_module(module, variant, scratch / "module.o"))
            clock.step(
                "compiled, modules", repetition * len(modules) + i + 1, repetitions * len(modules)
            )
    return taken


def medians(usages: list[list[Usage]], field: str) -> np.ndarray[Any, Any]:
    """Of each module."""
    return np.array([statistics.median(getattr(u, field) for u in each) for each in usages])
