"""How far a long command is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

_REDRAW = 0.1
_LINE_EVERY = 30.0


class Progress:
    """Counts what is done of a known number. From one thread."""

    def __init__(self, title: str, total: int, stream: TextIO | None = None) -> None:
        self._title, self._total, self._done = title, total, 0
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._start = self._shown = time.monotonic()
        if self._terminal:
            self._draw()

    def advance(self, note: str = "") -> None:
        self._done += 1
        now = time.monotonic()
        if now - self._shown < (_REDRAW if self._terminal else _LINE_EVERY):
            return
        self._shown = now
        if self._terminal:
            self._draw(note)
        else:
            print(self._state(note), file=self._stream, flush=True)

    def clear(self) -> None:
        """Makes room for a line of text."""
        if self._terminal:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def close(self) -> None:
        self.clear()

    def _state(self, note: str) -> str:
        spent = time.monotonic() - self._start
        left = ""
        if 0 < self._done < self._total and spent > 1:
            left = f", {spent / self._done * (self._total - self._done):.0f} s left"
        return f"{self._title}: {self._done} of {self._total}{left}{', ' if note else ''}{note}"

    def _draw(self, note: str = "") -> None:
        width = shutil.get_terminal_size().columns - 1
        filled = 20 * self._done // max(self._total, 1)
        text = f"[{'#' * filled}{'.' * (20 - filled)}] {self._state(note)}"
        self._stream.write(f"\r{text[:width]}\x1b[K")
        self._stream.flush()
