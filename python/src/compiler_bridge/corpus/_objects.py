"""Modules from objects whose sections have their bitcode and command: .llvmbc and .llvmcmd.

`clang -Xclang -fembed-bitcode=all` writes them, and in distributed ThinLTO builds
`-mllvm -lto-embed-bitcode=post-merge-pre-opt`. Archives have many objects.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ._errors import CorpusError
from ._inputs import Input, check_regular, file_stamp, relative
from ._journal import Entry
from ._tools import Toolchain, ToolError
from ._writer import CorpusWriter

_BITCODE_MAGIC = b"BC\xc0\xde"
_ARCHIVE_MAGIC = b"!<arch>\n"
_THIN_ARCHIVE_MAGIC = b"!<thin>\n"
SUFFIXES = (".o", ".obj", ".a")
_INDEX = "-fthinlto-index="
HINT = "compile with -Xclang -fembed-bitcode=all"


@dataclass(frozen=True)
class Settings:
    base: Path
    """What names, and paths of ThinLTO indices, are relative to."""
    tools: Toolchain
    match: re.Pattern[str] | None = None
    """Only modules with such an argument."""


def in_directory(directory: Path) -> list[Path]:
    """All objects and archives below it."""
    found = [
        Path(folder) / name
        for folder, _, names in os.walk(directory)
        for name in names
        if name.endswith(SUFFIXES)
    ]
    return sorted(found)


def in_params(path: Path, base: Path) -> list[Path]:
    """Those that a linker's parameter file has, which names one argument per line."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except UnicodeDecodeError:
        raise CorpusError(f"{path}: is no text in UTF-8, as a linker's parameter file is") from None
    files = []
    after = ""
    for line in lines:
        if after != "-o" and not line.startswith("-") and line.endswith(SUFFIXES):
            files.append(base / line)
        after = line
    return files


def inputs(files: Iterable[Path], settings: Settings) -> list[Input]:
    found: dict[str, Input] = {}
    for path in files:
        magic = _magic(path)
        if magic == _ARCHIVE_MAGIC:
            each = _archive(path, settings)
        elif magic == _THIN_ARCHIVE_MAGIC:
            each = _thin_archive(path, settings)
        else:
            each = [_object(path, settings)]
        found.update((one.source, one) for one in each)
    return list(found.values())


def _magic(path: Path) -> bytes:
    if not path.is_file():
        return b""
    try:
        with open(path, "rb") as file:
            return file.read(8)
    except OSError:
        return b""


def _object(path: Path, settings: Settings) -> Input:
    def get(_: Path) -> Path:
        return path

    return _input(relative(path, settings.base), path, get, settings)


def _archive(path: Path, settings: Settings) -> list[Input]:
    try:
        members = _members(path, settings)
    except ToolError as error:
        return [_broken(relative(path, settings.base), path, str(error))]
    counts: dict[str, int] = {}
    found = []
    for member in members:
        counts[member] = counts.get(member, 0) + 1
        found.append(_member(path, member, counts[member], settings))
    return found


def _thin_archive(path: Path, settings: Settings) -> list[Input]:
    """Such an archive only names its members."""
    try:
        return [_object(Path(member), settings) for member in _members(path, settings)]
    except ToolError as error:
        return [_broken(relative(path, settings.base), path, str(error))]


def _members(path: Path, settings: Settings) -> list[str]:
    listed = settings.tools.run([settings.tools.ar, "t", str(path)])
    return listed.decode(errors="surrogateescape").splitlines()


def _member(path: Path, member: str, count: int, settings: Settings) -> Input:
    def get(scratch: Path) -> Path:
        if count == 1:
            content = scratch / "member.o"
            content.write_bytes(settings.tools.run([settings.tools.ar, "p", str(path), member]))
            return content
        chosen = ["xN", str(count), "--output", str(scratch), str(path), member]
        settings.tools.run([settings.tools.ar, *chosen])
        return scratch / os.path.basename(member)

    again = f"~{count}" if count > 1 else ""
    name = f"{relative(path, settings.base)}/{os.path.basename(member)}{again}"
    return _input(name, path, get, settings)


def _broken(name: str, path: Path, why: str) -> Input:
    def add(_: CorpusWriter) -> Entry:
        raise CorpusError(why)

    return Input(name, f"object {name}", file_stamp(path), add)


def _input(name: str, path: Path, get: Callable[[Path], Path], settings: Settings) -> Input:
    version = file_stamp(path)
    source = f"object {name}"

    def add(writer: CorpusWriter) -> Entry:
        check_regular(path)
        with tempfile.TemporaryDirectory(prefix="cbridge-") as folder:
            scratch = Path(folder)
            bitcode, command = sections(get(scratch), scratch, settings.tools)
            if settings.match and not any(settings.match.search(word) for word in command):
                raise CorpusError(f"no argument matches {settings.match.pattern!r}")
            index = thinlto_index(command, settings.base)
            return writer.add(
                name, bitcode, command, thinlto_index=index, source=source, stamp=version
            )

    return Input(name, source, version, add)


def sections(path: Path, scratch: Path, tools: Toolchain) -> tuple[Path, list[str]]:
    """The bitcode of an object, as a file in `scratch`, and cc1's arguments."""
    if _magic(path).startswith(_BITCODE_MAGIC):
        raise CorpusError(
            "is bitcode that was compiled with -flto, after some optimization; link with "
            "-Wl,--save-temps=import -Wl,--thinlto-emit-index-files and extract what that writes"
        )
    bitcode, command = scratch / "module.bc", scratch / "module.cmd"
    dumps = [f"--dump-section=.llvmbc={bitcode}", f"--dump-section=.llvmcmd={command}"]
    # Its other output goes to a file of ours: given an archive, it would replace /dev/null by one.
    try:
        tools.run([tools.objcopy, *dumps, str(path), str(scratch / "rest.o")])
    except ToolError as error:
        if "section '.llvm" in str(error):
            raise CorpusError(f"has no bitcode in it; {HINT}") from None
        raise
    words = [os.fsdecode(word) for word in command.read_bytes().split(b"\0") if word]
    if words.count("-cc1") > 1:
        raise CorpusError(f"{words.count('-cc1')} modules were linked into it with -r")
    return bitcode, words


def thinlto_index(command: list[str], base: Path) -> Path | None:
    """That of a module of a distributed ThinLTO build, whose path is relative to where it ran."""
    names = [word.removeprefix(_INDEX) for word in command if word.startswith(_INDEX)]
    if not names:
        return None
    flag = "-fdebug-compilation-dir="
    folders = [word.removeprefix(flag) for word in command if word.startswith(flag)]
    for folder in [base, *map(Path, folders)]:
        path = folder / names[-1]
        if path.is_file():
            return path
    raise CorpusError(
        f"its ThinLTO index {names[-1]} is not below {base}; name another with --base"
    )


def are_thinlto(found: Iterable[Path], tools: Toolchain) -> bool:
    """Whether objects are of a distributed ThinLTO build, by the first that has bitcode."""
    for path in found:
        if not path.is_file() or _magic(path) in (_ARCHIVE_MAGIC, _THIN_ARCHIVE_MAGIC):
            continue
        with tempfile.TemporaryDirectory(prefix="cbridge-") as scratch:
            try:
                _, command = sections(path, Path(scratch), tools)
            except CorpusError:
                continue
        return any(word.startswith(_INDEX) for word in command)
    return False
