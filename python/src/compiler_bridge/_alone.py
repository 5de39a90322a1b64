"""Folders in which one process works at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(folder: Path | None, error: Callable[[str], Exception]) -> Iterator[None]:
    """Raises `error` if another is at work there; does nothing without a folder."""
    if folder is None:
        yield
        return
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise error(f"{folder}: another process is at work there") from None
        except OSError:
            pass  # some file systems have no locks
        yield
    finally:
        os.close(lock)
