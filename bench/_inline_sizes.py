"""What plain clang, thresholds, the policy, a search, and cbridge-clang make of modules."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from _clang import BUILD, CLANG, LIMIT, PLUGIN, RunError, environment
from _inline_summary import OZ, POLICY, SEARCH, THRESHOLDS, Size, Sizes, budget_name, threshold_name

from compiler_bridge._children import Children
from compiler_bridge._progress import Progress
from compiler_bridge._workers import for_each
from compiler_bridge.corpus import Corpus, Module
from compiler_bridge.inlining import _search
from compiler_bridge.inlining._corpus import CorpusSearch
from compiler_bridge.inlining._evaluate import CompileFailed, DidNotDecide, Evaluation, Evaluator
from compiler_bridge.scoring import _elf
from compiler_bridge.scoring._cache import Cache, key

CBRIDGE_CLANG = BUILD / "tools/cbridge-clang/cbridge-clang"
BUDGETS = (2, 8)
EVALUATIONS = 45  # per module, of the search
SEED = 0
FEATURES = ("all",)


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def modules_digest(modules: Sequence[Module]) -> str:
    words = [(m.name.encode(), m.bitcode.read_bytes(), "\0".join(m.command)) for m in modules]
    return digest(*(part for a, b, c in words for part in (a, b, os.fsencode(c))))


def folder_digest(folder: Path) -> str:
    """Of the logs of a search."""
    files = sorted(folder.rglob("*.log"))
    return digest(*(part for f in files for part in (os.fsencode(f.name), f.read_bytes())))


class Kept:
    """What earlier runs have measured, by package, as long as all that it depends on is the
    same."""

    def __init__(self, folder: Path) -> None:
        self._cache = Cache(folder)

    def get(self, make: Callable[[], Any], **depends_on: Any) -> Any:
        name = key(**depends_on)
        if (found := self._cache.get(name)) is None:
            found = make()
            self._cache.put(name, found)
        return found


@dataclass(frozen=True)
class Measures:
    """Measures sizes, on so many cores. Sizes are in the order of the modules."""

    evaluator: Evaluator
    jobs: int

    def plain(self, modules: Sequence[Module]) -> Sizes:
        """By plain clang, and with thresholds. A threshold by which a module does not compile
        counts as plain clang does."""

        def by_threshold(module: Module, threshold: int) -> Evaluation:
            option = ("-mllvm", f"-inline-threshold={threshold}")
            return self.evaluator.heuristic(replace(module, override=(*module.command, *option)))

        def work(module: Module) -> dict[str, Size]:
            plain = _size(self.evaluator.heuristic(module))
            return {OZ: plain} | {
                threshold_name(each): _size_or(plain, partial(by_threshold, module, each))
                for each in THRESHOLDS
            }

        return self._all("plain clang and thresholds", modules, work)

    def policy(self, modules: Sequence[Module], runner: str, plain: Sequence[Size]) -> Sizes:
        """A module that does not compile so counts as plain clang's, which cbridge-clang falls
        back to."""
        known = {module.name: size for module, size in zip(modules, plain, strict=True)}

        def work(module: Module) -> dict[str, Size]:
            evaluated = _size_or(known[module.name], partial(self.evaluator.runner, module, runner))
            return {POLICY: evaluated}

        return self._all("the policy", modules, work)

    def search(self, corpus: Corpus, names: Sequence[str], folder: Path) -> Sizes:
        """As `cbridge search inline -o FOLDER`; goes on from what is there."""
        folder.mkdir(parents=True, exist_ok=True)
        part = replace(corpus, names=tuple(names))
        method = _search.HillClimbing(self.evaluator, FEATURES, EVALUATIONS, SEED)
        search = CorpusSearch(part, self.evaluator, method, folder, SEED)
        found = search.run(self.jobs, Progress("searching", len(part)))
        if found.broken:
            raise RunError(f"modules that cannot be searched: {found.broken}")
        return {SEARCH: [[each.text_best, each.total_best] for each in found.modules]}

    def _all(
        self, title: str, modules: Sequence[Module], work: Callable[[Module], dict[str, Size]]
    ) -> Sizes:
        progress = Progress(title, len(modules))
        found = list(for_each(modules, work, self.jobs, self.evaluator.workers, progress))
        return {way: [each[way] for each in found] for way in found[0]}


def search_digest() -> str:
    """Of what decides what a search finds, besides clang and the modules."""
    code = Path(_search.__file__).read_bytes()
    return digest(code, f"{EVALUATIONS} {SEED} {FEATURES}".encode())


def compiler_digests() -> dict[str, str]:
    """Of clang, which tells its version, and of what is ours."""
    children = Children()
    with tempfile.NamedTemporaryFile() as output:
        children.run([CLANG, "--version"], LIMIT, stdout=Path(output.name))
        version = Path(output.name).read_bytes()
    return {
        "clang": digest(version),
        "plugin": digest(PLUGIN.read_bytes()),
        "cbridge_clang": digest(CBRIDGE_CLANG.read_bytes()),
    }


def by_budgets(modules: Sequence[Module], runner: str) -> Sizes:
    """By cbridge-clang, which uses all cores for one module."""
    children = Children()
    found: Sizes = {}
    for budget in BUDGETS:

        def work(module: Module, budget: int = budget) -> Size:
            with tempfile.TemporaryDirectory(prefix="cbridge-bench-") as folder:
                return _by_budget(module, budget, runner, Path(folder) / "module.o", children)

        progress = Progress(f"a budget of {budget}", len(modules))
        found[budget_name(budget)] = list(for_each(modules, work, 1, children, progress))
    return found


def _by_budget(
    module: Module, budget: int, runner: str, output: Path, children: Children
) -> list[int]:
    program, *words = module.compile_command(str(CBRIDGE_CLANG), output)
    command = [program, f"--cbridge-budget={budget}", *words]
    done = children.run(command, LIMIT, environment=environment(runner))
    # Also one that only says that the model did not decide.
    if done.status != 0 or done.stderr:
        raise RunError(f"{module.name}, budget {budget}: {done.why}")
    sizes = _elf.sizes(output)
    return [sizes.text, sizes.total]


def _size(evaluated: Evaluation) -> Size:
    return [evaluated.text, evaluated.total]


def _size_or(otherwise: Size, evaluate: Callable[[], Evaluation]) -> Size:
    try:
        return _size(evaluate())
    except DidNotDecide as why:
        raise RunError(str(why)) from None
    except CompileFailed:
        return otherwise
