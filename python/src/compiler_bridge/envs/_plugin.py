"""Where the pass plugin is."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path


def find_plugin(given: str | os.PathLike[str] | None = None) -> Path:
    """As given, or as the tool of this package tells."""
    if given is not None:
        path = Path(given).absolute()
        if not path.is_file():
            raise FileNotFoundError(f"{path}: there is no such plugin")
        return path
    package = Path(__file__).parents[1]
    ours = package / "lib" / "CompilerBridgePasses.so"
    if ours.is_file():
        return ours
    tool = package / "bin" / "cbridge"
    command = str(tool) if tool.is_file() else shutil.which("cbridge")
    told = ""
    if command is not None:
        done = subprocess.run([command, "plugin-path", "llvm"], capture_output=True, text=True)
        told = "" if done.returncode else done.stdout.strip()
    if not told:
        raise FileNotFoundError("the pass plugin for clang was not built; name it by plugin=FILE")
    return Path(told)
