"""Lines of code that bring a model into a pass, counted between markers in the sources.

Either a line ends with `// cbridge`, or lines stand between `// cbridge: begin` and
`// cbridge: end`. Marked is what opens the model, feeds it, asks it, and takes another decision
when it gives none. Empty lines and comments do not count, nor do #include lines.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _make import ROOT

WIDTH = 80  # columns
LINES_GOAL = 3
# Files, or the sources of a folder.
PASSES = {
    "new-pass": "tools/cbridge/NewPass.cpp",
    "demo unroller": "examples/Demo.cpp",
    "inline advisor": "compilers/llvm/passes",
}
BEGIN, END, TRAILING = "// cbridge: begin", "// cbridge: end", "// cbridge"
Row = dict[str, Any]


@dataclass
class Count:
    lines: int = 0
    folded: int = 0  # if no line were longer than WIDTH

    def add(self, code: str) -> None:
        self.lines += 1
        self.folded += -(-len(code) // WIDTH)


def is_code(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith(("//", "#include"))


def count(text: str, name: str) -> Count:
    found = Count()
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped in (BEGIN, END):
            if inside == (stripped == BEGIN):
                sys.exit(f"{name}:{number}: '{stripped}' without its other half")
            inside = stripped == BEGIN
        elif inside and is_code(line):
            found.add(line.rstrip())
        elif stripped.endswith(TRAILING) and is_code(line):
            found.add(line.rstrip().removesuffix(TRAILING).rstrip())
    if inside:
        sys.exit(f"{name}: '{BEGIN}' without its other half")
    return found


def sources(place: str) -> list[Path]:
    path = ROOT / place
    if path.is_dir():
        return sorted(f for f in path.glob("*.cpp") if not f.stem.endswith("Test"))
    return [path]


def rows() -> list[Row]:
    made = []
    for name, place in PASSES.items():
        total = Count()
        for file in sources(place):
            each = count(file.read_text(), str(file.relative_to(ROOT)))
            total.lines += each.lines
            total.folded += each.folded
        if not total.lines:
            sys.exit(f"{place}: no line is marked")
        made.append(
            {
                "what": "lines",
                "pass": name,
                "source": place,
                "lines": total.lines,
                "lines_of_80_columns": total.folded,
                "goal": f"<= {LINES_GOAL}",
                "met": total.lines <= LINES_GOAL,
            }
        )
    return made
