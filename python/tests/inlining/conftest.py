"""A small corpus that clang can make smaller."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

import compiler_bridge
from compiler_bridge import _compile_worker
from compiler_bridge.corpus import CorpusWriter

# By itself -O2 inlines `step` everywhere, and is larger for it.
SOURCE = """
int add(int, int);
static int step{i}(int x) {{
  for (int i = 0; i < x; ++i) x = add(x * 3, i) ^ add(i, {i}) ^ (x >> {i});
  return x;
}}
int first{i}(int x) {{ return step{i}(x) + step{i}(x + 1); }}
int second{i}(int x) {{ return step{i}(x + 2) ^ step{i}(x + 3); }}
"""
EMPTY = "pack0/empty.c.o"
NAMES = sorted(f"pack{i % 2}/step{i}.c.o" for i in range(7))


@pytest.fixture
def source():
    """Of one of them, by the number `i`."""
    return SOURCE


def arguments_of(words):
    told = subprocess.run([*words, "-###"], capture_output=True, text=True, timeout=60, check=True)
    (job,) = (line for line in told.stderr.splitlines() if '"-cc1"' in line)
    return shlex.split(job)[1:]


@pytest.fixture(scope="session")
def modules(tmp_path_factory):
    """Seven modules in two packages, and one without functions; not to be written to."""
    folder = tmp_path_factory.mktemp("search")
    with CorpusWriter(folder / "corpus") as writer:
        for i, name in enumerate([*NAMES, EMPTY]):
            source = folder / f"source{i}.c"
            source.write_text(SOURCE.format(i=i) if "step" in name else "int x;\n")
            words = ["clang-19", "-O2", "-c", str(source), "-o", str(folder / "x.bc")]
            only = ["-Xclang", "-disable-llvm-passes", "-emit-llvm"]
            subprocess.run([*words, *only], check=True, timeout=60)
            writer.add(name, folder / "x.bc", arguments_of(words))
    return folder / "corpus"


@pytest.fixture(scope="session")
def plugin():
    """Skips where the worker or the pass plugin was not built."""
    try:
        _compile_worker.find()
    except _compile_worker.WorkerError as why:
        pytest.skip(str(why))
    tool = Path(compiler_bridge.__file__).parent / "bin" / "cbridge"
    told = subprocess.run([tool, "plugin-path", "llvm"], capture_output=True, text=True, timeout=20)
    if told.returncode:
        pytest.skip("the pass plugin was not built")
    return told.stdout.strip()
