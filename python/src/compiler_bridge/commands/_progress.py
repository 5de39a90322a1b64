"""How far a long command is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType

_WIDTH = 24
_OFTEN, _SELDOM = 0.1, 30.0


class ProgressBar:
    """Writes to standard error. What it leaves there when it is closed is nothing on a terminal."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._what = ""
        self._started = self._written = 0.0

    def __call__(self, what: str, done: int, of: int) -> None:
        now = time.monotonic()
        if what != self._what:
            # The first step is done: what it took is not known, so the rest is told from here on.
            self._what, self._started, self._written = what, now, now
        elif done < of and now - self._written < (_OFTEN if self._is_terminal else _SELDOM):
            return
        self._written = now
        left = (now - self._started) / max(done - 1, 1) * (of - done)
        text = f"{what} {done:,} of {of:,}"
        if done < of and done > 1:
            text += f", {_duration(left)} left"
        if self._is_terminal:
            full = done * _WIDTH // of
            line = f"{'█' * full}{'░' * (_WIDTH - full)} {text}"
            self._write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
        elif done > 1 or of == 1:
            self._write(f"cbridge: {text}\n")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_terminal and self._what:
            self._write("\r\x1b[K")


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
