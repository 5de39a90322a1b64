"""A small corpus of the example programs, and environments that are closed at the end."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compiler_bridge.corpus import Corpus, CorpusWriter
from compiler_bridge.envs import EvictEnv, InlineEnv
from compiler_bridge.envs._env import CompileEnv

PROGRAMS = Path(__file__).parents[3] / "examples" / "programs"
#: They ask 4 to 66 times about calls; the first one never about registers.
SOURCES = ("squeeze/checksum.c", "squeeze/matches.c", "shelf/node.c")
KINDS = {"Inline": InlineEnv, "Evict": EvictEnv}


def _add(writer: CorpusWriter, folder: Path, name: str, source: Path) -> None:
    words = ["clang-19", "-Oz", "-c", str(source), "-o", "x.o"]
    told = subprocess.run([*words, "-###"], capture_output=True, text=True, timeout=60, check=True)
    (job,) = (line for line in told.stderr.splitlines() if '"-cc1"' in line)
    bitcode = folder / "module.bc"
    only = ["-Xclang", "-disable-llvm-passes", "-emit-llvm"]
    subprocess.run([*words[:-1], str(bitcode), *only], timeout=60, check=True)
    writer.add(f"{name}.o", bitcode, shlex.split(job)[1:])


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three modules, and one that asks nothing; not to be written to."""
    folder = tmp_path_factory.mktemp("envs")
    with CorpusWriter(folder / "corpus") as writer:
        for name in SOURCES:
            _add(writer, folder, name, PROGRAMS / name)
        silent = folder / "silent.c"
        silent.write_text("int twice(int x) { return 2 * x; }\n")
        _add(writer, folder, "silent.c", silent)
    return folder / "corpus"


@pytest.fixture
def make(corpus: Path) -> Iterator[Callable[..., Any]]:
    """`make("Inline", ...)` is an environment on the corpus."""
    made: list[CompileEnv] = []

    def build(kind: str, modules: Any = None, **options: Any) -> CompileEnv:
        made.append(KINDS[kind](Corpus.open(corpus), modules, **options))
        return made[-1]

    yield build
    for each in made:
        each.close()


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def play(env: Any, policy: Callable[[Any, Any], int], **reset: Any) -> list[Any]:
    """All that an episode gives."""
    observation, info = env.reset(**reset)
    steps = [(observation, 0.0, False, False, info)]
    while not (steps[-1][2] or steps[-1][3]):
        steps.append(env.step(policy(steps[-1][0], steps[-1][4])))
    return steps


@pytest.fixture(name="play")
def play_fixture() -> Callable[..., list[Any]]:
    return play


def _children_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for each in found for word in each.read_text().split()]


@pytest.fixture
def children_of() -> Callable[[int], list[int]]:
    return _children_of


@pytest.fixture
def compiler_of() -> Callable[[CompileEnv], int]:
    """The process that compiles for an environment."""

    def find(env: CompileEnv) -> int:
        assert env._worker is not None
        assert env._worker._process is not None
        (child,) = _children_of(env._worker._process.pid)
        return child

    return find
