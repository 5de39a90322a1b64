"""Generated code gives the same bits on another architecture, and from another compiler."""

from __future__ import annotations

import pytest

from ._compiled import Answer, Call, Toolchain, build, different_bits
from ._selection import generated, selection

AARCH64 = Toolchain("aarch64-linux-gnu-g++", ("-O2", "-static"), ("qemu-aarch64-static",))
CLANG = Toolchain("clang++-19", ("-O2",))
# Fused products would change results, and this lets compilers make them.
NATIVE = Toolchain("g++", ("-O3", "-march=native"))


def answers(toolchain: Toolchain) -> dict[str, Answer]:
    tests = selection(1)
    program = build(generated(tests), toolchain)
    got = program.run([Call(i, test.inputs) for i, test in tests.items()])
    return {test.name: answer for test, answer in zip(tests.values(), got, strict=True)}


@pytest.fixture(scope="module")
def usual() -> dict[str, Answer]:
    return answers(Toolchain())


@pytest.mark.parametrize("toolchain", [AARCH64, CLANG, NATIVE], ids=["aarch64", "clang", "native"])
def test_bits_are_the_same(toolchain: Toolchain, usual: dict[str, Answer]) -> None:
    others = answers(toolchain)
    assert {name: a.error for name, a in others.items() if a.error} == {}
    different = [n for n, a in others.items() if different_bits(a.outputs, usual[n].outputs)]
    assert different == []
