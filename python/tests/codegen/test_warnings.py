"""Generated code gives no warning, allocates nothing and throws nothing, whatever compiles it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ._compiled import Generated, Toolchain, compile_object
from ._operators import GROUP
from ._selection import generated, selection

# All that an object may want of others: copies, roots (which are exact), and what a compiler asks
# the processor with.
ALLOWED = {"memcpy", "memset", "memmove", "memcmp", "sqrt", "sqrtf"}
ALLOWED |= {"__cpu_model", "__cpu_indicator_init", "_GLOBAL_OFFSET_TABLE_"}
# Nothing is thrown; but compilers may guard noexcept functions against what others throw.
GUARDS = {"__gxx_personality_v0", "__cxa_begin_catch", "_ZSt9terminatev", "_Unwind_Resume"}


@pytest.fixture(scope="module")
def models() -> dict[int, Generated]:
    return generated(selection(2))


def test_every_operator_is_there() -> None:
    tests = selection(2).values()
    nodes = {node.op_type for test in tests for node in test.model.graph.node}
    assert GROUP.keys() - nodes == set()


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
@pytest.mark.parametrize("flags", ["-O0", "-O2", "-O2 -fno-exceptions -fno-rtti"])
def test_nothing_to_warn_of(
    models: dict[int, Generated], compiler: str, flags: str, tmp_path: Path
) -> None:
    target = tmp_path / "models.o"
    assert compile_object(models, Toolchain(compiler, tuple(flags.split())), target) == ""
    symbols = subprocess.run(["nm", "-u", target], check=True, capture_output=True, text=True)
    wanted = {line.split()[-1] for line in symbols.stdout.splitlines()}
    allowed = ALLOWED if "-fno-exceptions" in flags else ALLOWED | GUARDS
    assert wanted - allowed == set()


def test_fast_code(tmp_path: Path) -> None:
    models = generated(selection(2), fast=True)
    assert compile_object(models, Toolchain(flags=("-O2",)), tmp_path / "models.o") == ""
