"""What a model in a compiler costs besides time per decision: `./dev bench cost [--quick]`.

Lines of code that bring a model into a pass; the size of the plugin, and what clang loads beyond
its own libraries; the start of clang on a tiny file, and its memory, with and without a model.
Fields of build/bench/cost.json: docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from _clang import CLANG, PLUGIN, Clock, RunError, Usage, environment, need_build, run
from _cost_lines import rows as line_rows
from _cost_size import FLOOR, loaded, size_rows
from _inline_check import read_decisions, read_features
from _inline_policy import NAMES, Policy, fit, weights_file, write
from _inline_variants import runner_strings
from _make import OUT, make_tf
from _native import CompileError

RSS_GOAL = 400  # KB: published
RUNS = 60
RESAMPLES = 2000
TINY = """\
static int half(int n) { return n / 2; }
int sum(int a, int b) { return half(a) + half(b); }
"""
Row = dict[str, Any]


@dataclass(frozen=True)
class Start:
    name: str
    plugin: Path | None = None
    model: str | None = None

    def command(self, source: Path) -> list[str]:
        plugin = [f"-fpass-plugin={self.plugin}"] if self.plugin else []
        return [CLANG, "-Oz", "-c", *plugin, str(source), "-o", str(source.with_suffix(".o"))]


def policy(source: Path) -> Policy:
    """That of `./dev bench inline-runners`, or one of the same size: what it says does not
    matter."""
    if weights_file().exists():
        return Policy.load(weights_file())
    logs = source.parent / "logs"
    run(Start("", PLUGIN).command(source), environment(f"heuristic:?record={logs}/"))
    rows = np.vstack(list(read_decisions(logs).values()))
    return fit(read_features(logs), rows[:, :-1], rows[:, -1])


def starts(source: Path, tensorflow: bool, missing: dict[str, str]) -> list[Start]:
    write(policy(source), tensorflow)
    name = NAMES[False]
    if tensorflow:
        make_tf([name])
    made = [Start("plain"), Start("empty plugin", FLOOR), Start("plugin", PLUGIN)]
    for runner, string in runner_strings(name, tensorflow).items():
        try:
            made.append(Start(runner, PLUGIN, string()))
        except CompileError as why:
            missing[runner] = str(why)
    return made


def measure(
    variants: list[Start], source: Path, runs: int, missing: dict[str, str], clock: Clock
) -> dict[str, list[Usage]]:
    """In turn, after one run of each that reads the files from disk; by variant."""
    taken: dict[str, list[Usage]] = {}
    for each in variants:
        try:
            run(each.command(source), environment(each.model))
            taken[each.name] = []
        except RunError as why:
            if not each.plugin:
                sys.exit(f"{why}")
            missing[each.name] = str(why)
    working = [each for each in variants if each.name in taken]
    for i in range(runs):
        first = i % len(working)
        for each in working[first:] + working[:first]:
            taken[each.name].append(run(each.command(source), environment(each.model)))
        clock.step("starts", i + 1, runs)
    return taken


def middle(values: list[float]) -> tuple[float, float, float]:
    """The median, and 95 % of it by resampling."""
    random = np.random.default_rng(1)
    chosen = random.choice(np.array(values), (RESAMPLES, len(values)))
    low, high = np.quantile(np.median(chosen, axis=1), [0.025, 0.975])
    return statistics.median(values), float(low), float(high)


def start_rows(
    variants: list[Start], taken: dict[str, list[Usage]], source: Path, clock: Clock
) -> list[Row]:
    """Differences are to the plain clang of the same round."""
    plain = taken["plain"]
    own = loaded(variants[0].command(source), environment())
    rows = []
    for each in variants:
        if each.name not in taken:
            continue
        usages = taken[each.name]
        row: Row = {"what": "start", "compiler": each.name, "runs": len(usages)}
        for field, unit, scale in (
            ("cpu_s", "cpu_ms", 1e3),
            ("wall_s", "wall_ms", 1e3),
            ("rss_kb", "rss_kb", 1),
        ):
            values = [getattr(u, field) * scale for u in usages]
            added = [v - getattr(p, field) * scale for v, p in zip(values, plain, strict=True)]
            row[unit] = statistics.median(values)
            row[f"added_{unit}"], row[f"added_{unit}_low"], row[f"added_{unit}_high"] = middle(
                added
            )
        libraries = loaded(each.command(source), environment(each.model))
        row["loads"] = {file: size for file, size in libraries.items() if file not in own}
        if each.name in ("plugin", "native"):
            row |= {"goal": f"<= {RSS_GOAL}", "met": row["added_rss_kb"] <= RSS_GOAL}
        rows.append(row)
    clock.done("libraries listed")
    return rows


def said(row: Row) -> str:
    return f"  goal {row['goal']}: {'met' if row['met'] else 'MISSED'}" if "goal" in row else ""


def print_tables(rows: list[Row]) -> None:
    print(f"\n{'lines for a model in':20} {'lines':>6} {'of 80 columns':>14}")
    for row in (r for r in rows if r["what"] == "lines"):
        print(f"{row['pass']:20} {row['lines']:6} {row['lines_of_80_columns']:14}{said(row)}")
    for row in (r for r in rows if r["what"] == "size"):
        print(
            f"\n{row['file']}, stripped: {row['stripped_bytes']:,} bytes; an empty plugin"
            f" {row['floor_bytes']:,}: {row['added_bytes']:+,}{said(row)}"
        )
    print(
        f"\n{'clang -Oz on 2 lines':20} {'CPU ms':>7} {'more (95 %)':>22} {'wall ms':>8}"
        f" {'more (95 %)':>22} {'RSS KB':>8} {'more (95 %)':>24}"
    )
    for row in (r for r in rows if r["what"] == "start"):

        def more(unit: str, digits: int, of: Row = row) -> str:
            low, high = of[f"added_{unit}_low"], of[f"added_{unit}_high"]
            return f"{of[f'added_{unit}']:+,.{digits}f} ({low:+,.{digits}f}..{high:+,.{digits}f})"

        print(
            f"{row['compiler']:20} {row['cpu_ms']:7.1f} {more('cpu_ms', 1):>22}"
            f" {row['wall_ms']:8.1f} {more('wall_ms', 1):>22} {row['rss_kb']:8,.0f}"
            f" {more('rss_kb', 0):>24}{said(row)}"
        )
    print("\nloaded beyond what plain clang loads, bytes of files")
    for row in (r for r in rows if r["what"] == "start"):
        files = ", ".join(f"{Path(f).name} {size:,}" for f, size in row["loads"].items())
        print(f"{row['compiler']:20} {files or '-'}")


def draw(rows: list[Row], path: Path) -> None:
    own = [row for row in rows if row["what"] == "start" and row["compiler"] != "plain"]
    figure, axes = plt.subplots(1, 2, figsize=(11, 1.5 + 0.4 * len(own)))
    for axis, unit, digits, title in (
        (axes[0], "cpu_ms", 1, "CPU time of a start, more than plain clang (ms)"),
        (axes[1], "rss_kb", 0, "resident memory, more than plain clang (KB)"),
    ):
        for place, row in enumerate(own):
            value = row[f"added_{unit}"]
            low, high = row[f"added_{unit}_low"], row[f"added_{unit}_high"]
            axis.barh(place, value, color="#6baed6")
            axis.plot([low, high], [place, place], color="black", linewidth=1)
            axis.text(
                max(value, high, 0), place, f"  {value:+,.{digits}f}", va="center", fontsize=8
            )
        axis.set_yticks(range(len(own)), [row["compiler"] for row in own])
        axis.invert_yaxis()
        axis.set_xscale("symlog", linthresh=1 if unit == "cpu_ms" else 100)
        axis.set_xlim(right=axis.get_xlim()[1] * 10)
        axis.set_title(title)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer starts, for a first look")
    parser.add_argument("--no-tensorflow", action="store_true", help="leave out tf and tflite")
    given = parser.parse_args()
    need_build()
    OUT.mkdir(parents=True, exist_ok=True)
    clock = Clock()
    rows = [*line_rows(), *size_rows()]
    missing: dict[str, str] = {}
    folder = Path(tempfile.mkdtemp())
    try:
        source = folder / "tiny.c"
        source.write_text(TINY)
        variants = starts(source, not given.no_tensorflow, missing)
        clock.done("models made")
        taken = measure(variants, source, 10 if given.quick else RUNS, missing, clock)
        clock.done("starts measured")
        rows += start_rows(variants, taken, source, clock)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    (OUT / "cost.json").write_text(json.dumps(rows, indent=1) + "\n")
    draw(rows, OUT / "cost.png")
    print_tables(rows)
    for name, why in missing.items():
        print(f"cost: no row for {name}: {why}", file=sys.stderr)
    print(f"\nwritten: {OUT / 'cost.json'}, cost.png")


if __name__ == "__main__":
    try:
        main()
    except (RunError, subprocess.TimeoutExpired) as why:
        sys.exit(f"cost: {why}")
