"""Generated models, many in one program: compiled, run, and their answers as arrays.

A program rather than a library that is loaded here: what crashes or never ends is one answer, and
the same program runs on an emulated machine."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from compiler_bridge.codegen import Description, Port

from ._glue import glue, glue_name, program

Array = np.ndarray[Any, Any]
LEVELS = ("baseline", "v3")
ROOT = Path(__file__).parents[3]
CACHE = ROOT / "build" / "codegen-cache"
_CACHED = 300  # programs that are kept


def warnings(compiler: str) -> list[str]:
    """The flags of our own code: those that cmake/CBridgeCompile.cmake sets."""
    text = (ROOT / "cmake" / "CBridgeCompile.cmake").read_text()
    words = re.search(r"set\(CBRIDGE_WARNING_FLAGS(.*?)\)\n", text, re.S)
    assert words
    brand = "Clang" if "clang" in compiler else "GNU"
    found = []
    for condition, flag in re.findall(r"(?:\$<\$<([^>]*)>:)?(-W[\w=-]+)>?", words[1]):
        if not condition or brand in re.split("[:,]", condition) or condition.endswith(":CXX"):
            found.append(flag)
    return [*found, "-Werror"]


class Generated(Protocol):
    """What of the generator's result is used here."""

    @property
    def header(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def description(self) -> Description: ...


@dataclass(frozen=True)
class Toolchain:
    compiler: str = "g++"
    flags: tuple[str, ...] = ("-O1",)
    emulator: tuple[str, ...] = ()
    timeout: float = 60  # seconds for all calls of a program

    def command(self, source: str, target: str) -> list[str]:
        launcher = [ccache] if (ccache := shutil.which("ccache")) else []
        own = ["-std=c++17", *warnings(self.compiler), *self.flags]
        return [*launcher, self.compiler, *own, "-o", target, source]


@dataclass(frozen=True)
class Call:
    """An evaluation of a model; inputs by the names that they have in ONNX."""

    model: int
    inputs: Mapping[str, Array]
    level: str = "baseline"


@dataclass(frozen=True)
class Answer:
    outputs: tuple[Array, ...] = ()
    error: str = ""


@dataclass
class Program:
    """Executables with models; `broken` says of which ones the compiler complains, and how."""

    toolchain: Toolchain
    descriptions: dict[int, Description] = field(default_factory=dict)
    executables: dict[int, Path] = field(default_factory=dict)
    broken: dict[int, str] = field(default_factory=dict)

    def run(self, calls: Sequence[Call]) -> list[Answer]:
        answers: list[Answer] = [Answer()] * len(calls)
        by_program: dict[Path, list[int]] = {}
        for place, call in enumerate(calls):
            if call.model in self.broken:
                answers[place] = Answer(error=f"does not compile: {self.broken[call.model]}")
            else:
                by_program.setdefault(self.executables[call.model], []).append(place)

        def run_one(item: tuple[Path, list[int]]) -> None:
            executable, places = item
            while places:
                got = self._run_until_crash(executable, [calls[place] for place in places])
                for place, answer in zip(places, got, strict=False):
                    answers[place] = answer
                places = places[len(got) :]

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(run_one, by_program.items()))
        return answers

    def _run_until_crash(self, executable: Path, calls: Sequence[Call]) -> list[Answer]:
        """At least one answer; the last one says so if the program died of its call."""
        answers: list[Answer] = []
        requests: list[bytes] = []
        for call in calls:
            requests.append(_request(self.descriptions[call.model], call))
        try:
            done = subprocess.run(
                [*self.toolchain.emulator, executable],
                input=b"".join(requests),
                capture_output=True,
                timeout=self.toolchain.timeout,
            )
            replies, code, told = done.stdout, done.returncode, done.stderr
        except subprocess.TimeoutExpired as expired:
            replies, code, told = expired.stdout or b"", -9, expired.stderr or b""
        reader = _Reader(replies)
        for call in calls:
            answer = reader.answer(self.descriptions[call.model])
            if answer is None:
                text = told.decode(errors="replace")[:2000]
                answers.append(Answer(error=f"the program died with {code} {text}".strip()))
                break
            answers.append(answer)
        return answers


def _request(description: Description, call: Call) -> bytes:
    extents: dict[str, int] = {}
    parts: list[bytes] = []
    for port in description.inputs:
        value = np.ascontiguousarray(call.inputs[port.name], dtype=_dtype(port))
        given = call.inputs[port.name].shape
        if len(given) != len(port.shape):
            raise AssertionError(f"{port.name} has shape {list(given)}, not {list(port.shape)}")
        for want, got in zip(port.shape, given, strict=True):
            if isinstance(want, int):
                assert want == got, f"{port.name} has shape {list(given)}, not {list(port.shape)}"
            else:
                assert extents.setdefault(want, got) == got, f"{want} is {got} in {port.name}"
        parts += [np.int64(value.nbytes).tobytes(), value.tobytes()]
    numbers = [call.model, LEVELS.index(call.level)]
    numbers += [extents.get(symbol.identifier, 0) for symbol in description.symbols]
    return np.array(numbers, dtype=np.int64).tobytes() + b"".join(parts)


def _dtype(port: Port) -> np.dtype[Any]:
    kinds = {"float": "float32", "double": "float64", "bool": "bool"}
    return np.dtype(kinds.get(port.ctype) or port.ctype.removesuffix("_t").removeprefix("std::"))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def answer(self, description: Description) -> Answer | None:
        """The next one, or none if there are not enough bytes."""
        try:
            if length := self._integers(1)[0]:
                return Answer(error=self._take(length).decode())
            outputs = tuple(self._output(port) for port in description.outputs)
        except EOFError:
            return None
        return Answer(outputs)

    def _output(self, port: Port) -> Array:
        shape = self._integers(len(port.shape))
        dtype = _dtype(port)
        data = self._take(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)
        return np.frombuffer(data, dtype=dtype).reshape(shape)

    def _integers(self, count: int) -> list[int]:
        return [int(i) for i in np.frombuffer(self._take(8 * count), dtype=np.int64)]

    def _take(self, size: int) -> bytes:
        if size < 0 or self._at + size > len(self._data):
            raise EOFError
        self._at += size
        return self._data[self._at - size : self._at]


def build(
    models: Mapping[int, Generated],
    toolchain: Toolchain | None = None,
    *,
    per_unit: int = 60,
    cache: Path = CACHE,
) -> Program:
    """Compiles models by number, so many in a translation unit, two of them at a time. The models
    have different names or namespaces."""
    result = Program(toolchain or Toolchain())
    result.descriptions = {i: model.description for i, model in models.items()}
    numbers = list(models)
    units = [numbers[i : i + per_unit] for i in range(0, len(numbers), per_unit)]
    with ThreadPoolExecutor(2) as pool:
        for done in pool.map(lambda u: _unit({i: models[i] for i in u}, result, cache), units):
            result.executables.update(done)
    _prune(cache)
    return result


def _unit(models: dict[int, Generated], result: Program, folder: Path) -> dict[int, Path]:
    """Compiles until no model is left that the compiler complains of."""
    while models:
        key = _key(models, result.toolchain)
        executable = folder / key[:32]
        if executable.exists():
            os.utime(executable)
            return dict.fromkeys(models, executable)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as name:
            complaint = _compile(models, result.toolchain, Path(name), executable)
            if not complaint:
                return dict.fromkeys(models, executable)
            guilty = _guilty(models, complaint, result.toolchain, Path(name))
        for i, text in guilty.items():
            result.broken[i] = text
            del models[i]
    return {}


def _key(models: Mapping[int, Generated], toolchain: Toolchain) -> str:
    digest = hashlib.sha256(repr(toolchain.command("", "")).encode())
    for i, model in models.items():
        digest.update(f"{i} {model.header}{model.source}{glue(model.description, i)}".encode())
    digest.update(program([], []).encode())
    return digest.hexdigest()


def _compile(
    models: Mapping[int, Generated], toolchain: Toolchain, folder: Path, executable: Path
) -> str:
    """What the compiler has against them."""
    _write(models, folder)
    for i, model in models.items():
        (folder / glue_name(model.description)).write_text(glue(model.description, i))
    descriptions = [model.description for model in models.values()]
    (folder / "program.cpp").write_text(program(descriptions, list(models)))
    if complaint := _complaint(toolchain.command("program.cpp", "program"), folder):
        return complaint
    # Other processes see a whole file or none.
    partial = executable.with_name(f"{executable.name}.{os.getpid()}")
    shutil.copy2(folder / "program", partial)
    partial.replace(executable)
    return ""


def _write(models: Mapping[int, Generated], folder: Path) -> None:
    for model in models.values():
        (folder / f"{model.description.name}.h").write_text(model.header)
        (folder / f"{model.description.name}.cpp").write_text(model.source)


def _complaint(command: Sequence[str], folder: Path) -> str:
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return (done.stderr or "the compiler died") if done.returncode else ""


def compile_object(models: Mapping[int, Generated], toolchain: Toolchain, target: Path) -> str:
    """An object with the models alone; what the compiler has against them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(models, folder)
        lines = [f'#include "{model.description.name}.cpp"\n' for model in models.values()]
        (folder / "models.cpp").write_text("".join(lines))
        return _complaint([*toolchain.command("models.cpp", str(target)), "-c"], folder)


def _guilty(
    models: Mapping[int, Generated], complaint: str, toolchain: Toolchain, folder: Path
) -> dict[int, str]:
    """The models that are at fault: those whose files are named, or else found one by one."""
    by_name = {model.description.name: i for i, model in models.items()}
    guilty: dict[int, str] = {}
    for line in complaint.splitlines():
        match = re.match(r"(\w+?)(?:_glue)?\.(?:h|cpp|inc):\d+:(?:\d+:)? (?:fatal )?error: ", line)
        if match and match[1] in by_name:
            guilty.setdefault(by_name[match[1]], line)
    for i, model in models.items() if not guilty else ():
        if len(models) == 1 or _compile({i: model}, toolchain, folder, folder / "alone"):
            guilty[i] = complaint[:2000]
    if not guilty:
        raise AssertionError(f"no model alone is at fault:\n{complaint[:4000]}")
    return guilty


def _prune(cache: Path) -> None:
    """Programs of versions long gone."""
    with contextlib.suppress(FileNotFoundError):
        old = sorted(cache.iterdir(), key=lambda file: file.stat().st_mtime)[:-_CACHED]
        for file in old:
            file.unlink()


def different_bits(a: Iterable[Array], b: Iterable[Array]) -> bool:
    """Which of the many NaNs one is, is left to the processor."""
    return [_bits(x) for x in a] != [_bits(x) for x in b]


def _bits(array: Array) -> bytes:
    is_float = array.dtype.kind == "f"
    return (np.where(np.isnan(array), np.nan, array) if is_float else array).tobytes()
