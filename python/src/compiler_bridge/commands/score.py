"""`cbridge score`: what a policy makes of a corpus, against a baseline."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .. import scoring
from .._progress import Progress
from .._workers import cores
from ..corpus import Corpus, CorpusError
from ..scoring import (
    METRICS,
    Cache,
    Children,
    Compiler,
    Policy,
    Score,
    ScoreError,
    Settings,
    _export,
    _html,
    _table,
)
from . import _files
from ._shared import INTERRUPTED, TROUBLE, Parser, interrupted_by_sigterm, positive, run

_DESCRIPTION = """\
Compiles every module of a corpus by a policy and by a baseline, and compares: code size (text),
all loaded bytes, IR instructions after optimization, compile time, and, for programs that the
corpus tells how to link and run, executed instructions. Prints a table and a verdict: better,
worse, or no difference that can be told, with 95 % intervals (bootstrap over modules).

POLICY and the baseline are
  heuristic:            plain clang
  flags:ARGUMENTS       clang with further arguments (those of clang -cc1)
  any runner string     a model that inlines, asked by the pass plugin: native:FILE.so, ...

Exit status 0 if the policy was scored, 1 if it makes programs do something else or did not decide,
2 if it could not be scored or a file not be written, 130 if it was interrupted."""

_EPILOG = """\
examples:
  cbridge score --corpus validation --policy native:./policy.so --html report.html
  cbridge score --corpus validation --policy 'flags:-mllvm -inline-threshold=0'
  cbridge score --corpus C --policy onnx:new.onnx --baseline onnx:old.onnx --csv modules.csv"""


def main(words: list[str]) -> int:
    parser = Parser("score", _DESCRIPTION, epilog=_EPILOG)
    parser.add_argument(
        "--corpus",
        required=True,
        metavar="DIR",
        help="modules in MLGO's layout, as `cbridge corpus` writes them",
    )
    parser.add_argument("--policy", required=True, help="what is scored")
    parser.add_argument(
        "--baseline", default="heuristic:", help="what it is compared with (default: %(default)s)"
    )
    parser.add_argument(
        "--metric",
        choices=[metric.key for metric in METRICS],
        default="text",
        help="what the verdict is about: %(choices)s (default: %(default)s)",
        metavar="METRIC",
    )
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON")
    parser.add_argument("--csv", metavar="FILE", help="write a line per module and program")
    parser.add_argument("--html", metavar="FILE", help="write a report to look at, in one file")
    parser.add_argument(
        "-j",
        "--jobs",
        type=positive,
        default=cores(),
        metavar="N",
        help="compiles at a time (default: all %(default)s cores)",
    )
    parser.add_argument("--clang", default="clang-19", help="the compiler (default: %(default)s)")
    parser.add_argument(
        "--plugin",
        metavar="FILE.so",
        help="the pass plugin that asks models (default: what `cbridge plugin-path llvm` tells)",
    )
    parser.add_argument(
        "--cache",
        metavar="DIR",
        help="where measured baselines are kept (default: $CBRIDGE_CACHE, else cbridge in "
        "$XDG_CACHE_HOME or ~/.cache)",
    )
    parser.add_argument(
        "--no-cache", action="store_true", help="measure the baseline again, keep nothing"
    )
    parser.add_argument(
        "--no-decisions",
        action="store_true",
        help="do not record which decisions differ, which takes a second compile of each module",
    )
    parser.add_argument("--no-programs", action="store_true", help="link and run no programs")
    parser.add_argument(
        "--timeout",
        type=positive,
        default=300,
        metavar="SECONDS",
        help="what takes longer is broken: a compile, a run of a program (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="of the bootstrap (default: %(default)s)"
    )
    return run(parser, words, _score)


def _score(arguments: argparse.Namespace) -> int:
    try:
        with interrupted_by_sigterm():
            result = _measure(arguments)
    except (ScoreError, CorpusError) as error:
        print(f"cbridge: {error}", file=sys.stderr)
        return TROUBLE
    except KeyboardInterrupt:
        print("cbridge: interrupted; what was measured of the baseline is kept", file=sys.stderr)
        return INTERRUPTED
    try:
        _files.show(_table.summary(result, sys.stdout.isatty() and "NO_COLOR" not in os.environ))
    finally:
        written = _write(arguments, result)
    if not written:
        return TROUBLE
    return 1 if result.wrong_programs or result.did_not_decide else 0


def _measure(arguments: argparse.Namespace) -> Score:
    if arguments.seed < 0:
        raise ScoreError(f"--seed: {arguments.seed} is below 0")
    for file in (arguments.json, arguments.csv, arguments.html):
        if file:
            _files.check(Path(file))
    folder = Path(arguments.cache) if arguments.cache else scoring.default_folder()
    return scoring.score(
        Corpus.open(arguments.corpus),
        Policy.parse(arguments.policy, arguments.plugin),
        Policy.parse(arguments.baseline, arguments.plugin),
        Compiler.find(arguments.clang, Children(), arguments.timeout),
        Settings(
            jobs=arguments.jobs,
            cache=Cache(None if arguments.no_cache else folder),
            seed=arguments.seed,
            metric=arguments.metric,
            programs=not arguments.no_programs,
            decisions=not arguments.no_decisions,
            progress=Progress,
        ),
    )


def _write(arguments: argparse.Namespace, result: Score) -> bool:
    """Whether all could be written."""
    makers = (
        (arguments.json, _export.to_json),
        (arguments.csv, _export.to_csv),
        (arguments.html, _html.report),
    )
    written = [_files.write(Path(file), make(result)) for file, make in makers if file]
    return all(written)
