"""Results that need not be measured again, in files named by what they depend on."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ._decisions import Asked

Result = TypeVar("Result")
# Of the entries: another number, and all are measured again.
_FORMAT = 2


def default_folder() -> Path:
    """`$CBRIDGE_CACHE`, else `cbridge` where caches belong."""
    if chosen := os.environ.get("CBRIDGE_CACHE"):
        return Path(chosen)
    caches = os.environ.get("XDG_CACHE_HOME", "")
    # Relative ones must be ignored, says the specification.
    base = Path(caches) if caches.startswith("/") else Path.home() / ".cache"
    return base / "cbridge"


def key(**depends_on: Any) -> str:
    text = json.dumps({"format": _FORMAT, **depends_on}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class Cache:
    """Any number of processes may use it at a time. Damaged entries are as good as none."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder / "score" if folder else None

    def get(self, name: str) -> Any:
        """What is stored under a key, of any shape; None if nothing is."""
        return self._read(name, ".json", lambda path: json.loads(path.read_bytes()))

    def put(self, name: str, value: Any) -> None:
        text = json.dumps(value)
        self._write(name, ".json", lambda path: path.write_text(text))

    def get_decisions(self, name: str) -> Asked | None:
        return self._read(name, ".npz", Asked.load)

    def put_decisions(self, name: str, value: Asked) -> None:
        self._write(name, ".npz", value.save)

    def _path(self, name: str, ending: str) -> Path | None:
        return self._folder / name[:2] / f"{name}{ending}" if self._folder else None

    def _read(self, name: str, ending: str, read: Callable[[Path], Result]) -> Result | None:
        path = self._path(name, ending)
        try:
            return read(path) if path and path.is_file() else None
        except Exception:  # what damaged archives lead to is no short list
            return None

    def _write(self, name: str, ending: str, write: Callable[[Path], object]) -> None:
        path = self._path(name, ending)
        if path is None:
            return
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        # A full disk costs time later, not the result now.
        with contextlib.suppress(OSError):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write(temporary)
                os.replace(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
