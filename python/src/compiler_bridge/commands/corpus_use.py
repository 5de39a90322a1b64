"""`cbridge corpus replay`, `list` and `info`, and what all of its commands share."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from .._words import plural
from .._workers import cores
from ..corpus import (
    BUILT,
    CLANG,
    DUPLICATE,
    SKIPPED,
    Corpus,
    CorpusError,
    Entry,
    Toolchain,
    levels,
)
from ..corpus import history as read_history
from ..corpus import replay as compile_again
from ._shared import INTERRUPTED, TROUBLE, Parser, interrupted_by_sigterm, positive, run

_SHOWN = 10


def complain(message: str) -> int:
    print(f"cbridge: {message}", file=sys.stderr)
    return TROUBLE


def run_corpus(
    parser: Parser, words: list[str], command: Callable[[argparse.Namespace], int]
) -> int:
    """As `run`, for commands that can be interrupted and run again."""

    def checked(arguments: argparse.Namespace) -> int:
        try:
            with interrupted_by_sigterm():
                return command(arguments)
        except CorpusError as error:
            return complain(str(error))
        except KeyboardInterrupt:
            complain("interrupted; the same command goes on from here")
            return INTERRUPTED

    return run(parser, words, checked)


def add_jobs(parser: Parser) -> None:
    parser.add_argument(
        "-j",
        "--jobs",
        type=positive,
        default=cores(),
        metavar="N",
        help="how many at once (default: as many as cores, %(default)s)",
    )


def add_clang(parser: Parser) -> None:
    parser.add_argument(
        "--clang",
        default=CLANG,
        metavar="PROGRAM",
        help="the compiler; LLVM's other programs are taken from beside it (default: %(default)s)",
    )


def add_extra(parser: Parser, text: str) -> None:
    parser.add_argument(
        "--clang-arg", action="append", default=[], dest="extra", metavar="ARG", help=text
    )


def size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}" if unit != "bytes" else f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def print_some(lines: Iterable[str], more: str) -> None:
    """The first few, on stderr, and where the others are."""
    every = list(lines)
    for line in every[:_SHOWN]:
        print(f"  {line}", file=sys.stderr)
    if len(every) > _SHOWN:
        print(f"  and {len(every) - _SHOWN} more{more}", file=sys.stderr)


_REPLAY = """\
Compiles every module of a corpus to an object, with the arguments it was compiled with, and says
which fail. Modules of ThinLTO are compiled with their index, as what has been imported already.
Exit status 0 if all compile, 1 if not."""


def replay(words: list[str]) -> int:
    parser = Parser("corpus replay", _REPLAY)
    parser.add_argument("corpus", metavar="DIR")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OBJECTS",
        help="keep the objects below it; a second run compiles what is missing (default: none are)",
    )
    add_extra(
        parser,
        "a further argument of clang -cc1, several times for several, such as --clang-arg=-mllvm "
        "--clang-arg=-inline-threshold=0",
    )
    add_clang(parser)
    add_jobs(parser)
    return run_corpus(parser, words, _replay)


def _replay(arguments: argparse.Namespace) -> int:
    corpus = Corpus.open(arguments.corpus)
    output = Path(arguments.output) if arguments.output else None
    tools = Toolchain.find(arguments.clang)
    outcomes = compile_again(corpus, tools, output, arguments.extra, arguments.jobs)
    failed = [outcome for outcome in outcomes if outcome.error]
    there = sum(1 for outcome in outcomes if not outcome.error and not outcome.seconds)
    compiled = len(outcomes) - len(failed) - there
    seconds = sum(outcome.seconds for outcome in outcomes)
    present = f", {there} were there" if there else ""
    total = size(sum(outcome.size for outcome in outcomes))
    print(f"{compiled} compiled in {seconds:.1f} s of clang{present}, objects of {total}")
    if failed:
        print(f"{plural(len(failed), 'module')} failed:", file=sys.stderr)
        print_some((f"{outcome.name}: {outcome.error}" for outcome in failed), "")
        return 1
    return 0


def show_list(words: list[str]) -> int:
    parser = Parser("corpus list", "Prints the names of a corpus's modules, a line each.")
    parser.add_argument("corpus", metavar="DIR")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--skipped", action="store_true", help="what was skipped, and why")
    which.add_argument(
        "--duplicates", action="store_true", help="what is there under another name, and which"
    )
    return run_corpus(parser, words, _list)


def _list(arguments: argparse.Namespace) -> int:
    corpus = Corpus.open(arguments.corpus)
    entries = read_history(corpus.directory)
    if arguments.skipped:
        lines = [f"{entry.name}: {entry.detail}" for entry in _with(SKIPPED, entries)]
    elif arguments.duplicates:
        lines = [f"{entry.detail}: is {entry.name}" for entry in _with(DUPLICATE, entries)]
    else:
        lines = list(corpus.names)
    for line in lines:
        print(line)
    return 0


def _with(result: str, entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.result == result]


def info(words: list[str]) -> int:
    parser = Parser("corpus info", "Prints how much a corpus has, and what was skipped.")
    parser.add_argument("corpus", metavar="DIR")
    parser.add_argument("--json", action="store_true", help="for programs")
    return run_corpus(parser, words, _info)


def _info(arguments: argparse.Namespace) -> int:
    corpus = Corpus.open(arguments.corpus)
    entries = read_history(corpus.directory)
    skipped = _with(SKIPPED, entries)
    compiled_at = dict(sorted(levels(corpus).items()))
    sizes = [module.bitcode.stat().st_size for module in corpus if module.bitcode.exists()]
    facts = {
        "modules": len(corpus),
        "bitcode_bytes": sum(sizes),
        "levels": compiled_at,
        "has_thinlto": corpus.has_thinlto,
        "missing": len(corpus) - len(sizes),
        "duplicates": len(_with(DUPLICATE, entries)),
        "packages": sorted(entry.name for entry in _with(BUILT, entries)),
        "incomplete": {entry.name: entry.detail for entry in _with(BUILT, entries) if entry.detail},
        "skipped": {entry.name: entry.detail for entry in skipped},
    }
    if arguments.json:
        print(json.dumps(facts, indent=2))
        return 0
    kind = " of ThinLTO" if corpus.has_thinlto else ""
    print(f"{plural(len(corpus), 'module')}{kind}, bitcode of {size(sum(sizes))}")
    if compiled_at:
        print(f"compiled at {', '.join(f'{level}: {n}' for level, n in compiled_at.items())}")
    if facts["missing"]:
        print(f"{facts['missing']} have no file")
    if facts["duplicates"]:
        print(f"{plural(len(_with(DUPLICATE, entries)), 'duplicate')} left out")
    for entry in _with(BUILT, entries):
        print(f"package {entry.name}{': ' + entry.detail if entry.detail else ''}")
    if skipped:
        print(f"{len(skipped)} skipped:")
        for entry in skipped:
            print(f"  {entry.name}: {entry.detail}")
    return 0
