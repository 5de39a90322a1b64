"""Modules of ThinLTO by LLVM's opt, which loads pass plugins, as clang does not for them.

The passes are those of `clang -cc1 -fthinlto-index=`, from the same LLVM and tuned as clang tunes
them, so that the code is the same as long as the same is inlined.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..corpus import _cc1


def arguments(command: Sequence[str], index: Path, scratch: Path) -> list[str]:
    """Those of opt that stand for cc1's, and for the index of a module that has been imported into
    already; `scratch` is a file to be written."""
    options, _ = _cc1.options(_cc1.code_generation(list(command)))
    flags = [option[0] for option in options]
    values = {option[0]: option[-1] for option in options}
    level = _level(flags)
    # Clang's default is another than opt's.
    chosen = {"relocation-model": values.get("-mrelocation-model", "pic")}
    for flag in flags:
        name, _, value = flag.partition("=")
        if name in _TARGET and value != "default":
            chosen[_TARGET[name]] = value
    if not _unrolls(flags, level):
        chosen.update({"disable-loop-unrolling": "1", "interleave-loops": "0"})
    for name in ("vectorize-loops", "vectorize-slp"):
        if f"-{name}" not in flags:
            chosen[name] = "0"
    # Once each: LLVM takes no option twice.
    given = [option[-1] for option in options if option[0] == "-mllvm"]
    return [
        f"-passes=wholeprogramdevirt,lowertypetests,thinlto<O{level}>",
        # The first two do what the index says, as in clang. The second reads YAML only, which the
        # first can write.
        "-wholeprogramdevirt-summary-action=import",
        f"-wholeprogramdevirt-read-summary={index}",
        f"-wholeprogramdevirt-write-summary={scratch}",
        "-lowertypetests-summary-action=import",
        f"-lowertypetests-read-summary={scratch}",
        *(f"-{name}={value}" for name, value in chosen.items()),
        *(word for word in given if word.lstrip("-").partition("=")[0] not in chosen),
    ]


_TARGET = {"-mcmodel": "code-model", "-mlarge-data-threshold": "large-data-threshold"}


def _level(flags: list[str]) -> int:
    """For ThinLTO -Os and -Oz are -O2: that a function is to be small says its attribute."""
    level = _cc1.optimization_level(flags).removeprefix("-O")
    if level.isdecimal():
        return min(int(level), 3)
    return {"g": 1, "": 1, "fast": 3}.get(level, 2)


def _unrolls(flags: list[str], level: int) -> bool:
    told = [flag for flag in flags if flag in ("-funroll-loops", "-fno-unroll-loops")]
    return told[-1] == "-funroll-loops" if told else level > 1
