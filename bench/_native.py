"""Models that `cbridge compile` makes for the benchmarks, below build/bench/native."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NATIVE = ROOT / "build/bench/native"


class CompileError(Exception):
    """Why there is no such model."""


@cache
def _generator() -> bytes:
    """A digest of what decides on the code, besides the model."""
    package = ROOT / "python/src/compiler_bridge"
    files = [
        *sorted(
            each for each in (package / "codegen").rglob("*") if each.suffix in (".py", ".inc")
        ),
        package / "commands/compile.py",
        ROOT / "include/cbridge/module.h",
        ROOT / "include/cbridge/NativeModel.h",
    ]
    return hashlib.sha256(b"\0".join(each.read_bytes() for each in files)).digest()


def compile_model(model: Path, name: str, *options: str) -> Path:
    """NAME.so for `native:`, by the generator of this checkout; made anew if anything changed."""
    key = hashlib.sha256(_generator() + model.read_bytes() + " ".join(options).encode()).hexdigest()
    made, stamp = NATIVE / f"{name}.so", NATIVE / f"{name}.stamp"
    if made.exists() and stamp.exists() and stamp.read_text() == key:
        return made
    made.unlink(missing_ok=True)
    NATIVE.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(ROOT / "cmake/cbridge_compile.py"), str(model)]
    result = subprocess.run(
        [*command, "-o", str(NATIVE / name), "--so", *options], capture_output=True, text=True
    )
    if result.returncode:
        said = result.stderr.strip().splitlines() or ["no message"]
        raise CompileError(said[-1].removeprefix("cbridge: ").removeprefix(f"{model}: "))
    stamp.write_text(key)
    return made
