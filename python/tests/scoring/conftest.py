"""A small corpus, made by clang, and the command `cbridge score`."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import compiler_bridge
from compiler_bridge.__main__ import main
from compiler_bridge.corpus import CorpusWriter, Extraction, Toolchain, extract_modules

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
# Calls that are made direct, and checks of types: how, only the index tells.
SHAPES = """
struct Shape { virtual ~Shape(); virtual int area(int) const = 0; };
struct Square : Shape { int side = 3; int area(int) const override; };
Shape *shape();
typedef int Change(int);
Change *chosen(int);
"""
SHAPE = """
Shape::~Shape() {}
int Square::area(int x) const { return x ? area(x - 1) * side : side; }
static int more(int x) { return x + 1; }
static int less(int x) { return x - 1; }
Change *chosen(int x) { return x > 2 ? more : less; }
Shape *shape() { return new Square; }
"""
SHAPE_USER = """
extern "C" int area(int x) { Shape *one = shape(); return one->area(x) ^ one->area(x + 1); }
int change(int x) { return chosen(x)(x); }
extern "C" int changed(int x) { return change(x) + change(x + 1); }
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


@pytest.fixture(scope="session")
def thinlto(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of eight modules that lld has linked by ThinLTO; not to be written to."""
    folder = tmp_path_factory.mktemp("thinlto")
    functions = range(5)
    sources = {f"step{i}.c": MODULE.format(i=i) for i in functions}
    sources["main.c"] = "\n".join(
        [
            "int area(int), changed(int);",
            *(f"int outer{i}(int);" for i in functions),
            *(f"int add{i}(int a, int b) {{ return a + b; }}" for i in functions),
            "int main(int argc, char **argv) {",
            "  int sum = area(argc) ^ changed(argc);",
            *(f"  sum ^= outer{i}(argc);" for i in functions),
            "  return sum;",
            "}",
        ]
    )
    sources |= {"shape.cpp": SHAPES + SHAPE, "user.cpp": SHAPES + SHAPE_USER}
    options = ["-Oz", "-flto=thin", "-fwhole-program-vtables", "-fvisibility=hidden"]
    options += ["-fsanitize=cfi-icall", "-fno-sanitize-ignorelist"]
    for name, text in sources.items():
        (folder / name).write_text(text)
        words = ["clang-19", *options, "-c", name, "-o", f"{name}.o"]
        subprocess.run(words, cwd=folder, timeout=60, check=True)
    linker = ("--save-temps=import", "--thinlto-emit-index-files", "--lto-whole-program-visibility")
    words = ["clang++-19", *options, "-fuse-ld=lld", *(f"-Wl,{word}" for word in linker)]
    objects = [f"{name}.o" for name in sources]
    subprocess.run([*words, *objects, "-o", "program"], cwd=folder, timeout=60, check=True)
    what = Extraction(folder, folder / "corpus", extra=["-Oz"])
    assert extract_modules(what, Toolchain.find()).kept == len(sources)
    return folder / "corpus"


@pytest.fixture(scope="session")
def plugin() -> None:
    """Skips where the pass plugin was not built."""
    tool = Path(compiler_bridge.__file__).parent / "bin" / "cbridge"
    if subprocess.run([tool, "plugin-path", "llvm"], capture_output=True, timeout=20).returncode:
        pytest.skip("the pass plugin was not built")


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
