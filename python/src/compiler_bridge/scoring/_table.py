"""A score for the terminal: a compact table, what is wrong, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import _words
from ._result import METRICS, Score
from ._statistics import Comparison

_HEAD = ("", "baseline", "policy", "total", "95 % interval", "mean", "95 % interval", "less/=/more")


def table(score: Score) -> str:
    return comparisons(score.comparisons, _HEAD)


def comparisons(found_of: Mapping[str, Comparison], head: Sequence[str]) -> str:
    """A line per metric, under a head of eight words."""
    rows = [head]
    for metric in METRICS:
        found = found_of.get(metric.key)
        if found is None:
            continue
        rows.append(
            (
                metric.title,
                _words.number(found.baseline, metric.key),
                _words.number(found.policy, metric.key),
                _words.percent(found.total.value),
                _words.interval(found.total, found),
                _words.percent(found.mean.value),
                _words.interval(found.mean, found),
                f"{found.less}/{found.equal}/{found.more}",
            )
        )
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """The first column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def summary(score: Score, colors: bool) -> str:
    """All that is printed at the end."""
    lines = [f"{score.policy} against {score.baseline}, {score.corpus}, {score.clang}", ""]
    lines += [table(score), ""]
    found = score.disagreement
    if found and found.asked_policy:
        lines.append(
            f"decisions: {len(found.differences):,} of {found.compared:,} differ from the "
            f"baseline's (the policy was asked {found.asked_policy:,} times)"
        )
    if score.from_cache:
        lines.append(
            f"{_words.of('text', score.from_cache)} of the baseline are from the cache, and their "
            "compile time is not compared; --no-cache measures both"
        )
    for what, failures in (("module", score.broken), ("program", score.broken_programs)):
        lines += [f"left out: {what} {failure}" for failure in failures[:10]]
        if len(failures) > 10:
            lines.append(f"left out: and {len(failures) - 10:,} more {what}s")
    lines += [_paint(f"error: {line}", "1;31", colors) for line in _words.errors(score)]
    lines += [_paint(f"warning: {line}", "33", colors) for line in _words.warnings(score)]
    word = _words.word(score)
    color = {"better": "32", "worse": "31", "wrong": "1;31", "did not decide": "1;31"}
    lines.append(_paint(_words.verdict(score), color.get(word, "1"), colors))
    return "\n".join(lines)


def _paint(text: str, color: str, colors: bool) -> str:
    return f"\x1b[{color}m{text}\x1b[0m" if colors else text
