"""Files that a command writes when it is done, and what it prints."""

from __future__ import annotations

import sys
from pathlib import Path

from ..scoring import ScoreError


def check(file: Path) -> None:
    """Better now than after an hour. Whatever is in the file stays there."""
    folder = file.absolute().parent
    if not folder.is_dir():
        raise ScoreError(f"{file}: there is no folder {folder}")
    try:
        existed = file.exists()
        if existed and not file.is_file() and not file.is_dir():
            return  # a pipe or device, which to open may take until somebody reads
        with open(file, "ab"):
            pass
        if not existed:
            file.resolve().unlink()
    except OSError as error:
        raise ScoreError(f"{file}: cannot be written: {error.strerror}") from None


def show(text: str) -> None:
    """Names can have characters that no terminal shows."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def write(file: Path, text: str) -> bool:
    """Whether it could be written; tells if not."""
    try:
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        print(f"cbridge: {file}: cannot be written: {error.strerror}", file=sys.stderr)
        return False
    return True
