"""What LLVM's allocator of registers says about the code it makes."""

from __future__ import annotations

import re

# Of a whole function; those of its loops have another name, and are parts of it.
_FUNCTION = re.compile(r"^Name:\s*SpillReloadCopies$", re.MULTILINE)
# Spills, reloads, and copies; folded ones are operands in memory of other instructions.
_COST = re.compile(r"^  - Total\w*Cost:\s*'([^']*)'$", re.MULTILINE)


def register_cost(remarks: str) -> float:
    """What spills, reloads and copies cost by the remarks of `-opt-record-passes regalloc`.

    Each instruction counts as often as LLVM thinks that it is executed when its function is called
    once.
    """
    functions = (each for each in remarks.split("\n...\n") if _FUNCTION.search(each))
    return float(sum(float(cost) for each in functions for cost in _COST.findall(each)))
