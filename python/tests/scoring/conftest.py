"""A small corpus, made by clang, and the command `cbridge score`."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from compiler_bridge.__main__ import main
from compiler_bridge.corpus import CorpusWriter

# `outer` is smaller with `step` called, and faster with it inlined.
MODULE = """
int add{i}(int, int);
int step{i}(int x) {{
  for (int i = 0; i < x; ++i) x = add{i}(x * 3, i) ^ add{i}(i, {i}) ^ (x >> {i});
  return x;
}}
int outer{i}(int x) {{ return step{i}(x) + step{i}(x + 1) + step{i}(x + 2) + step{i}(x + 3); }}
int table{i}[] = {{1, 2, {i}}};
"""
# Says whether `frame` was inlined, which no program should.
PROGRAM = """
#include <stdio.h>
#include <string.h>
void *frame(void) { return __builtin_frame_address(0); }
int main(int argc, char **argv) {
  char line[80] = "";
  if (!fgets(line, sizeof line, stdin)) return 3;
  line[strcspn(line, "\\n")] = 0;
  int same = frame() == __builtin_frame_address(0);
  if (argc > 1) same = same && frame() == __builtin_frame_address(0);
  printf("hello %s\\n%s\\n", line, argc > 1 && same ? "inlined" : "as always");
  return 0;
}
"""
# Code is generated otherwise if the order of uses is lost.
ORDERED = """
extern int a, b, c[64];
void put(int);
int ordered(int x, int y) {
  int z = 0;
  for (int i = 0; i < a; ++i) z ^= c[(i + x) & 63] * x;
  switch (x & 3) { case 0: y = x; break; case 1: put(b); break; default: z -= x; }
  switch (c[x & 63] & 3) { case 0: break; case 1: put(x); break; default: z -= c[x & 63]; }
  return x + y + z;
}
"""
NEVER = "flags:-mllvm -inline-threshold=-1000"
MUCH = "flags:-mllvm -inline-threshold=1000"


def add_module(writer: CorpusWriter, folder: Path, name: str, source: str) -> None:
    path = folder / name
    path.write_text(source)
    words = ["clang-19", "-Oz", "-c", str(path), "-o", "x.o"]
    told = subprocess.run([*words, "-###"], capture_output=True, text=True, timeout=60, check=True)
    (job,) = (line for line in told.stderr.splitlines() if '"-cc1"' in line)
    bitcode = folder / "module.bc"
    only = ["-Xclang", "-disable-llvm-passes", "-emit-llvm"]
    subprocess.run([*words[:-1], str(bitcode), *only], timeout=60, check=True)
    writer.add(f"{name}.o", bitcode, shlex.split(job)[1:])


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five modules and a program; not to be written to."""
    folder = tmp_path_factory.mktemp("scoring")
    with CorpusWriter(folder / "corpus") as writer:
        for i in range(5):
            add_module(writer, folder, f"step{i}.c", MODULE.format(i=i))
        add_module(writer, folder, "main.c", PROGRAM)
    return folder / "corpus"


@pytest.fixture
def corpus(modules: Path, tmp_path: Path) -> Path:
    """The same, to be written to."""
    subprocess.run(["cp", "-r", str(modules), str(tmp_path / "corpus")], check=True)
    return tmp_path / "corpus"


@pytest.fixture
def describe(corpus: Path) -> Callable[..., None]:
    """`describe(arguments=[...])` makes the corpus tell how its program is run."""

    def write(**run: object) -> None:
        (corpus / "input.txt").write_text("world\n")
        (corpus / "expected.txt").write_text("hello world\nas always\n")
        program = {
            "name": "greet",
            "modules": ["main.c.o"],
            "runs": [{"stdin": "input.txt", **run}],
        }
        (corpus / "programs.json").write_text(json.dumps({"programs": [program]}))

    return write


class Said(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CBRIDGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def score(cache: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """`score(corpus, policy, ...)` runs `cbridge score`."""

    def run(corpus: Path, policy: str, *words: object) -> Said:
        given = ["--corpus", str(corpus), "--policy", policy, "-j2", *map(str, words)]
        status = main(["score", *given])
        return Said(status, *capfd.readouterr())

    return run
