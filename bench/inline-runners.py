"""One inlining policy through every runner, inside stock clang: `./dev bench inline-runners`.

The modules of a corpus are compiled by clang-19 -Oz with the plugin, in turn by every runner, and
compared with plain clang-19 -Oz of the same run. The policy is the same for all, and so must be
its decisions, which are recorded and compared before anything is measured. A policy that decides
as LLVM does (`*-equal`) gives the code of plain clang, and so tells what asking costs. Then
in-process runners at 1, 2, 4 and 8 ThinLTO threads. Fields of build/bench/inline-runners.json,
inline-runners_thinlto.json and inline-runners_goals.json: docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from _clang import LLVM_ADVISOR, PLUGIN, Clock, RunError, Usage, need_build
from _inline_check import Checked, differing, read_decisions, read_features
from _inline_corpus import choose, spread
from _inline_policy import NAMES, VERSION, Policy, fit, weights_file, write
from _inline_report import draw, judge, print_goals, print_table, print_thinlto
from _inline_thinlto import compile_program
from _inline_thinlto import measure as measure_thinlto
from _inline_time import compile_module, measure, medians
from _inline_variants import (
    PLAIN,
    POLICY,
    REFERENCES,
    Peers,
    Variant,
    by_llvm,
    in_process,
    out_of_process,
)
from _make import MODELS, OUT

from compiler_bridge.corpus import Module

SCRATCH = OUT / "inline-scratch"
RESAMPLES = 2000
Row = dict[str, Any]


def compile_all(variant: Variant, modules: list[Module], what: str, clock: Clock) -> list[Path]:
    """On all cores, as nothing is timed; the objects."""

    def compile_one(number: int) -> Path:
        made = SCRATCH / f"{number}.o"
        compile_module(modules[number], variant, made)
        return made

    objects = []
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        for i, made in enumerate(workers.map(compile_one, range(len(modules)))):
            objects.append(made)
            clock.step(what, i + 1, len(modules))
    return objects


def fit_policy(modules: list[Module], clock: Clock) -> Policy:
    """On what LLVM decides in these modules; kept for the next run on the same ones."""
    digest = hashlib.sha256(VERSION.encode())
    for module in modules:
        digest.update(f"{module.name} {module.bitcode.stat().st_size} ".encode())
    stamp, weights = MODELS / f"{NAMES[False]}-fitted", weights_file()
    if stamp.exists() and weights.exists() and stamp.read_text() == digest.hexdigest():
        return Policy.load(weights)
    logs = SCRATCH / "fit"
    heuristic = Variant("fit", model=f"heuristic:?record={logs}/")
    compile_all(heuristic, modules, "LLVM's decisions recorded, modules", clock)
    if not (decisions := read_decisions(logs)):
        sys.exit("LLVM has decided nothing in these modules: there is nothing to fit a policy to")
    rows = np.vstack([decisions[module] for module in sorted(decisions)])  # the same fit each time
    policy = fit(read_features(logs), rows[:, :-1], rows[:, -1])
    agreed = float(np.mean((policy.logits(rows[:, :-1]) > 0) == rows[:, -1]))
    clock.done(f"policy fitted to {len(rows)} decisions of LLVM, agrees with {agreed:.1%}")
    policy.save(weights)
    stamp.write_text(digest.hexdigest())
    return policy


def check(
    variants: list[Variant], modules: list[Module], missing: dict[str, str], clock: Clock
) -> dict[str, Checked]:
    """A first compile by all, which is not measured: what they decide, and the code. One that
    fails has no row."""
    found: dict[str, Checked] = {}
    for variant in variants:
        result = Checked()
        logs = SCRATCH / f"logs-{variant.name}"
        used = variant.recording(logs) if variant.kind == POLICY else variant
        try:
            objects = compile_all(used, modules, f"{variant.name}, modules checked", clock)
            for made in objects:
                result.add_object(made)
            result.decisions = read_decisions(logs) if variant.kind == POLICY else {}
        except (RunError, subprocess.TimeoutExpired) as why:
            if variant == PLAIN:
                sys.exit(str(why))
            missing[variant.name] = str(why)
            continue
        found[variant.name] = result
        clock.done(f"{variant.name} checked: {result.count} decisions recorded")
    return found


def interval(ours: np.ndarray[Any, Any], plain: np.ndarray[Any, Any]) -> tuple[float, float]:
    """95 % of the ratio of sums, by resampling modules."""
    random = np.random.default_rng(1)
    chosen = random.integers(0, len(ours), (RESAMPLES, len(ours)))
    low, high = np.quantile(ours[chosen].sum(1) / plain[chosen].sum(1), [0.025, 0.975])
    return float(low), float(high)


def start_ms(cpu: np.ndarray[Any, Any], plain: np.ndarray[Any, Any], asked: list[int]) -> float:
    """What is added where next to nothing is asked: in the quarter with the fewest decisions."""
    fewest = np.argsort(asked, kind="stable")[: max(1, len(asked) // 4)]
    return float(np.median((cpu - plain)[fewest]) * 1e3)


def make_rows(
    variants: list[Variant],
    taken: dict[str, list[list[Usage]]],
    checked: dict[str, Checked],
    modules: list[Module],
    peer_cpu: dict[str, float],
) -> list[Row]:
    plain_cpu, plain_wall = (medians(taken[PLAIN.name], f) for f in ("cpu_s", "wall_s"))
    reference = next(checked[v.name] for v in variants if v.kind == POLICY)
    asked = [len(reference.decisions.get(str(module.bitcode), ())) for module in modules]
    rows = []
    for variant in variants:
        cpu, wall = (medians(taken[variant.name], field) for field in ("cpu_s", "wall_s"))
        low, high = interval(cpu, plain_cpu)
        result = checked[variant.name]
        policy = variant.kind == POLICY
        rows.append(
            {
                "runner": variant.name,
                "kind": variant.kind,
                "modules": len(modules),
                "cpu_s": float(cpu.sum()),
                "cpu_ratio": float(cpu.sum() / plain_cpu.sum()),
                "cpu_low": low,
                "cpu_high": high,
                "wall_s": float(wall.sum()),
                "wall_ratio": float(wall.sum() / plain_wall.sum()),
                "start_ms": start_ms(cpu, plain_cpu, asked),
                "peer_cpu_s": peer_cpu.get(variant.name),
                "decisions": result.count if policy else None,
                "differing": (differing(result.decisions, reference.decisions) if policy else None),
                "same_code": result.same_objects(checked[PLAIN.name]),
                "object_bytes": result.object_bytes,
            }
        )
    return rows


def margin(policy: Policy, decisions: dict[str, np.ndarray[Any, Any]]) -> tuple[float, float]:
    """How close to the border any decision was, and how much rounding moves one."""
    x = np.vstack(list(decisions.values()))[:, :-1]
    exact = policy.exact().logits(x)
    return float(np.abs(exact).min()), float(np.abs(policy.logits(x) - exact).max())


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a dozen modules, for a first look")
    parser.add_argument(
        "--corpus", metavar="DIR", help="of `cbridge corpus` (default: fetched, and kept)"
    )
    parser.add_argument(
        "--modules", type=int, default=160, metavar="N", help="at most (default: %(default)s)"
    )
    parser.add_argument(
        "--repetitions", type=int, metavar="N", help="compiles of each (default: 3; --quick: 2)"
    )
    parser.add_argument("--no-tensorflow", action="store_true", help="leave out tf and tflite")
    parser.add_argument("--no-thinlto", action="store_true", help="leave out the ThinLTO links")
    given = parser.parse_args()
    if given.modules < 1 or (given.repetitions is not None and given.repetitions < 1):
        parser.error("there is nothing to compile")
    return given


def main() -> None:
    given = parse()
    need_build(LLVM_ADVISOR)
    clock = Clock()
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    corpus, every, program = choose(given.corpus, given.modules)
    modules = spread(every, 12) if given.quick else every
    repetitions = given.repetitions or (2 if given.quick else 3)
    clock.done(f"{len(modules)} modules of {corpus}")
    policy = fit_policy(every, clock)
    write(policy, not given.no_tensorflow)
    missing: dict[str, str] = {}
    with Peers(weights_file()) as peers:
        found = in_process(not given.no_tensorflow, missing)
        variants = [
            *REFERENCES,
            *(each for each in found if each.kind == POLICY),
            *by_llvm(found),
            *out_of_process(peers),
            *(each for each in found if each.kind != POLICY),
        ]
        clock.done("models made, peers started")
        checked = check(variants, modules, missing, clock)
        variants = [each for each in variants if each.name in checked]
        policies = [each for each in variants if each.kind == POLICY]
        if not policies:
            sys.exit(f"no runner works: {missing}")
        names = [each.name for each in policies]
        before = {name: peers.cpu_s(name) for name in names}
        taken = measure(variants, modules, repetitions, SCRATCH, clock)
        # Of one repetition, as the other columns.
        peer_cpu = {
            name: ((peers.cpu_s(name) or 0) - used) / repetitions
            for name, used in before.items()
            if used is not None
        }
    rows = make_rows(variants, taken, checked, modules, peer_cpu)
    clock.done("compiles measured")

    thinlto: list[Row] = []
    if not given.no_thinlto:
        inside = [v for v in policies if v.name not in peer_cpu and v.plugin == PLUGIN]
        linked = spread(program, 12) if given.quick else program
        links = 1 if given.quick else repetitions
        folder = SCRATCH / "thinlto"
        try:
            objects = compile_program(linked, folder, clock)
            thinlto = measure_thinlto([PLAIN, *inside], objects, folder, links, clock)
            clock.done("ThinLTO measured")
        except (RunError, subprocess.TimeoutExpired) as why:
            missing["ThinLTO"] = str(why)

    goals = judge(rows, thinlto)
    for suffix, content in (("", rows), ("_thinlto", thinlto), ("_goals", goals)):
        (OUT / f"inline-runners{suffix}.json").write_text(json.dumps(content, indent=1) + "\n")
    draw(rows, thinlto, OUT / "inline-runners.png")
    print_table(rows)
    nearest, rounding = margin(policy, checked[policies[0].name].decisions)
    print(
        f"no decision is closer to the border than {nearest:.1e}; rounding to float32 moves one by"
        f" {rounding:.1e} at most"
    )
    print_thinlto(thinlto)
    print_goals(goals)
    if (load := os.getloadavg()[0]) > len(os.sched_getaffinity(0)) + 1:
        print(f"\nthe machine is busy (load {load:.1f}): ratios by the clock are doubtful")
    for name, reason in missing.items():
        print(f"inline-runners: no row for {name}: {reason}", file=sys.stderr)
    shutil.rmtree(SCRATCH)
    print(f"\nwritten: {OUT / 'inline-runners.json'}, _thinlto.json, _goals.json, .png")


if __name__ == "__main__":
    try:
        main()
    except (RunError, subprocess.TimeoutExpired) as why:
        sys.exit(f"inline-runners: {why}")
