"""Clang with the pass plugin, run and metered, for benchmarks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from _infer_models import find_library
from _make import ROOT

BUILD = ROOT / "build/release"
METERED = BUILD / "bench/Metered"
MODULES = BUILD / "lib/compiler-bridge"
PLUGIN = MODULES / "CompilerBridgePasses.so"
LLVM_ADVISOR = BUILD / "compilers/llvm/reference/LlvmAdvisor.so"
CLANG, LLD = "clang-19", "ld.lld-19"
LIMIT = 600  # seconds that no compile takes


class RunError(Exception):
    """What a compiler complained of."""


@dataclass(frozen=True)
class Usage:
    wall_s: float
    cpu_s: float
    rss_kb: int


def environment(model: str | None = None, variable: str = "CBRIDGE_INLINE_MODEL") -> dict[str, str]:
    """Of a compiler that asks this model: what the user's own has set for compilers is gone."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CBRIDGE_INLINE_")}
    for name in ("BUDGET", "CLANG", "DISABLE", "EVICT_MODEL", "PRIORITY_MODEL"):
        kept.pop(f"CBRIDGE_{name}", None)
    kept["CBRIDGE_MODULE_PATH"] = str(MODULES)
    if library := os.environ.get("CBRIDGE_ONNXRUNTIME") or find_library():
        kept["CBRIDGE_ONNXRUNTIME"] = library
    if model:
        kept[variable] = model
    return kept


def run(command: Sequence[str], variables: Mapping[str, str]) -> Usage:
    """A compiler that prints anything has not done what is to be measured: the plugin goes on
    without a model, and says so."""
    result = subprocess.run(
        [METERED, *command], capture_output=True, text=True, env=variables, timeout=LIMIT
    )
    said = result.stderr.strip().splitlines()
    if result.returncode or said:
        why = said[0] if said else "no message"
        raise RunError(f"{command[0]}, exit status {result.returncode}: {why}")
    return Usage(**json.loads(result.stdout))


def need_build(*more: Path) -> None:
    for file in (METERED, PLUGIN, *more):
        if not file.exists():
            sys.exit(f"{file} is not there: ./dev build release")


class Clock:
    """Says how far a benchmark is."""

    EVERY = 10.0  # seconds between lines of one step

    def __init__(self) -> None:
        self._begin = self._shown = time.monotonic()

    def done(self, what: str) -> None:
        self._shown = time.monotonic()
        print(f"[{self._shown - self._begin:6.1f}s] {what}", flush=True)

    def step(self, what: str, count: int, total: int) -> None:
        if time.monotonic() - self._shown >= self.EVERY:
            self.done(f"{what}: {count} of {total}")
