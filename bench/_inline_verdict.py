"""What `./dev bench inline` shows: tables, goals, a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from _inline_report import goal
from _inline_summary import K2, K8, METRICS, OZ, POLICY, SEARCH, THRESHOLD, WAYS, Measured, Row

from compiler_bridge.scoring._table import aligned
from compiler_bridge.scoring._words import MINUS, percent

PARTS = ("all", "C", "C++")
TITLES = {"text": "text", "total": "all loaded bytes"}
COLOURS = {
    POLICY: "#cb181d",
    THRESHOLD: "0.7",
    K2: "#9ecae1",
    K8: "#3182bd",
    SEARCH: "black",
}


def titles(summary: Row) -> dict[str, str]:
    best = summary["threshold"]["best"]
    return {
        POLICY: "policy",
        THRESHOLD: f"threshold {best}",
        K2: "K=2",
        K8: "K=8",
        SEARCH: "search",
    }


def judge(summary: Row) -> list[Row]:
    """Goals, and floors that must not be missed; null where nothing was measured."""
    every = summary["all"]
    policy, k2 = (_text(every["change"][way]) for way in (POLICY, K2))
    k8 = every["captured"][K8]["text"]
    growth = summary["largest_growth"]["text"]
    time, driven = summary["compile_time"], summary["compile_time_of_drivers"]
    larger = summary["larger_than_plain"]
    tests = summary["tests"]
    failed = tests["total"] - tests["passed"] if tests else None
    changed = tests["changed_objects"] if tests else None
    points = summary["points_better_than_threshold"]["text"]
    return [
        goal("policy: text, %", policy, "<=", -1.5),
        goal("policy: text, %, floor", policy, "<=", -0.8),
        goal("policy: points better than the best threshold", points, ">=", 0.4),
        goal("K=2: text, %", k2, "<=", -1.8),
        goal("K=2: text, %, floor", k2, "<=", -1.2),
        goal("K=8: text, % of the search's gain", k8, ">=", 80),
        goal("K=8: text, % of the search's gain, floor", k8, ">=", 60),
        goal("policy: largest growth of a package, %", growth and growth["percent"], "<=", 0.5),
        goal("K=2: objects larger than plain clang's", larger[K2], "<=", 0),
        goal("K=8: objects larger than plain clang's", larger[K8], "<=", 0),
        goal("K=2: objects larger than plain's or the policy's", summary["not_smallest"], "<=", 0),
        goal("policy: CPU time / plain", time and time["ratio"], "<=", 1.05),
        goal("cbridge-clang: CPU time / clang", driven and driven["ratio"], "<=", 1.05),
        goal("tests that pass with plain clang only", failed, "<=", 0),
        goal("tested objects that the policy changed", changed, ">=", 1),
    ]


def unjudged(goals: list[Row]) -> list[Row]:
    """Of a part of the modules: what was measured, but no verdicts."""
    return [each | {"met": None} for each in goals]


def _text(change: Row) -> float | None:
    return change["text"]["percent"] if change["text"] else None


def table(measured: Sequence[Measured], summary: Row) -> str:
    """A line per package: changes of text, then of all loaded bytes."""
    names = titles(summary)
    lines = []
    for metric in METRICS:
        rows = [(TITLES[metric], "modules", "plain -Oz", *names.values())]
        for each in measured:
            changes = [_cell(each.growth(way, metric)) for way in WAYS]
            rows.append((each.package, f"{each.modules}", f"{each.sum(OZ, metric):,}", *changes))
        for part in PARTS:
            if part in summary:
                rows += _part_rows(part, summary[part], metric)
        lines += [aligned(rows), ""]
    return "\n".join(lines)


def _part_rows(part: str, found: Row, metric: str) -> list[tuple[str, ...]]:
    changes = [found["change"][way][metric] for way in WAYS]
    shares = [found["captured"].get(way, {}).get(metric) for way in WAYS]
    return [
        (part, f"{found['modules']}", "", *(_cell(each and each["percent"]) for each in changes)),
        ("  95 % interval", "", "", *map(_interval, changes)),
        (
            "  of the search's gain",
            *("", ""),
            *("" if share is None else f"{share:.0f} %".replace("-", MINUS) for share in shares),
        ),
    ]


def _cell(value: float | None) -> str:
    return "" if value is None else percent(value / 100)


def _interval(change: Row | None) -> str:
    if change is None:
        return ""
    if change["low"] is None:
        return "\N{EN DASH}"
    low, high = (percent(change[edge] / 100).removesuffix(" %") for edge in ("low", "high"))
    return f"{low} to {high}"


def remarks(measured: Sequence[Measured], summary: Row) -> str:
    """All else: the sweep, growth, compile time, tests."""
    sweep = summary["threshold"]["sweep"]
    lines = [
        "-inline-threshold, text: "
        + ", ".join(f"{number} {_cell(each['text']['percent'])}" for number, each in sweep.items()),
        "the policy against the best of them: "
        + ", ".join(
            _points(points, TITLES[metric])
            for metric, points in summary["points_better_than_threshold"].items()
        ),
    ]
    for metric, growth in summary["largest_growth"].items():
        if growth:
            what = f"{growth['package']} {_cell(growth['percent'])}"
            lines.append(f"largest growth of a package by the policy, {TITLES[metric]}: {what}")
    if time := summary["compile_time"]:
        lines.append(f"CPU time of clang with the policy: {_ratio(time)}")
    if time := summary["compile_time_of_drivers"]:
        lines.append(f"CPU time of cbridge-clang: {_ratio(time)}")
    for each in measured:
        if each.tests:
            lines.append(
                f"tests of {each.package}: {each.tests} of those that pass by plain clang; "
                f"objects that the policy changed: {each.tests.changed}"
            )
            lines += [f"  only by plain clang: {name}" for name in each.tests.differ]
    return "\n".join(lines)


def _points(better: float, what: str) -> str:
    """`worse by 0.41 points (text)`."""
    if f"{abs(better):.2f}" == "0.00":
        return f"equal ({what})"
    word = "better" if better > 0 else "worse"
    return f"{word} by {abs(better):.2f} points ({what})"


def _ratio(time: Row) -> str:
    """Of times, with its interval, if there is one."""
    said = f"{time['ratio']:.3f} times that of plain clang"
    if time["low"] is None:
        return said
    return f"{said} (95 % interval {time['low']:.3f} to {time['high']:.3f})"


def draw(measured: Sequence[Measured], summary: Row, path: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(13, 6), sharey=True)
    parts = [part for part in PARTS if part in summary]
    labels = [each.package for each in measured] + parts
    names = titles(summary)
    height = 0.8 / len(WAYS)
    for metric, axis in zip(METRICS, axes, strict=True):
        for number, way in enumerate(WAYS):
            found = [summary[part]["change"][way][metric] for part in parts]
            values = [each.growth(way, metric) for each in measured]
            values += [each and each["percent"] for each in found]
            places = [place + (number - 2) * height for place in range(len(labels))]
            lengths = [value or 0 for value in values]
            axis.barh(places, lengths, height, color=COLOURS[way], label=names[way])
            for place, change in zip(places[len(measured) :], found, strict=True):
                if change and change["low"] is not None:
                    axis.plot([change["low"], change["high"]], [place] * 2, color="tab:orange")
        axis.axvline(0, color="black", linewidth=1)
        axis.set_xlabel("change to plain -Oz, %; orange: 95 % interval over modules")
        axis.set_title(TITLES[metric])
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].invert_yaxis()
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
