"""`cbridge corpus extract`, `build` and `fetch`."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from contextlib import closing
from pathlib import Path

from .._words import plural
from ..corpus import (
    KINDS,
    SKIPPED_FILE,
    Build,
    Corpus,
    CorpusError,
    CorpusWriter,
    Extraction,
    Fetch,
    Tally,
    Toolchain,
    build_modules,
    extract_modules,
    fetch_packages,
)
from ._shared import TROUBLE, Parser, positive
from .corpus_use import add_clang, add_extra, add_jobs, print_some, run_corpus

_EXTRACT = """\
Makes a corpus of what a build has left. INPUT is recognised, or --kind tells what it is:
  commands  compile_commands.json, or a folder with one: each source is compiled to bitcode
  objects   a folder of objects and archives, or one of them, compiled with
            -Xclang -fembed-bitcode=all; or with -mllvm -lto-embed-bitcode=post-merge-pre-opt by
            a distributed ThinLTO build
  params    a linker's parameter file, an argument per line, which names such objects
  thinlto   a folder in which lld has linked with
            -Wl,--save-temps=import -Wl,--thinlto-emit-index-files
A second run takes only what is new or has changed. What is broken is skipped and listed, also in
skipped.txt of the corpus."""


def extract(words: list[str]) -> int:
    parser = Parser("corpus extract", _EXTRACT)
    parser.add_argument("input", metavar="INPUT")
    _add_output(parser)
    parser.add_argument("--kind", choices=KINDS, help="what INPUT is (default: recognised)")
    parser.add_argument(
        "--base",
        metavar="DIR",
        help="what names are relative to, and paths in parameter files and of ThinLTO indices: "
        "where the build ran (default: INPUT's folder, for params the current one)",
    )
    parser.add_argument(
        "--match",
        type=_pattern,
        metavar="REGEX",
        help="of objects, only those with such an argument of cc1, as in --match='^-Oz$'",
    )
    add_extra(
        parser,
        "of commands: a further argument of the driver, as in --clang-arg=-Oz; of thinlto: how "
        "modules are compiled (default: -O2); several times for several",
    )
    add_clang(parser)
    add_jobs(parser)
    return run_corpus(parser, words, _extract)


def _add_output(parser: Parser) -> None:
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the corpus")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="CORPUS",
        help="leave out modules that are in another corpus, say the one for training",
    )


def _without(arguments: argparse.Namespace) -> list[Path]:
    return [Path(name) for name in arguments.without]


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def _extract(arguments: argparse.Namespace) -> int:
    what = Extraction(
        Path(arguments.input),
        Path(arguments.output),
        arguments.kind,
        Path(arguments.base) if arguments.base else None,
        arguments.match,
        arguments.extra,
        _without(arguments),
        arguments.jobs,
    )
    tally = extract_modules(what, Toolchain.find(arguments.clang))
    return _report(what.output, tally)


_BUILD = """\
Runs a build whose compilers, whatever it calls them (CC, CXX; cc, gcc, clang, c++, g++, clang++ in
PATH), are clang, and keep the bitcode of what they compile. What a configure script tries is not
kept. A compile that fails is tried once more without arguments that only GCC knows, and without
-Werror. The build itself gets what it asks for, and its exit status is that of this command.
  cbridge corpus build -o DIR -- make -j4
  cbridge corpus build -o DIR -- sh -c './configure && make'
Only what is compiled is seen: run `make clean` before, if it has been built already."""

_NOTHING_SEEN = """\
cbridge: no compile was seen: nothing was rebuilt, or the build names its compiler by an absolute
path; configure inside the command, or use `cbridge corpus extract compile_commands.json`"""


def build(words: list[str]) -> int:
    parser = Parser("corpus build", _BUILD, usage="%(prog)s [options] -o DIR -- COMMAND...")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="what builds")
    _add_output(parser)
    add_extra(
        parser,
        "a further argument for the bitcode, several times for several, such as --clang-arg=-Oz: "
        "the objects of the build stay as they are",
    )
    add_clang(parser)
    add_jobs(parser)
    return run_corpus(parser, words, _build)


def _build(arguments: argparse.Namespace) -> int:
    tools = Toolchain.find(arguments.clang)
    output = Path(arguments.output)
    what = Build(Path.cwd(), extra=arguments.extra, jobs=arguments.jobs)
    if shutil.which(arguments.command[0]) is None:
        raise CorpusError(f"there is no program {arguments.command[0]!r}")
    others = _without(arguments)
    with CorpusWriter(output, thinlto=False, without=others, tools=tools) as writer:
        status, tally = build_modules(writer, tools, what, arguments.command)
    if not status and tally == Tally():
        print(_NOTHING_SEEN, file=sys.stderr)
    reported = _report(output, tally)
    if status:
        print(f"cbridge: the build failed with status {status}", file=sys.stderr)
        return status if status > 0 else 128 - status
    return reported


_FETCH = """\
Fetches Debian source packages with apt, from where this system's packages come from, builds each in
a scratch folder, and makes a corpus of what is compiled. Nothing is installed: what lacks a library
is left out, and a package that does not build is named and skipped. The output of builds is in
logs/PACKAGE.log of the corpus. Names of modules start with the package's."""


def fetch(words: list[str]) -> int:
    parser = Parser("corpus fetch", _FETCH)
    parser.add_argument("packages", nargs="+", metavar="PACKAGE", help="names of source packages")
    _add_output(parser)
    add_extra(
        parser,
        "an argument of the driver for the bitcode, several times for several (default: -Oz -g0)",
    )
    parser.add_argument(
        "--sources",
        metavar="FILE",
        help="a list of apt, .list or .sources, instead of the system's",
    )
    parser.add_argument(
        "--work",
        metavar="FOLDER",
        help="unpack and build below it, in src/PACKAGE, and leave that (default: a temporary "
        "folder)",
    )
    parser.add_argument(
        "--timeout",
        type=positive,
        default=1800,
        metavar="SECONDS",
        help="of a step of a build (default: %(default)s)",
    )
    add_clang(parser)
    add_jobs(parser)
    return run_corpus(parser, words, _fetch)


def _fetch(arguments: argparse.Namespace) -> int:
    what = Fetch(
        arguments.packages,
        Path(arguments.output),
        arguments.extra or ["-Oz", "-g0"],
        Path(arguments.sources) if arguments.sources else None,
        Path(arguments.work) if arguments.work else None,
        _without(arguments),
        arguments.jobs,
        arguments.timeout,
    )
    total = Tally()
    failed = []
    with closing(fetch_packages(what, Toolchain.find(arguments.clang))) as packages:
        for package in packages:
            if package.tally is None:
                failed.append(package)
                continue
            trouble = f"; but {package.trouble}" if package.trouble else ""
            print(f"{package.name}: {_describe(package.tally)}{trouble}", flush=True)
            total += package.tally
    status = _report(what.output, total)
    if failed:
        print(f"{plural(len(failed), 'package')} failed:", file=sys.stderr)
        print_some((f"{package.name}: {package.trouble}" for package in failed), "")
        return 1
    return status


def _describe(tally: Tally) -> str:
    if tally == Tally():
        return "nothing to do"
    parts = [f"{plural(tally.kept, 'module')} added"]
    if tally.unchanged:
        parts.append(f"{tally.unchanged} unchanged")
    if tally.duplicates:
        parts.append(plural(tally.duplicates, "duplicate"))
    if tally.skipped:
        parts.append(f"{tally.skipped} skipped")
    return ", ".join(parts)


def _report(output: Path, tally: Tally) -> int:
    corpus = Corpus.open(output)
    print(f"{output}: {plural(len(corpus), 'module')}; {_describe(tally)}")
    if tally.skipped:
        lines = (output / SKIPPED_FILE).read_text(errors="backslashreplace").splitlines()
        print("skipped:", file=sys.stderr)
        print_some(lines, f": {output / SKIPPED_FILE}")
    if not len(corpus):
        print("cbridge: the corpus is empty", file=sys.stderr)
        return TROUBLE
    return 0
