"""The programs of LLVM that make a corpus: clang, and those that are installed with it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ._errors import CorpusError
from ._layout import CLANG

# Long enough for the largest of files on a busy machine; a compiler that hangs is a broken module.
DEADLINE = 600.0


@dataclass(frozen=True)
class Toolchain:
    clang: str
    """An absolute path."""

    @staticmethod
    def find(clang: str = CLANG) -> Toolchain:
        path = shutil.which(clang)
        if path is None:
            raise CorpusError(
                f"there is no compiler {clang!r}; install the Debian package clang-19, or name "
                "another clang with --clang"
            )
        return Toolchain(os.path.abspath(path))

    @cached_property
    def clangxx(self) -> str:
        """The driver for C++ beside it: clang++-19 of clang-19."""
        folder, name = os.path.split(self.clang)
        path = os.path.join(folder, name.replace("clang", "clang++", 1))
        return path if os.access(path, os.X_OK) else self.clang

    @cached_property
    def dis(self) -> str:
        return self._beside("llvm-dis")

    @cached_property
    def objcopy(self) -> str:
        return self._beside("llvm-objcopy")

    @cached_property
    def ar(self) -> str:
        return self._beside("llvm-ar")

    def _beside(self, name: str) -> str:
        path = run([self.clang, f"-print-prog-name={name}"]).decode().strip()
        found = shutil.which(path)
        if found is None:
            raise CorpusError(
                f"{self.clang} has no {name} beside it; install the Debian package llvm-19"
            )
        return found


class ToolError(CorpusError):
    """A program failed; the message is its first complaint."""


def run(
    command: Sequence[str],
    cwd: str | os.PathLike[str] | None = None,
    merge_stderr: bool = False,
) -> bytes:
    """Runs a program to its end, without a terminal's input, and gives what it has printed."""
    name = os.path.basename(command[0])
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge_stderr else subprocess.PIPE,
            timeout=DEADLINE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ToolError(f"{name} took more than {DEADLINE:.0f} s") from None
    except OSError as error:
        raise ToolError(f"{name}: {error.strerror}") from None
    if done.returncode == -signal.SIGINT:
        raise KeyboardInterrupt  # which the terminal has sent to all
    if done.returncode:
        said = done.stdout if merge_stderr else done.stderr
        raise ToolError(f"{name}: {complaint(said, done.returncode)}")
    return done.stdout


def complaint(said: bytes, status: int) -> str:
    """The line that tells what was wrong."""
    lines = [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]
    for line in lines:
        if "error:" in line or line.startswith("E: "):  # apt's
            return line.removeprefix("E: ")
    if status < 0:
        return f"died of signal {-status}"
    return lines[0] if lines else f"exit status {status}"
