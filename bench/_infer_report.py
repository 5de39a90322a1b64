"""What `./dev bench infer` shows: a table, goals, a plot."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Patch

COLOURS = {
    "copy": "0.9",
    "hand": "0.45",
    "native-fast": "#67000d",
    "native-v3": "#cb181d",
    "native-generic": "#fc9272",
    "bare-ort": "0.75",
    "onnx": "#6baed6",
    "tf": "#fdae6b",
    "tflite": "#74c476",
    "python-ort": "#bcbddc",
}
SCALED = ["bare-ort", "onnx", "native-v3"]  # those that are measured with two threads, too
QUIET = 0.5  # less undisturbed time makes a ratio doubtful
Row = dict[str, Any]


@dataclass(frozen=True)
class Goal:
    """A limit of the ratio of two engines' medians."""

    model: str
    over: str
    under: str
    sense: str  # ">=" or "<="
    limit: float


GOALS = [
    Goal("mlp", "onnx", "native-v3", ">=", 4),
    Goal("mlp", "native-v3", "tf", "<=", 1.1),
    Goal("mlp", "native-v3", "hand", "<=", 1.3),
    Goal("fc50000", "onnx", "native-v3", ">=", 8),
    Goal("fc50000", "tf", "native-v3", ">=", 8),
    Goal("lstm16", "native-v3", "bare-ort", "<=", 1.1),
    Goal("ggnn128", "native-v3", "bare-ort", "<=", 1.5),
    Goal("ggnn128", "native-fast", "bare-ort", "<=", 1.2),
]


def judge(processes: dict[str, list[Row]]) -> list[Row]:
    """The goals of these models. What was measured: the median of each process's own ratio, whose
    two sides took turns."""
    judged = []
    for goal in GOALS:
        if goal.model not in processes:
            continue
        ratios = [
            each[goal.over]["median_us"] / each[goal.under]["median_us"]
            for each in processes[goal.model]
            if goal.over in each and goal.under in each
        ]
        measured = statistics.median(ratios) if ratios else None
        quiet = [
            each[side]["undisturbed"]
            for each in processes[goal.model]
            for side in (goal.over, goal.under)
            if side in each
        ]
        met = None
        if measured is not None:
            met = measured >= goal.limit if goal.sense == ">=" else measured <= goal.limit
        judged.append(
            {
                "model": goal.model,
                "ratio": f"{goal.over} / {goal.under}",
                "goal": f"{goal.sense} {goal.limit:g}",
                "measured": measured,
                "met": met,
                "undisturbed": min(quiet, default=None),
            }
        )
    return judged


def print_goals(judged: list[Row]) -> None:
    if not judged:
        return
    print(f"\n{'model':8} {'ratio of medians':24} {'goal':>8} {'measured':>9}")
    for each in judged:
        measured = "-" if each["measured"] is None else f"{each['measured']:.2f}"
        said = {True: "met", False: "MISSED", None: "not measured"}[each["met"]]
        if each["met"] is not None and each["undisturbed"] < QUIET:
            said += f", but doubtful: {each['undisturbed']:.0%} of the time undisturbed"
        print(f"{each['model']:8} {each['ratio']:24} {each['goal']:>8} {measured:>9}  {said}")


def find(rows: list[Row], engine: str, model: str, threads: int) -> Row | None:
    for each in rows:
        if (each["engine"], each["model"], each["threads"]) == (engine, model, threads):
            return each
    return None


def ratio(rows: list[Row], each: Row) -> float | None:
    """To the bare C API in the same conditions."""
    bare = find(rows, "bare-ort", each["model"], each["threads"])
    return each["median_us"] / bare["median_us"] if bare else None


def print_table(rows: list[Row]) -> None:
    print(
        f"\n{'model':8} {'engine':14} {'threads':>7} {'median us':>10} {'/bare-ort':>9}"
        f" {'p99 us':>10} {'scaling':>8} {'/spin':>6} {'quiet':>5} {'wrong':>6}"
    )
    for each in rows:
        of_bare = ratio(rows, each)
        print(
            f"{each['model']:8} {each['engine']:14} {each['threads']:7} {each['median_us']:10.3f}"
            f" {f'{of_bare:8.3f}x' if of_bare else '':>9} {each['p99_us']:10.3f}"
            + (
                f" {each['scaling']:8.3f} {each['scaling_of_spin']:6.3f}"
                if "scaling" in each
                else f" {'':8} {'':6}"
            )
            + (f" {each['undisturbed']:5.0%}" if "undisturbed" in each else f" {'':5}")
            + f" {each['wrong']:6}"
        )


def print_opening(opening: Row, maps: Row) -> None:
    for kind, what in (("cold_us", "library included"), ("warm_us", "library loaded")):
        bare = opening[f"bare_{kind}"]
        print(
            f"opening mlp, {what:16}: bare C API {bare / 1e3:7.3f} ms"
            + "".join(
                f", {side} {ours / 1e3:7.3f} ms ({ours / bare:.3f}x)"
                for side in ("onnx", "native")
                if (ours := opening.get(f"{side}_{kind}")) is not None
            )
        )
    said = {True: "mapped", False: "not mapped"}
    print(
        f"ONNX Runtime's library: {said[maps['constant']]} in a process that opened constant:,"
        f" {said[maps['onnx']]} once it opens onnx:"
    )


def draw(rows: list[Row], names: list[str], path: Path) -> None:
    size = (14, 1.6 + 1.5 * len(names))
    figure, (left, right) = plt.subplots(1, 2, figsize=size, width_ratios=(3, 2))
    engines = [e for e in COLOURS if any(r["engine"] == e for r in rows)]
    height = 0.85 / len(engines)
    for i, engine in enumerate(engines):
        for j, name in enumerate(names):
            each = find(rows, engine, name, 1)
            if not each:
                continue
            place = j + (i - (len(engines) - 1) / 2) * height
            left.barh(place, each["median_us"], height, color=COLOURS[engine])
            of_bare = ratio(rows, each)
            digits = 0 if each["median_us"] >= 100 else 1 if each["median_us"] >= 10 else 2
            text = f" {each['median_us']:,.{digits}f}"
            if of_bare and engine != "bare-ort":
                text += f"   {of_bare:.2f}x"
            left.text(each["median_us"], place, text, va="center", fontsize=7)
    left.set_yticks(range(len(names)), names)
    left.invert_yaxis()
    left.set_xscale("log")
    left.set_xlim(left.get_xlim()[0] / 2, left.get_xlim()[1] * 5)
    left.set_xlabel("median time of an evaluation (us), and ratio to bare-ort")
    left.set_title("One thread")
    left.legend([Patch(color=COLOURS[e]) for e in engines], engines, loc="upper right")

    thickness = 0.85 / len(SCALED)
    for i, engine in enumerate(SCALED):
        values = [(j, find(rows, engine, name, 2)) for j, name in enumerate(names)]
        for j, each in values:
            if each and "scaling" in each:
                place = j + (i - (len(SCALED) - 1) / 2) * thickness
                share = each["scaling_of_spin"]
                right.barh(place, share, thickness, color=COLOURS[engine])
                text = (
                    f"{engine}: {share:.3f} ({each['scaling']:.2f} of {each['spin_scaling']:.2f})"
                )
                right.text(0.02, place, text, va="center", fontsize=8)
    right.axvline(1, color="black", linewidth=1)
    right.axvline(0.95, color="tab:red", linewidth=1, linestyle="--")
    right.set_yticks(range(len(names)), names)
    right.set_ylim(left.get_ylim())
    right.set_xlim(0, 1.1)
    right.set_xlabel("scaling / scaling of a spin loop (dashed: 0.95)")
    right.set_title("Two threads on one model")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
