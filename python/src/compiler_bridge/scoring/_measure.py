"""Compiles a module by a policy, and measures what comes out."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .._children import Children
from ..corpus import Module, _jobs
from . import _elf, _remarks, _thinlto
from ._errors import ScoreError
from ._policy import Policy

_COUNT = re.compile(r"^TotalInstructionCount: (\d+)$", re.MULTILINE)
# How plugins begin what they say about themselves.
_SAID = "cbridge:"


class Broken(Exception):  # noqa: N818 - of a module, not of ours
    """A module that cannot be compiled, or a program that cannot be run; the message says why."""


@dataclass(frozen=True)
class Measurement:
    """`instructions` are those of the optimized IR; None without LLVM's opt. `seconds` are of the
    processor; None if that was on another day. `said` are lines of the plugin on standard error:
    why a policy did not decide."""

    text: int
    total: int
    instructions: int | None
    seconds: float | None
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Compiler:
    """A clang, the opt that belongs to it, and how long either may take."""

    clang: str
    version: str
    opt: str | None
    children: Children
    timeout: float
    by_opt: bool = False
    """Whether opt optimizes modules of ThinLTO: clang loads no pass plugins for them."""

    @classmethod
    def find(cls, clang: str, children: Children, timeout: float) -> Compiler:
        path = shutil.which(clang)
        if path is None:
            raise ScoreError(
                f"there is no compiler {clang!r}; install the Debian package clang-19, or name one "
                "with --clang"
            )
        version = _output(path, "--version").partition("\n")[0]
        # That of the same version, which reads its bitcode.
        opt = shutil.which(_output(path, "-print-prog-name=opt").strip())
        return cls(os.path.abspath(path), version, opt, children, timeout)

    def measure(
        self, module: Module, policy: Policy, folder: Path, remarks: Path | None = None
    ) -> Measurement:
        """Compiles in two steps, which give the same object as one: the IR in between is counted,
        and a policy is asked once. The object is `folder/object.o`."""
        optimized, object_file = folder / "optimized.bc", folder / "object.o"
        seconds, said = self.optimize(module, policy, optimized, remarks)
        rest = dataclasses.replace(
            module, bitcode=optimized, thinlto_index=None, override=module.command
        )
        arguments = ["-disable-llvm-passes", *policy.code_arguments]
        command = rest.compile_command(self.clang, object_file, arguments)
        done = self.children.run(command, self.timeout, environment=policy.environment())
        if done.status != 0:
            raise Broken(done.why)
        try:
            sizes = _elf.sizes(object_file)
        except _elf.ElfError as error:
            raise Broken(str(error)) from None
        count = self._count(optimized)
        optimized.unlink()
        return Measurement(sizes.text, sizes.total, count, seconds + done.seconds, said)

    def optimize(
        self, module: Module, policy: Policy, output: Path, remarks: Path | None = None
    ) -> tuple[float, tuple[str, ...]]:
        """Writes optimized bitcode, and the plugin's remarks if a file is named; the processor
        time, and what the plugin said."""
        index = module.thinlto_index
        # To clang an empty index says that the module is as any other.
        if self.by_opt and index and index.stat().st_size:
            command = self._by_opt(module, index, policy, output, remarks)
        else:
            command = self._by_clang(module, policy, output, remarks)
        done = self.children.run(command, self.timeout, environment=policy.environment())
        if done.status != 0:
            raise Broken(done.why)
        said = [line for line in done.stderr.splitlines() if line.startswith(_SAID)]
        return done.seconds, tuple(dict.fromkeys(said))

    def _by_clang(
        self, module: Module, policy: Policy, output: Path, remarks: Path | None
    ) -> list[str]:
        extra = _remarks.request(remarks) if remarks else []
        # Code generation depends on the order of uses, which bitcode loses otherwise.
        arguments = [*policy.arguments, *extra, "-emit-llvm-uselists"]
        command = module.compile_command(self.clang, output, arguments)
        if "-emit-obj" in command:
            command[command.index("-emit-obj")] = "-emit-llvm-bc"
        else:
            command.append("-emit-llvm")
        return command

    def _by_opt(
        self, module: Module, index: Path, policy: Policy, output: Path, remarks: Path | None
    ) -> list[str]:
        assert self.opt is not None
        extra = _remarks.request_of_opt(remarks) if remarks else []
        arguments = _thinlto.arguments(
            self._cc1_command(module), index, output.with_suffix(".yaml")
        )
        order = "-preserve-bc-uselistorder"
        files = [str(module.bitcode), "-o", str(output)]
        return [self.opt, *policy.opt_arguments, *arguments, *extra, order, *files]

    def _cc1_command(self, module: Module) -> Sequence[str]:
        """A module's command, which may be one of clang's driver."""
        if module.command[:1] == ("-cc1",):
            return module.command
        question = [*module.compile_command(self.clang), "-###"]
        done = self.children.run(question, self.timeout)
        jobs = _jobs.jobs(done.stderr, ("ir",))
        if done.status != 0 or not jobs:
            raise Broken(done.why)
        return jobs[0].arguments

    def _count(self, bitcode: Path) -> int | None:
        if self.opt is None:
            return None
        command = [self.opt, "-passes=print<func-properties>", "-disable-output", str(bitcode)]
        done = self.children.run(command, self.timeout, most_stderr=1 << 30)
        if done.status != 0:
            raise Broken(f"opt: {done.why}")
        return sum(int(count) for count in _COUNT.findall(done.stderr))

    def readable(self, symbols: Sequence[str]) -> dict[str, str]:
        """Names of functions as people write them; those of C++ without their parameters."""
        tool = shutil.which(_output(self.clang, "-print-prog-name=llvm-cxxfilt").strip())
        text = "\n".join(symbols)
        if not tool or not symbols:
            return {}
        done = subprocess.run(
            [tool, "-p"],
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
        )
        names = done.stdout.splitlines()
        return dict(zip(symbols, names, strict=True)) if len(names) == len(symbols) else {}


def _output(clang: str, option: str) -> str:
    try:
        done = subprocess.run([clang, option], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        raise ScoreError(f"{clang} {option} does not end") from None
    if done.returncode or not done.stdout:
        raise ScoreError(f"{clang} {option} fails: is it clang?")
    return done.stdout
