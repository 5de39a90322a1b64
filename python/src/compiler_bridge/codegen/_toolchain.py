"""Models as shared libraries, by the C++ compiler of this machine."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from .._scratch import Scratch
from ..export._signature import ModelError
from ._adapter import adapter

if TYPE_CHECKING:
    from . import Generated

_FLAGS = [
    "-std=c++17",
    "-O3",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-exceptions",
    "-fno-rtti",
    "-DCBRIDGE_MODEL_AS_MODULE",
    "-Wl,-z,nodelete",
    "-Wl,--gc-sections",
    "-Wl,--as-needed",
]
# Of models whose results are the same bits everywhere.
_EXACT = ["-ffp-contract=off"]
_EXPORTS = "{ global: cbridge_module_v1; local: *; };\n"


def build_so(made: Generated, compiler: str | None = None) -> bytes:
    """The content of `NAME.so`, for `native:`. `compiler`: a command; without it, one is found."""
    command = shlex.split(compiler) if compiler else [_found_compiler()]
    name = made.description.name
    with closing(Scratch("cbridge-compile-")) as place:
        folder = place.path
        for file, text in {
            f"{name}.h": made.header,
            f"{name}.cpp": made.source,
            f"{name}Native.cpp": adapter(made.description, f"{name}.h"),
            "exports": _EXPORTS,
        }.items():
            (folder / file).write_text(text)
        command += [
            *_FLAGS,
            *([] if made.description.fast else _EXACT),
            f"-I{include_dir()}",
            "-Wl,--version-script=exports",
            f"{name}.cpp",
            f"{name}Native.cpp",
            "-o",
            f"{name}.so",
        ]
        _run(command, folder)
        return (folder / f"{name}.so").read_bytes()


def include_dir() -> Path:
    """Where <cbridge/NativeModel.h> is: in the package, or in the sources that it is run from."""
    package = Path(__file__).resolve().parent.parent
    for place in (package / "include", package.parents[2] / "include"):
        if (place / "cbridge" / "NativeModel.h").is_file():
            return place
    raise ModelError(f"--so: there is no cbridge/NativeModel.h in {package / 'include'}")


def _found_compiler() -> str:
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name):
            return name
    raise ModelError(
        "--so: there is no C++ compiler: neither c++ nor g++ nor clang++; install one, or name it "
        "in CXX"
    )


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise ModelError(f"--so: cannot run {command[0]}: {error.strerror}") from None
    if done.returncode:
        lines = done.stdout.strip().splitlines() or [f"exit status {done.returncode}"]
        first = next((line for line in lines if "error" in line), lines[0])
        raise ModelError(f"--so: {command[0]}: {first}")
