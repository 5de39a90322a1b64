"""Digests of what a training is given, by which a checkpoint of another one is refused."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..corpus import Module
from ._examples import logs
from ._network import Network


def of_modules(modules: Iterable[Module]) -> str:
    """Their names, bitcode and commands. A file that is missing is as an empty one."""
    return _digest(part for module in modules for part in _parts(module))


def _parts(module: Module) -> Iterator[bytes]:
    yield os.fsencode(module.name)
    yield _content(module.bitcode)
    if module.override is None:
        yield _content(module.command_file)
    else:
        yield b"\0".join(os.fsencode(word) for word in module.override)


def shared(modules: Iterable[Module], others: Iterable[Module]) -> int:
    """How many of the others have the same bitcode as one of these."""
    known = {_digest([_content(module.bitcode)]) for module in modules}
    return sum(_digest([_content(module.bitcode)]) in known for module in others)


def of_network(network: Network) -> str:
    arrays = [network.mean, network.scale, *(part for layer in network.layers for part in layer)]
    shapes = repr([array.shape for array in arrays])
    texts = [*network.features, shapes]
    return _digest([*(text.encode() for text in texts), *(array.tobytes() for array in arrays)])


def of_logs(folder: Path) -> str:
    """Those that a search has written."""
    return _digest(
        part
        for file in logs(folder)
        for part in (os.fsencode(file.relative_to(folder)), _content(file))
    )


def of_file(file: Path) -> str:
    return _digest([_content(file)])


def of_version(compiler: str) -> str:
    """What it says of itself, which is nothing if it is not there."""
    try:
        told = subprocess.run([compiler, "--version"], capture_output=True, timeout=60).stdout
    except OSError:
        told = b""
    return _digest([told])


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _digest(parts: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.hexdigest()
