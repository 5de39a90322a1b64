"""Sizes of the plugin and of what it loads, with an empty plugin as the floor."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _clang import PLUGIN
from _make import OUT

SIZE_GOAL = 80_000  # bytes: published
FLOOR = OUT / "EmptyPass.so"
FLOOR_SOURCE = """\
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Empty", "1", [](llvm::PassBuilder &) {}};
}
"""
Row = dict[str, Any]


def tool(*command: object) -> str:
    words = [str(word) for word in command]
    result = subprocess.run(words, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(words)}: {result.stderr.strip()}")
    return result.stdout


def build_floor() -> Path:
    """A plugin that does nothing, built as ours is."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "Empty.cpp"
        source.write_text(FLOOR_SOURCE)
        include = tool("llvm-config-19", "--includedir").strip()
        options = ["-std=c++17", "-O3", "-DNDEBUG", "-fPIC", "-fno-exceptions", "-fno-rtti", "-w"]
        linking = ["-shared", "-fvisibility=hidden", "-Wl,--gc-sections", "-Wl,-z,nodelete"]
        tool("g++", *options, *linking, "-isystem", include, source, "-o", FLOOR)
    return FLOOR


def stripped_size(file: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / file.name
        tool("strip", "-o", copy, file)
        return copy.stat().st_size


def loaded(command: list[str], variables: dict[str, str]) -> dict[str, int]:
    """The libraries that a process has loaded, also while it ran, and the sizes of their files."""
    with tempfile.TemporaryDirectory() as folder:
        tracing = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": f"{folder}/trace"}
        result = subprocess.run(command, env=variables | tracing, capture_output=True, timeout=600)
        if result.returncode:
            sys.exit(f"{command[0]}: exit status {result.returncode}")
        text = "".join(file.read_text(errors="replace") for file in Path(folder).iterdir())
    paths = {Path(found).resolve() for found in re.findall(r"calling init: (/\S+)", text)}
    return {str(path): path.stat().st_size for path in sorted(paths) if path.exists()}


def size_rows() -> list[Row]:
    floor, ours = stripped_size(build_floor()), stripped_size(PLUGIN)
    return [
        {
            "what": "size",
            "file": PLUGIN.name,
            "stripped_bytes": ours,
            "floor_bytes": floor,
            "added_bytes": ours - floor,
            "goal": f"<= {SIZE_GOAL}",
            "met": ours - floor <= SIZE_GOAL,
        }
    ]
