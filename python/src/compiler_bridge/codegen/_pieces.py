"""The pieces of C++ in kernels/, of which a model gets those that it needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ._types import DOUBLE, DType

_FOLDER = Path(__file__).parent / "kernels"


@dataclass(frozen=True)
class Piece:
    """`needs`: others that come before it, by name: its first line says so."""

    needs: tuple[str, ...]
    text: str


@cache
def piece(name: str) -> Piece:
    first, _, text = (_FOLDER / f"{name}.inc").read_text(encoding="utf-8").partition("\n")
    return Piece(tuple(first.removeprefix("// needs:").split()), text)


@cache
def for_type(name: str, dtype: DType) -> str:
    """The piece with a function for a type: some have one of their own for doubles."""
    double = f"{name}_double"
    return double if dtype == DOUBLE and (_FOLDER / f"{double}.inc").exists() else name


def pieces(names: Iterable[str]) -> list[str]:
    """Their texts, those that others need before them."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name not in done:
            for each in piece(name).needs:
                add(each)
            done[name] = piece(name).text

    for name in sorted(names):
        add(name)
    return list(done.values())
