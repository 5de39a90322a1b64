"""Small programs, compiled with clang, and the command `cbridge corpus`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from compiler_bridge.__main__ import main

SOURCES = {
    "main.c": """
        #include "config.h"
        int helper(int);
        int main(int argc, char **argv) {
          int sum = 0;
          for (int i = 0; i < argc; ++i) sum += helper(i + OFFSET);
          return sum == 0;
        }""",
    "helper.c": """
        static int square(int x) { return x * x; }
        int helper(int x) { return square(x) + square(x + 1); }""",
    "shape.cpp": """
        struct Shape { virtual ~Shape() = default; virtual int area() const { return 1; } };
        struct Square : Shape { int side = 3; int area() const override { return side * side; } };
        int area() { Square one; const Shape &shape = one; return shape.area(); }""",
    "config.h": "#define OFFSET 2\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with three sources."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def clang() -> Callable[..., None]:
    def run(folder: Path, *words: str, compiler: str = "clang-19") -> None:
        subprocess.run([compiler, *words], cwd=folder, check=True, timeout=60)

    return run


class Said(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def cbridge(capfd: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """`cbridge("list", directory)` runs `cbridge corpus list`."""

    def run(*words: object) -> Said:
        status = main(["corpus", *map(str, words)])
        return Said(status, *capfd.readouterr())

    return run
