"""Folders for files that nobody needs once a process has ended, however it ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from pathlib import Path


class Scratch:
    """A new folder, `PREFIX<process id>-<anything>`, in `place` or where temporary files are.

    `close` removes it, but not in a forked copy of the process. What a process of this user that
    was killed has left is removed by the next that makes one with the same prefix at the same
    place."""

    def __init__(self, prefix: str, place: str | None = None) -> None:
        where = Path(place or tempfile.gettempdir())
        _sweep(where, prefix)
        self._owner = os.getpid()
        self.path = Path(tempfile.mkdtemp(prefix=f"{prefix}{self._owner}-", dir=where))
        # A container that shares the place does not see our process: it sees this lock.
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        with contextlib.suppress(OSError):  # some file systems have none
            fcntl.flock(self._lock, fcntl.LOCK_SH)

    def close(self) -> None:
        if self._lock < 0:
            return
        if os.getpid() == self._owner:
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)
        self._lock = -1


def in_memory() -> str | None:
    """The place for files that are written often; None if there is none but the usual one."""
    shared = "/dev/shm"
    return shared if os.access(shared, os.W_OK) else None


def _sweep(where: Path, prefix: str) -> None:
    left = re.compile(re.escape(prefix) + r"([1-9][0-9]{0,8})-\w+")
    with contextlib.suppress(OSError):
        for name in os.listdir(where):
            if (found := left.fullmatch(name)) and not _is_alive(int(found[1])):
                _remove_unused(where / name)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's
    return True


def _remove_unused(folder: Path) -> None:
    """If it is a folder of this user, no link to one, and nobody has locked it."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        if os.fstat(lock).st_uid == os.geteuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
    except OSError:
        pass  # it is in use, or another process removes it
    finally:
        os.close(lock)
