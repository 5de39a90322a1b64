"""Modules from compile_commands.json: each entry is compiled once more, to bitcode."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import _cc1, _jobs, _tools
from ._errors import CorpusError
from ._inputs import Input, check_regular, file_stamp, relative, stamp
from ._journal import Entry
from ._layout import is_native
from ._tools import Toolchain
from ._writer import CorpusWriter

# They come before the compiler's name.
_LAUNCHERS = ("ccache", "sccache", "distcc", "icecc", "gomacc")


@dataclass(frozen=True)
class _Command:
    directory: Path
    words: tuple[str, ...]
    file: str
    output: str | None


def inputs(path: Path, base: Path, tools: Toolchain, extra: list[str]) -> list[Input]:
    """One per entry; `extra` are further arguments of the driver, such as -Oz."""
    commands = [_command(path, number, each) for number, each in enumerate(_entries(path))]
    counts: dict[str, int] = {}
    found = []
    for command in dict.fromkeys(commands):
        name = _name(command, base)
        # Not the arguments: with others it is the same entry, which has changed. Those that differ
        # in nothing else are told apart by their order.
        source = f"command {name} {stamp(str(command.directory), command.file)}"
        counts[source] = counts.get(source, 0) + 1
        if counts[source] > 1:
            source = f"{source} {counts[source]}"
        found.append(_input(command, name, source, tools, extra))
    return found


def _entries(path: Path) -> list[object]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{path}: is no JSON: {error}") from None
    if not isinstance(entries, list):
        raise CorpusError(f"{path}: expected a list of commands, as of compile_commands.json")
    return entries


def _command(path: Path, number: int, entry: object) -> _Command:
    where = f"{path}: entry {number}"
    if not isinstance(entry, dict):
        raise CorpusError(f"{where}: expected an object")
    directory, file, output = (entry.get(key) for key in ("directory", "file", "output"))
    if not isinstance(directory, str) or not isinstance(file, str):
        raise CorpusError(f"{where}: has no 'directory' or no 'file'")
    words = entry.get("arguments")
    if words is None and isinstance(entry.get("command"), str):
        try:
            words = shlex.split(entry["command"])
        except ValueError as error:
            raise CorpusError(f"{where}: 'command': {error}") from None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words) or not words:
        raise CorpusError(f"{where}: has neither 'arguments' nor 'command'")
    while len(words) > 1 and os.path.basename(words[0]) in _LAUNCHERS:
        del words[0]
    # Relative ones are to the file that lists them.
    folder = path.resolve().parent / directory
    return _Command(folder, tuple(words), file, output if isinstance(output, str) else None)


def _name(command: _Command, base: Path) -> str:
    words = command.words
    output = command.output
    if output is None and "-o" in words[:-1]:
        output = words[words.index("-o") + 1]
    return relative(command.directory / (output or f"{command.file}.o"), base)


def _input(command: _Command, name: str, source: str, tools: Toolchain, extra: list[str]) -> Input:
    words = command.words
    version = stamp(
        str(command.directory), *words, *extra, file_stamp(command.directory / command.file)
    )

    def add(writer: CorpusWriter) -> Entry:
        for word in (str(command.directory), command.file, command.output or "", *words):
            if not is_native(word):
                raise CorpusError(f"has {word!r}, which nothing can be called")
        driver = tools.clangxx if "++" in os.path.basename(words[0]) else tools.clang
        with tempfile.TemporaryDirectory(prefix="cbridge-") as scratch:
            bitcode = Path(scratch) / "module.bc"
            command_line = compile_to_bitcode(
                tools, driver, [*words[1:], *extra], command.directory, bitcode
            )
            return writer.add(name, bitcode, command_line, source=source, stamp=version)

    return Input(name, source, version, add)


def compile_to_bitcode(
    tools: Toolchain, driver: str, words: list[str], cwd: Path, bitcode: Path
) -> list[str]:
    """Compiles the one source of a command line; gives cc1's arguments."""
    if not cwd.is_dir():
        raise CorpusError(f"{cwd}: there is no such directory")

    def ask(question: list[str]) -> tuple[int, str]:
        status, said = _tools.ask(tools.children, [driver, *question], cwd)
        return status, said.decode(errors="surrogateescape")

    try:
        planned, _ = _jobs.plan(ask, words)
    except _jobs.DriverError as error:
        raise CorpusError(str(error)) from None
    if len(planned) != 1:
        what = "more than one source" if planned else "no source in C or C++"
        raise CorpusError(f"the command compiles {what}")
    job = planned[0]
    if (cwd / job.source).exists():  # not in another -working-directory, and no standard input
        check_regular(cwd / job.source)
    tools.run([driver, *_cc1.to_bitcode(job.arguments, str(bitcode), job.source)], cwd=cwd)
    return job.arguments
