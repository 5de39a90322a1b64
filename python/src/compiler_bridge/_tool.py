"""The script `cbridge`: the tool that travels with the package."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    tool = Path(__file__).parent / "bin" / "cbridge"
    # What it leaves to Python is in this interpreter.
    os.environ.setdefault("CBRIDGE_PYTHON", sys.executable)
    try:
        os.execv(tool, ["cbridge", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"cbridge: {tool}: {error.strerror}")
