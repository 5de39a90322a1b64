"""The inlining policy that ships, on packages it has not learnt from: `./dev bench inline`.

Compiles the modules of seven packages as plain clang-19 -Oz, with fixed thresholds, by the policy,
by cbridge-clang with budgets of 2 and 8, and by a search of 45 evaluations per module; times clang
with the policy and without it; builds the packages by both and runs their tests. What is measured
is kept in build/bench/inline as long as clang, the plugin and the policy stay the same: a run that
was interrupted goes on. Fields of build/bench/inline.json: docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from _clang import CLANG, PLUGIN, Clock, RunError, environment, need_build
from _inline_corpus import fetch_some, package, spread
from _inline_report import print_goals
from _inline_sizes import (
    CBRIDGE_CLANG,
    Kept,
    Measures,
    by_budgets,
    compiler_digests,
    digest,
    folder_digest,
    modules_digest,
    search_digest,
)
from _inline_suites import SUITES
from _inline_summary import (
    CLANG_DRIVER,
    OUR_DRIVER,
    OZ,
    POLICY,
    THRESHOLDS,
    Measured,
    choose_threshold,
    not_smallest,
    summarize,
)
from _inline_tests import Compilers, Sources, Tested, TestRun
from _inline_time import measure, medians
from _inline_variants import PLAIN, Variant
from _inline_verdict import draw, judge, remarks, table, unjudged
from _make import OUT
from _native import CompileError, compile_model

from compiler_bridge._compile_worker import WorkerError
from compiler_bridge._workers import cores
from compiler_bridge.commands._shared import interrupted_by_sigterm
from compiler_bridge.corpus import Corpus, CorpusError, Module
from compiler_bridge.inlining._corpus import SearchError
from compiler_bridge.inlining._evaluate import CompileFailed, Evaluator

FOLDER = OUT / "inline"
FETCHED = OUT / "inline-validation"
LEAST = 250  # modules that the result is to rest upon
SHIPPED = "native:InlineOz"  # which is in the plugin
PATIENCE = 3600.0  # seconds that no build and no suite takes


class Bench:
    """Measures packages part by part, each unless an earlier run has."""

    def __init__(self, given: argparse.Namespace, corpus: Corpus, clock: Clock) -> None:
        self.given, self.corpus, self.clock = given, corpus, clock
        self.runner = runner_string(given.policy)
        self.kept = Kept(FOLDER)
        self.missing: dict[str, str] = {}
        self.compilers = compiler_digests()
        self.compilers["policy"] = policy_digest(self.runner)
        self.modules = {name: self._modules_of(name) for name in given.packages}
        self.content = {name: modules_digest(each) for name, each in self.modules.items()}

    def _modules_of(self, name: str) -> list[Module]:
        modules = [each for each in self.corpus if package(each) == name]
        modules.sort(key=lambda module: module.name)
        if not modules:
            sys.exit(f"{self.corpus.directory}: has no modules of {name}")
        if any(each.command[:1] != ("-cc1",) for each in modules):
            sys.exit(f"{self.corpus.directory}: {name} has commands that are not those of cc1")
        if wrong := [each.name for each in modules if each.level != "-Oz"]:
            sys.exit(f"{self.corpus.directory}: {wrong[0]} is not compiled at -Oz")
        return spread(modules, self.given.modules or len(modules))

    def run(self) -> list[Measured]:
        measured = [Measured(name, len(each)) for name, each in self.modules.items()]
        with Evaluator(PLUGIN, self.given.jobs) as evaluator:
            measures = Measures(evaluator, self.given.jobs)
            for each in measured:
                self.sizes(each, measures)
                self.clock.done(f"{each.package}: plain clang, thresholds, policy")
            for each in measured:
                self.search(each, measures)
                self.clock.done(f"{each.package}: searched")
        parts: list[tuple[str, Callable[[Measured], None]]] = [
            ("compiled with budgets", self.budgets),
            ("timed", self.seconds),
        ]
        if not self.given.no_tests:
            parts.append(("tested", self.tests))
        for what, part in parts:
            for each in measured:
                try:
                    part(each)
                    self.clock.done(f"{each.package}: {what}")
                except (RunError, subprocess.TimeoutExpired) as why:
                    self.missing[f"{each.package}, {what}"] = str(why)
        return measured

    def _get(self, part: str, name: str, on: Sequence[str], make: Callable[[], Any]) -> Any:
        """A part of a package, which depends on the modules, on these compilers, and clang."""
        compilers = {each: self.compilers[each] for each in ("clang", *on)}
        return self.kept.get(
            make, part=part, package=name, modules=self.content[name], compilers=compilers
        )

    def sizes(self, of: Measured, measures: Measures) -> None:
        modules = self.modules[of.package]
        part = f"plain {THRESHOLDS}"
        of.sizes |= self._get(part, of.package, (), lambda: measures.plain(modules))
        of.sizes |= self._get(
            "policy",
            of.package,
            ("plugin", "policy"),
            lambda: measures.policy(modules, self.runner, of.sizes[OZ]),
        )

    def search(self, of: Measured, measures: Measures) -> None:
        names = [module.name for module in self.modules[of.package]]
        given = folder_digest(Path(self.given.search)) if self.given.search else ""
        version = f"{search_digest()} {given}"
        depends_on = (version, self.compilers["clang"], self.content[of.package])
        own = FOLDER / "search" / f"{of.package}-{digest(*map(str.encode, depends_on))[:12]}"
        folder = Path(self.given.search) if self.given.search else own
        of.sizes |= self._get(
            f"search {version}",
            of.package,
            (),
            lambda: measures.search(self.corpus, names, folder),
        )

    def budgets(self, of: Measured) -> None:
        found = self._get(
            "budgets",
            of.package,
            ("plugin", "policy", "cbridge_clang"),
            lambda: by_budgets(self.modules[of.package], self.runner),
        )
        # Figures of a cbridge-clang that compiles but once would say nothing of budgets.
        plain, policy = (of.sizes[way] for way in (OZ, POLICY))
        smaller = [i for i, size in enumerate(policy) if size[1] < plain[i][1]]
        if smaller and set(smaller) <= set(not_smallest(of.sizes | found)):
            raise RunError("no module is as small as by the policy: cbridge-clang did not ask it")
        of.sizes |= found

    def seconds(self, of: Measured) -> None:
        repetitions = self.given.repetitions
        of.seconds = self._get(
            f"{repetitions} times, drivers too",
            of.package,
            ("plugin", "policy", "cbridge_clang"),
            lambda: self._seconds(self.modules[of.package], repetitions),
        )

    def _seconds(self, modules: list[Module], repetitions: int) -> dict[str, list[float]]:
        ours = Variant(OUR_DRIVER, POLICY, self.runner, plugin=None, driver=str(CBRIDGE_CLANG))
        variants = {
            OZ: PLAIN,
            POLICY: Variant(POLICY, POLICY, self.runner),
            CLANG_DRIVER: Variant(CLANG_DRIVER, plugin=None, driver=CLANG),
            OUR_DRIVER: ours,
        }
        scratch = FOLDER / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        try:
            taken = measure([*variants.values()], modules, repetitions, scratch, self.clock)
        finally:
            shutil.rmtree(scratch)
        return {way: medians(taken[each.name], "cpu_s").tolist() for way, each in variants.items()}

    def tests(self, of: Measured) -> None:
        suite = SUITES[of.package]
        found = self._get(
            f"tests {suite.test} {suite.build}",
            of.package,
            ("plugin", "policy", "cbridge_clang"),
            lambda: asdict(self._tests(of.package)),
        )
        of.tests = Tested(**found)

    def _tests(self, name: str) -> Tested:
        folder = FOLDER / "tests"
        folder.mkdir(parents=True, exist_ok=True)
        run = TestRun(folder, Sources(folder / "sources"), self.given.jobs, PATIENCE)
        plain = Compilers("plain", CLANG, CLANG.replace("clang", "clang++"))
        # Without --policy, what cbridge-clang does of its own.
        variables = environment(self.runner if self.given.policy else None)
        ours = {key: each for key, each in variables.items() if key.startswith("CBRIDGE_")}
        policy = Compilers("policy", str(CBRIDGE_CLANG), f"{CBRIDGE_CLANG}++", ours)
        return run.run(name, SUITES[name], plain, policy)


def runner_string(given: str | None) -> str:
    """Of the policy; a model that is no runner string is compiled."""
    if given is None:
        return SHIPPED
    if not given.endswith(".onnx") or not Path(given).is_file():
        return given
    return f"native:{compile_model(Path(given).resolve(), 'InlinePolicy')}"


def policy_digest(runner: str) -> str:
    """Of the string, and of the file that it names."""
    file = Path(runner.partition(":")[2].partition("?")[0])
    return digest(runner.encode(), file.read_bytes() if file.is_file() else b"")


def names_of_packages(text: str) -> list[str]:
    """In the order of SUITES, each once."""
    names = text.split(",")
    if unknown := [name for name in names if name not in SUITES]:
        raise argparse.ArgumentTypeError(f"there is no {unknown[0]!r}, but {', '.join(SUITES)}")
    return [name for name in SUITES if name in names]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--corpus", metavar="DIR", help="of `cbridge corpus` (default: fetched, and kept)"
    )
    parser.add_argument(
        "--packages",
        type=names_of_packages,
        default=list(SUITES),
        metavar="A,B",
        help=f"only these of {', '.join(SUITES)}",
    )
    parser.add_argument(
        "--modules", type=int, metavar="N", help="at most per package, for a first look"
    )
    parser.add_argument(
        "--policy",
        metavar="RUNNER|FILE.onnx",
        help=f"another one than {SHIPPED}; paths of runner strings must be whole ones",
    )
    parser.add_argument(
        "--search", metavar="DIR", help="what `cbridge search inline -o DIR` has found there"
    )
    parser.add_argument("--no-tests", action="store_true", help="do not run the packages' tests")
    parser.add_argument(
        "--repetitions",
        type=int,
        default=3,
        metavar="N",
        help="timed compiles of each module (default: %(default)s)",
    )
    parser.add_argument(
        "-j", "--jobs", type=int, default=cores(), metavar="N", help="at a time (%(default)s)"
    )
    given = parser.parse_args()
    if min(given.jobs, given.repetitions, given.modules or 1) < 1:
        parser.error("there is nothing to measure")
    return given


def is_partial(given: argparse.Namespace) -> bool:
    return given.modules is not None or given.packages != list(SUITES)


def main() -> None:
    given = parse()
    need_build(CBRIDGE_CLANG)
    clock = Clock()
    corpus = Corpus.open(given.corpus or fetch_some(given.packages, list(SUITES), FETCHED, LEAST))
    bench = Bench(given, corpus, clock)
    clock.done(f"{sum(map(len, bench.modules.values()))} modules of {corpus.directory}")
    measured = bench.run()
    summary = summarize(measured, choose_threshold(measured))
    goals, name = judge(summary), "inline"
    if is_partial(given):
        # Beside the figures of all, which took an hour.
        goals, name = unjudged(goals), "inline-part"
    for ending, content in (
        (".json", [each.row() for each in measured]),
        ("-summary.json", {"summary": summary, "goals": goals}),
    ):
        (OUT / f"{name}{ending}").write_text(json.dumps(content, indent=1) + "\n")
    draw(measured, summary, OUT / f"{name}.png")
    print(f"\n{table(measured, summary)}\n{remarks(measured, summary)}")
    print_goals(goals)
    if is_partial(given):
        print("goals are those of all modules of all packages: no verdict on a part of them")
    if (load := os.getloadavg()[0]) > cores() + 1:
        print(f"\nthe machine is busy (load {load:.1f}): the ratio of times may be doubtful")
    for what, reason in bench.missing.items():
        print(f"inline: not measured: {what}: {reason}", file=sys.stderr)
    print(f"\nwritten: {OUT / name}.json, {name}-summary.json, .png")


if __name__ == "__main__":
    try:
        with interrupted_by_sigterm():
            main()
    except (CompileError, CompileFailed, CorpusError, RunError, SearchError, WorkerError) as why:
        sys.exit(f"inline: {why}")
    except KeyboardInterrupt:
        sys.exit("inline: interrupted; the same command goes on from there")
