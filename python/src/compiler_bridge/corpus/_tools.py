"""The programs of LLVM that make a corpus: clang, and those that are installed with it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO

from .._children import Children
from ._errors import CorpusError
from ._layout import CLANG

# Long enough for the largest of files on a busy machine; a compiler that hangs is a broken module.
DEADLINE = 600.0


@dataclass(frozen=True)
class Toolchain:
    clang: str
    """An absolute path."""
    children: Children = field(default_factory=Children, compare=False, repr=False)
    """The programs that it runs; `for_each` ends them when it ends."""

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

    def run(self, command: Sequence[str], cwd: str | os.PathLike[str] | None = None) -> bytes:
        return run(self.children, command, cwd)

    def _beside(self, name: str) -> str:
        path = self.run([self.clang, f"-print-prog-name={name}"]).decode().strip()
        found = shutil.which(path)
        if found is None:
            raise CorpusError(
                f"{self.clang} has no {name} beside it; install the Debian package llvm-19"
            )
        return found


class ToolError(CorpusError):
    """A program failed; the message is its first complaint."""


def run(
    children: Children,
    command: Sequence[str],
    cwd: str | os.PathLike[str] | None = None,
    merge_stderr: bool = False,
) -> bytes:
    """Runs a program to its end, without a terminal's input, and gives what it has printed."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        status, said = ask(children, command, cwd, output, output if merge_stderr else errors)
        if status:
            raise ToolError(f"{os.path.basename(command[0])}: {complaint(said, status)}")
        output.seek(0)
        return output.read()


def ask(
    children: Children,
    command: Sequence[str],
    cwd: str | os.PathLike[str] | None = None,
    output: IO[bytes] | None = None,
    errors: IO[bytes] | None = None,
) -> tuple[int, bytes]:
    """Runs a program to its end, however that is: its status, and its standard error."""
    name = os.path.basename(command[0])
    with contextlib.ExitStack() as files:
        errors = errors or files.enter_context(tempfile.TemporaryFile())
        try:
            done = children.run(
                command,
                DEADLINE,
                folder=cwd,
                stdout=output,
                stderr=errors,
                most_stderr=0,
                most_output=None,
            )
        except OSError as error:
            raise ToolError(f"{name}: {error.strerror}") from None
        if done.status is None:
            raise ToolError(f"{name} took more than {DEADLINE:.0f} s")
        errors.seek(0)
        return done.status, errors.read()


def complaint(said: bytes, status: int) -> str:
    """The line that tells what was wrong."""
    lines = [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]
    for line in lines:
        if "error:" in line or line.startswith("E: "):  # apt's
            return line.removeprefix("E: ")
    if status < 0:
        return f"died of signal {-status}"
    return lines[0] if lines else f"exit status {status}"
