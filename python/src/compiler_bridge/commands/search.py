"""`cbridge search`: how much better decisions could be than the compiler's own."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .._alone import alone
from .._compile_worker import WorkerError
from .._plugin import PluginMissing, find_plugin
from .._progress import Progress
from .._words import plural
from .._workers import cores
from ..corpus import Corpus, CorpusError
from ..errors import BridgeError
from ..inlining._corpus import METRICS, CorpusResult, CorpusSearch, SearchError
from ..inlining._evaluate import Evaluator
from ..inlining._search import HillClimbing, RandomFlips
from ..scoring import Children, Compiler, ScoreError, _table, _words
from ..scoring._result import METRIC
from . import _files
from ._shared import INTERRUPTED, TROUBLE, Parser, interrupted_by_sigterm, path, positive, run

# In the folder of logs: how they were searched for.
_SIGNED = "search.json"
_OPTIONS = ("method", "budget", "metric", "seed", "features")

_HELP = """\
usage: cbridge search PROBLEM

Looks for the best decisions of each module of a corpus, by compiling it again and again: how much a
policy could gain at most, and examples to learn from.

  inline      which calls are inlined

Each has --help.
"""

_DESCRIPTION = """\
Compiles each module of a corpus again and again, with other decisions on inlining, and keeps those
that make it smallest. Prints the headroom: how much smaller the best that was found is than what
LLVM's heuristic makes, with 95 % intervals (bootstrap over modules), by package, and for which
modules most.

With -o the best decisions are written as training logs, a file per module, with what they save as
their reward. Modules whose log is there are measured, and not searched again. To compile by one:

  CBRIDGE_INLINE_FEATURES=caller_name,callee_name \\
  CBRIDGE_INLINE_MODEL='replay:DIR/x.log?key=caller_name,callee_name' clang-19 -Oz ...

Exit status 0 if there is a result, 2 if not or if a file cannot be written, 130 if it was
interrupted; what is in DIR then stays, and the same command goes on from there."""

_EPILOG = """\
examples:
  cbridge search inline --corpus training -o best
  cbridge search inline --corpus validation --budget 200 --metric total --json headroom.json"""

_METHODS: dict[str, type[HillClimbing] | type[RandomFlips]] = {
    "climb": HillClimbing,
    "random": RandomFlips,
}
_SHOWN = 10
_SIDES = ("baseline", "best")
_HEAD = ("", "heuristic", "best", "total", "95 % interval", "mean", "95 % interval", "less/=/more")


def main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_HELP, end="")
        return 0 if words else TROUBLE
    if words[0] != "inline":
        print(f"cbridge: search knows no problem {words[0]!r}; see --help", file=sys.stderr)
        return TROUBLE
    return _inline(words[1:])


def _inline(words: list[str]) -> int:
    parser = Parser("search inline", _DESCRIPTION, epilog=_EPILOG)
    parser.add_argument(
        "--corpus",
        required=True,
        metavar="DIR",
        help="modules in MLGO's layout, as `cbridge corpus` writes them",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=path,
        metavar="DIR",
        help="write the best decisions, a log per module",
    )
    parser.add_argument(
        "--budget",
        type=positive,
        default=45,
        metavar="N",
        help="compiles per module at most (default: %(default)s)",
    )
    parser.add_argument(
        "--method",
        choices=sorted(_METHODS),
        default="climb",
        help="climb: step by step from LLVM's decisions; random: at random around them "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--metric",
        choices=METRICS,
        default="text",
        help="what is to be small: bytes of code, or all loaded bytes (default: %(default)s)",
    )
    parser.add_argument(
        "--features",
        default="all",
        metavar="NAMES",
        help="the extra features that are recorded beside LLVM's, separated by commas (default: "
        "%(default)s numbers)",
    )
    parser.add_argument("--json", type=path, metavar="FILE", help="write everything as JSON")
    parser.add_argument("--csv", type=path, metavar="FILE", help="write a line per module")
    parser.add_argument(
        "-j",
        "--jobs",
        type=positive,
        default=cores(),
        metavar="N",
        help="modules at a time (default: as many as cores, %(default)s)",
    )
    parser.add_argument(
        "--clang",
        default="clang-19",
        help="who knows what a module's arguments mean, if they are not those of clang -cc1 "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--plugin",
        metavar="FILE.so",
        help="the pass plugin that asks models (default: what `cbridge plugin-path llvm` tells)",
    )
    parser.add_argument(
        "--timeout",
        type=positive,
        default=300,
        metavar="SECONDS",
        help="a compile that takes longer has failed (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="S",
        help="of the search and the bootstrap (default: %(default)s)",
    )
    return run(parser, words, _search)


@dataclass(frozen=True)
class _Report:
    arguments: argparse.Namespace
    clang: str
    result: CorpusResult
    modules: int
    """Of the corpus."""


class _Headroom(Progress):
    """Tells how much has been found, too."""

    def __init__(self, total: int, note: Callable[[], str]) -> None:
        self._note = note
        super().__init__("searching", total)

    def advance(self, note: str = "") -> None:
        super().advance(note or self._note())


def _search(arguments: argparse.Namespace) -> int:
    try:
        with interrupted_by_sigterm():
            return _searched(arguments)
    except (
        BridgeError,
        CorpusError,
        PluginMissing,
        ScoreError,
        SearchError,
        WorkerError,
    ) as error:
        print(f"cbridge: {error}", file=sys.stderr)
        return TROUBLE
    except KeyboardInterrupt:
        there = f"; the same command goes on from {arguments.output}" if arguments.output else ""
        print(f"cbridge: interrupted{there}", file=sys.stderr)
        return INTERRUPTED


def _searched(arguments: argparse.Namespace) -> int:
    if arguments.seed < 0:
        raise SearchError(f"--seed: {arguments.seed} is below 0")
    features = [name for name in arguments.features.split(",") if name]
    if not features:
        raise SearchError("--features: expected names of features, or all")
    for file in (arguments.json, arguments.csv):
        if file:
            _files.check(Path(file))
    corpus = Corpus.open(arguments.corpus)
    clang = Compiler.find(arguments.clang, Children(), arguments.timeout)
    plugin = find_plugin(arguments.plugin)
    folder = Path(arguments.output) if arguments.output else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    with (
        alone(folder, SearchError),
        Evaluator(plugin, arguments.jobs, clang.clang, arguments.timeout) as evaluator,
    ):
        if folder:
            _sign(folder, arguments)
        method = _METHODS[arguments.method](
            evaluator, features, arguments.budget, arguments.seed, arguments.metric
        )
        search = CorpusSearch(corpus, evaluator, method, folder, arguments.seed)
        progress = _Headroom(len(corpus), lambda: _so_far(search.result, arguments.metric))
        report = _Report(arguments, clang.version, search.result, len(corpus))
        try:
            search.run(arguments.jobs, progress)
        except KeyboardInterrupt:
            if search.result.modules:
                _files.show(_summary(report))
            raise
    if not search.result.modules:
        _files.show("\n".join(_left_out(search.result)))
        raise SearchError("no module could be compiled")
    _files.show(_summary(report))
    written = [
        _files.write(Path(file), make(report))
        for file, make in ((arguments.json, _to_json), (arguments.csv, _to_csv))
        if file
    ]
    return 0 if all(written) else TROUBLE


def _sign(folder: Path, arguments: argparse.Namespace) -> None:
    """What is found there goes on from what is there, and so must be looked for in the same way."""
    file = folder / _SIGNED
    now = {key: getattr(arguments, key) for key in _OPTIONS}
    try:
        then = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        file.write_text(json.dumps(now) + "\n", encoding="utf-8")
        return
    except ValueError:
        then = None
    if not isinstance(then, dict):
        raise SearchError(f"{file}: is damaged; name another folder")
    for key in _OPTIONS:
        if then.get(key) != now[key]:
            raise SearchError(
                f"{folder}: was made with --{key} {then.get(key)}, now it is {now[key]}; go on as "
                "it began, or name another folder"
            )


def _so_far(result: CorpusResult, metric: str) -> str:
    sizes = [module.sizes(metric) for module in list(result.modules)]
    baseline, best = (sum(each) for each in zip(*sizes, strict=True)) if sizes else (0, 0)
    return f"{metric} {_words.percent(best / baseline - 1)}" if baseline else ""


def _summary(report: _Report) -> str:
    arguments, result = report.arguments, report.result
    metric = arguments.metric
    lines = [
        f"inlining, {arguments.method} with {arguments.budget} evaluations per module, "
        f"{arguments.corpus}, {report.clang}",
        "",
        _table.comparisons(result.comparisons, _HEAD),
        "",
    ]
    packages = result.by_package(metric)
    if len(packages) > 1:
        rows = [("package", "modules", "heuristic", "best", "total", "mean")]
        for name, found in packages.items():
            rows.append(
                (
                    name,
                    f"{found.pairs:,}",
                    _words.number(found.baseline, metric),
                    _words.number(found.policy, metric),
                    _words.percent(found.total.value),
                    _words.percent(found.mean.value),
                )
            )
        lines += [_table.aligned(rows), ""]
    if modules := result.best_modules(metric, _SHOWN):
        rows = [("best modules", "heuristic", "best", "", "", "changed")]
        for module in modules:
            before, after = module.sizes(metric)
            rows.append(
                (
                    module.module,
                    f"{before:,}",
                    f"{after:,}",
                    f"{after - before:,}".replace("-", _words.MINUS),
                    _words.percent(after / before - 1),
                    f"{module.changed:,}",
                )
            )
        lines += [_table.aligned(rows), ""]
    lines += _left_out(result)
    lines.append(_headroom(result, metric, report.modules))
    return "\n".join(lines)


def _left_out(result: CorpusResult) -> list[str]:
    broken = sorted(result.broken.items())
    lines = [f"left out: module {name}: {why}" for name, why in broken[:_SHOWN]]
    if len(broken) > _SHOWN:
        lines.append(f"left out: and {len(broken) - _SHOWN:,} more modules")
    return lines


def _headroom(result: CorpusResult, metric: str, modules: int) -> str:
    title = METRIC[metric].title
    counted = _words.of(metric, len(result.modules))
    if left := modules - len(result.modules) - len(result.broken):
        counted = f"{counted}, of {modules:,}: {left:,} are still to be searched"
    counted += f", {plural(result.evaluations, 'evaluation')}"
    if known := sum(not module.evaluations for module in result.modules):
        counted += f"; {plural(known, 'module')} by an earlier run"
    found = result.comparisons.get(metric)
    if found is None:
        return f"There is nothing to compare: no {title}, in {counted}."
    sure = f" (95 % interval {_words.interval(found.total, found)})" if found.has_interval else ""
    return f"Headroom: {title} {_words.percent(found.total.value)}{sure}, over {counted}."


def _to_json(report: _Report) -> str:
    arguments, result = report.arguments, report.result

    def written(found: Any) -> dict[str, Any]:
        return {**asdict(found), "verdict": found.verdict.value}

    content = {
        "format": 1,
        "problem": "inline",
        "corpus": arguments.corpus,
        "clang": report.clang,
        "method": arguments.method,
        "metric": arguments.metric,
        "budget": arguments.budget,
        "seed": arguments.seed,
        "evaluations": result.evaluations,
        "metrics": {key: written(found) for key, found in result.comparisons.items()},
        "packages": {
            name: written(found) for name, found in result.by_package(arguments.metric).items()
        },
        "modules": [asdict(module) for module in result.modules],
        "broken": dict(sorted(result.broken.items())),
    }
    return json.dumps(content, indent=1) + "\n"


def _to_csv(report: _Report) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = ["module", *(f"{metric}_{side}" for metric in METRICS for side in _SIDES)]
    columns += ["decisions", "changed", "evaluations"]
    writer.writerow([*columns, "remark"])
    for module in report.result.modules:
        cells = asdict(module)
        writer.writerow([*(cells[column] for column in columns), ""])
    for name, why in sorted(report.result.broken.items()):
        writer.writerow([name, *("" for _ in columns[1:]), f"broken: {why}"])
    return text.getvalue()
