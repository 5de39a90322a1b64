"""What the cache gives back, if it is what was put there: anything can be in a file."""

from __future__ import annotations

from typing import Any

from ._measure import Measurement
from ._programs import Outcome


def measurement(stored: Any) -> Measurement | None:
    """Without its time: those of other days, under another load, compare to nothing."""
    if not isinstance(stored, dict):
        return None
    text, total, count = (stored.get(key, "") for key in ("text", "total", "instructions"))
    if not _is_count(text) or not _is_count(total) or not (count is None or _is_count(count)):
        return None
    return Measurement(text, total, count, None)


def outcome(stored: Any, runs: int) -> Outcome | None:
    """That of so many runs."""
    if not isinstance(stored, dict):
        return None
    count, found = stored.get("instructions", ""), stored.get("runs")
    if not (count is None or _is_count(count)) or not isinstance(found, list) or len(found) != runs:
        return None
    if not all(isinstance(run, list) and [type(part) for part in run] == _RUN for run in found):
        return None
    return Outcome(count, tuple((status, seen, text) for status, seen, text in found))


_RUN = [int, str, str]


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63
