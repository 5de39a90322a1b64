"""Where the pass plugin for clang is."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path


class PluginMissing(FileNotFoundError):  # noqa: N818 - as that
    """There is none; the message says why."""


def find_plugin(given: str | os.PathLike[str] | None = None) -> Path:
    """As given, or as `cbridge plugin-path` tells."""
    if given:
        path = Path(given).absolute()
        if not path.is_file():
            raise PluginMissing(f"{os.fspath(given)}: there is no such file")
        return path
    ours = Path(__file__).parent / "bin" / "cbridge"
    tool = str(ours) if ours.is_file() else shutil.which("cbridge")
    missing = "the pass plugin for clang is not found, and none was named: "
    if tool is None:
        raise PluginMissing(f"{missing}no cbridge in PATH")
    done = subprocess.run([tool, "plugin-path", "llvm"], capture_output=True, text=True)
    if done.returncode or not done.stdout.strip():
        why = done.stderr.strip().removeprefix("cbridge: ") or "cbridge plugin-path tells nothing"
        raise PluginMissing(f"{missing}{why}")
    return Path(done.stdout.strip())
