"""What `./dev bench inline-runners` shows: tables, goals, a plot."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from _inline_thinlto import THREADS
from _inline_variants import EQUAL, IN_PROCESS, PLAIN, POLICY

OVERHEAD, SCALING = 1.05, 0.95
COLOURS = {"reference": "0.7", POLICY: "#6baed6", EQUAL: "#cb181d"}
Row = dict[str, Any]


def goal(what: str, measured: float | None, sense: str, limit: float) -> Row:
    met = None
    if measured is not None:
        met = measured <= limit if sense == "<=" else measured >= limit
    return {"what": what, "goal": f"{sense} {limit:g}", "measured": measured, "met": met}


def judge(rows: list[Row], thinlto: list[Row]) -> list[Row]:
    goals = []
    ratios = {row["runner"]: row["cpu_ratio"] for row in rows}
    for runner in IN_PROCESS:
        name = f"{runner}-equal"
        goals.append(goal(f"{name}: CPU time / plain", ratios.get(name), "<=", OVERHEAD))
    for row in thinlto:
        if row["runner"] != PLAIN.name and row["threads"] > 1:
            what = f"{row['runner']}: scaling / plain's, {row['threads']} threads"
            goals.append(goal(what, row["scaling_of_plain"], ">=", SCALING))
    different = sum(row["differing"] or 0 for row in rows)
    goals.append(goal("records that are not those of native", different, "<=", 0))
    other = sum(row["modules"] - row["same_code"] for row in rows if row["kind"] != POLICY)
    goals.append(goal("objects of plugin, heuristic, *-equal unlike plain's", other, "<=", 0))
    return goals


def optional(value: float | None, form: str, width: int) -> str:
    return f"{'' if value is None else format(value, form):>{width}}"


def print_table(rows: list[Row]) -> None:
    print(
        f"\n{'runner':13} {'kind':9} {'CPU s':>8} {'/plain':>7} {'95 %':>13} {'wall s':>8}"
        f" {'/plain':>7} {'start ms':>9} {'peer s':>7} {'decisions':>9} {'differ':>6}"
        f" {'plain code':>10}"
    )
    for row in rows:
        interval = f"{row['cpu_low']:.3f}-{row['cpu_high']:.3f}"
        print(
            f"{row['runner']:13} {row['kind']:9} {row['cpu_s']:8.2f} {row['cpu_ratio']:6.3f}x"
            f" {interval:>13} {row['wall_s']:8.2f} {row['wall_ratio']:6.3f}x"
            f" {row['start_ms']:9.1f} {optional(row['peer_cpu_s'], '.2f', 7)}"
            f" {optional(row['decisions'], 'd', 9)} {optional(row['differing'], 'd', 6)}"
            f" {row['same_code']:5} of {row['modules']}"
        )


def print_thinlto(rows: list[Row]) -> None:
    if not rows:
        return
    cores = len(os.sched_getaffinity(0))
    print(
        f"\nThinLTO link of {rows[0]['modules']} modules, seconds (T1/TN; that / plain's);"
        f" this machine has {cores} core(s)"
    )
    print(f"{'runner':13}" + "".join(f"{f'{n} thread(s)':>24}" for n in THREADS))
    for name in dict.fromkeys(row["runner"] for row in rows):
        cells = [
            f"{r['wall_s']:.2f} ({r['scaling']:.2f}; {r['scaling_of_plain']:.3f})"
            for r in rows
            if r["runner"] == name
        ]
        print(f"{name:13}" + "".join(f"{cell:>24}" for cell in cells))


def print_goals(goals: list[Row]) -> None:
    print(f"\n{'goal':52} {'limit':>8} {'measured':>9}")
    for each in goals:
        unknown = "not measured" if each["measured"] is None else "not judged"
        said = {True: "met", False: "MISSED", None: unknown}[each["met"]]
        measured = optional(each["measured"], ".4g", 9)
        print(f"{each['what']:52} {each['goal']:>8} {measured}  {said}")


def draw(rows: list[Row], thinlto: list[Row], path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), width_ratios=(3, 2))
    place = range(len(rows))
    left.barh(place, [r["cpu_ratio"] for r in rows], color=[COLOURS[r["kind"]] for r in rows])
    for p, row in zip(place, rows, strict=True):
        left.plot([row["cpu_low"], row["cpu_high"]], [p, p], color="black", linewidth=1)
        left.plot(row["wall_ratio"], p, "|", color="black", markersize=9)
        left.text(row["cpu_high"], p, f"  {row['cpu_ratio']:.3f}", va="center", fontsize=8)
    left.set_yticks(list(place), [row["runner"] for row in rows])
    left.invert_yaxis()
    left.set_xlim(right=left.get_xlim()[1] * 1.08)
    left.axvline(1, color="black", linewidth=1)
    left.axvline(OVERHEAD, color="tab:red", linewidth=1, linestyle="--")
    left.set_xlabel("CPU time / plain -Oz, with its 95 % interval; |: by the clock; dashed: goal")
    modules = rows[0]["modules"]
    left.set_title(f"{modules} modules; the same policy (blue), plain's decisions (red)")
    for name in dict.fromkeys(row["runner"] for row in thinlto):
        own = [row for row in thinlto if row["runner"] == name]
        right.plot(
            [row["threads"] for row in own],
            [row["scaling"] for row in own],
            marker="o",
            label=name,
            color="black" if name == PLAIN.name else None,
        )
    right.set_xscale("log", base=2)
    right.set_xticks(THREADS, [str(n) for n in THREADS])
    right.set_xlabel("ThinLTO threads")
    right.set_ylabel("T1 / TN")
    right.set_title(f"ThinLTO link, {len(os.sched_getaffinity(0))} core(s)")
    if thinlto:
        right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
