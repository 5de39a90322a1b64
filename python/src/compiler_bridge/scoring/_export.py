"""A score as JSON and as CSV, for programs."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from typing import Any

from . import _words
from ._result import METRICS, Score

# Of differing decisions, so many are listed with all their features.
_MOST_DIFFERENCES = 10_000


def to_json(score: Score) -> str:
    content: dict[str, Any] = {
        "format": 1,
        "corpus": score.corpus,
        "policy": score.policy,
        "baseline": score.baseline,
        "clang": score.clang,
        "seed": score.seed,
        "metric": score.metric,
        "verdict": _words.word(score),
        "sentence": _words.verdict(score),
        "errors": _words.errors(score),
        "warnings": _words.warnings(score),
        "did_not_decide": score.did_not_decide,
        "baselines_from_cache": score.from_cache,
        "metrics": {
            key: {**asdict(comparison), "verdict": comparison.verdict.value}
            for key, comparison in score.comparisons.items()
        },
        "modules": [asdict(pair) for pair in score.pairs],
        "programs": [asdict(program) for program in score.programs],
        "broken": [asdict(failure) for failure in score.broken],
        "broken_programs": [asdict(failure) for failure in score.broken_programs],
        "decisions": _decisions(score),
    }
    return json.dumps(content, indent=1) + "\n"


def _decisions(score: Score) -> dict[str, Any] | None:
    found = score.disagreement
    if found is None:
        return None
    return {
        "asked_baseline": found.asked_baseline,
        "asked_policy": found.asked_policy,
        "fallbacks_policy": found.fallbacks.total(),
        "compared": found.compared,
        "different": len(found.differences),
        "telling_features": dict(found.telling()),
        "differences": [asdict(each) for each in found.differences[:_MOST_DIFFERENCES]],
    }


def to_csv(score: Score) -> str:
    """A line per module and per program: what it is, and each metric by both."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    sides = [(metric, side) for metric in METRICS for side in ("baseline", "policy")]
    writer.writerow(["kind", "name", *(f"{metric.key}_{side}" for metric, side in sides), "remark"])
    for pair in score.pairs:
        cells = [
            "" if metric.of_programs else _cell(getattr(getattr(pair, side), metric.key))
            for metric, side in sides
        ]
        writer.writerow(["module", pair.module, *cells, "; ".join(pair.policy.said)])
    for program in score.programs:
        cells = [
            _cell(getattr(program, side)) if metric.of_programs else "" for metric, side in sides
        ]
        writer.writerow(["program", program.name, *cells, program.difference or ""])
    for kind, failures in (("module", score.broken), ("program", score.broken_programs)):
        for failure in failures:
            remark = f"broken {failure.side}".strip() + f": {failure.why}"
            writer.writerow([kind, failure.name, *("" for _ in sides), remark])
    return text.getvalue()


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.6f}" if isinstance(value, float) else str(value)
