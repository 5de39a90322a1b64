"""Searches all modules of a corpus, and keeps what is found."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from .. import log
from .._progress import Progress
from .._workers import for_each
from ..corpus import Corpus, Module
from ..errors import BridgeError
from ..scoring._statistics import Comparison, compare
from ._evaluate import CompileFailed, DidNotDecide, Evaluation, Evaluator
from ._search import Found, majority, unanimous, write_log

METRICS = ("text", "total")
# The most that a module's name has of that of its log, which file systems limit.
_LONGEST = 200


class SearchError(Exception):
    """A search that cannot be run; the message says why."""


class Method(Protocol):
    def search(self, module: Module) -> Found: ...


@dataclass(frozen=True)
class ModuleResult:
    """What was found for a module: its sizes by LLVM's heuristic and by the best decisions, how
    many decisions those are, and of how many pairs they are not the heuristic's."""

    module: str
    text_baseline: int
    text_best: int
    total_baseline: int
    total_best: int
    decisions: int
    changed: int
    evaluations: int

    def sizes(self, metric: str) -> tuple[int, int]:
        if metric == "text":
            return self.text_baseline, self.text_best
        return self.total_baseline, self.total_best

    @property
    def package(self) -> str:
        return self.module.partition("/")[0]


@dataclass
class CorpusResult:
    """What was found for all modules; `broken` names those that cannot be compiled, and why."""

    modules: list[ModuleResult] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    seed: int = 0

    @property
    def evaluations(self) -> int:
        return sum(module.evaluations for module in self.modules)

    @cached_property
    def comparisons(self) -> dict[str, Comparison]:
        """By metric; without those of which there is nothing to compare."""
        found = {metric: _compare(self.modules, metric, self.seed) for metric in METRICS}
        return {metric: each for metric, each in found.items() if each}

    def by_package(self, metric: str) -> dict[str, Comparison]:
        """By the first part of modules' names."""
        packages = defaultdict(list)
        for module in self.modules:
            packages[module.package].append(module)
        found = {name: _compare(packages[name], metric, self.seed) for name in sorted(packages)}
        return {name: each for name, each in found.items() if each}

    def best_modules(self, metric: str, count: int) -> list[ModuleResult]:
        """Those that become smaller by the most bytes."""

        def saved(module: ModuleResult) -> int:
            baseline, best = module.sizes(metric)
            return baseline - best

        better = [module for module in self.modules if saved(module) > 0]
        return sorted(better, key=lambda module: (-saved(module), module.module))[:count]


def _compare(modules: Sequence[ModuleResult], metric: str, seed: int) -> Comparison | None:
    sizes = [module.sizes(metric) for module in modules]
    return compare([a for a, _ in sizes], [b for _, b in sizes], seed) if sizes else None


def log_name(module: str) -> str:
    """The file in which a module's decisions are: logs lie side by side, where `replay:` looks."""
    flat = module.replace("/", "__")
    if "__" in module.replace("/", "_") or len(os.fsencode(flat)) > _LONGEST:
        digest = hashlib.sha256(os.fsencode(module)).hexdigest()[:12]
        flat = f"{os.fsdecode(os.fsencode(flat)[:_LONGEST])}-{digest}"
    return f"{flat}.log"


class CorpusSearch:
    """Searches module after module. What is done is in `result`, also if it ends early."""

    def __init__(
        self,
        corpus: Corpus,
        evaluator: Evaluator,
        method: Method,
        folder: Path | None = None,
        seed: int = 0,
    ) -> None:
        if corpus.has_thinlto:
            raise SearchError(
                f"{corpus.directory}: modules of ThinLTO cannot be searched, since clang loads no "
                "pass plugins for them"
            )
        if not len(corpus):
            raise SearchError(f"{corpus.directory}: the corpus has no modules")
        self._corpus, self._evaluator, self._method = corpus, evaluator, method
        self._folder = folder
        self.result = CorpusResult(seed=seed)

    def run(self, jobs: int, progress: Progress | None = None) -> CorpusResult:
        places = {name: place for place, name in enumerate(self._corpus.names)}
        try:
            for _ in for_each(
                self._corpus.modules, self._search, jobs, self._evaluator.workers, progress
            ):
                pass
        finally:
            self.result.modules.sort(key=lambda module: places[module.module])
        return self.result

    def _search(self, module: Module) -> None:
        """On any thread."""
        try:
            self.result.modules.append(self._known(module) or self._found(module))
        except DidNotDecide as why:
            raise SearchError(str(why)) from None
        except CompileFailed as why:
            self.result.broken[module.name] = str(why).removeprefix(f"{module.name}: ")

    def _found(self, module: Module) -> ModuleResult:
        found = self._method.search(module)
        if self._folder and unanimous(found.best):  # others have nothing to replay
            target = self._folder / log_name(module.name)
            temporary = target.with_name(f"{target.name}.tmp")
            try:
                write_log(found, temporary)
                os.replace(temporary, target)
            finally:
                temporary.unlink(missing_ok=True)
        return _result(module, found.baseline, found.best, found.evaluations)

    def _known(self, module: Module) -> ModuleResult | None:
        """What an earlier run has found, measured again."""
        file = self._folder / log_name(module.name) if self._folder else None
        if file is None or not file.exists():
            return None
        baseline = self._evaluator.heuristic(module, ["inlining_default"])
        try:
            written = log.read(file)
            decided = unanimous(Evaluation(baseline.compiled, written))
        except (BridgeError, KeyError, ValueError):
            return None  # it is searched again
        if not written.complete:
            return None
        best = self._evaluator.decided(module, decided, ["inlining_default"])
        return _result(module, baseline, best, 0)


def _result(
    module: Module, baseline: Evaluation, best: Evaluation, evaluations: int
) -> ModuleResult:
    before = majority(baseline)
    return ModuleResult(
        module.name,
        baseline.text,
        best.text,
        baseline.total,
        best.total,
        len(best.decisions),
        sum(before.get(pair, value) != value for pair, value in majority(best).items()),
        evaluations,
    )
