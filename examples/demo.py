#!/usr/bin/env python3
"""Compiles the example programs with clang -Oz, and with cbridge-clang -Oz.

Every program is compiled and linked by both, run, and must print the same; a table tells how much
code it has (text), and how many bytes of its file are loaded in all. Then `cbridge score` looks
closer, module by module, and writes a report to look at.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from compiler_bridge.scoring._elf import Sizes, sizes
from compiler_bridge.scoring._words import percent

PROGRAMS = Path(__file__).resolve().parent / "programs"
SOURCES = {".c", ".cpp", ".h"}
POLICY = "native:InlineOz"  # that cbridge-clang uses at -Oz
STANDARD = {"c": "-std=c11", "c++": "-std=c++17"}
WIDTHS = (9, 15, 11)  # of the columns: clang, cbridge-clang, change
ABOVE = f"""\
What decides on inlining in cbridge-clang -Oz: {POLICY}
Bytes of the linked programs: text is code; loaded are text, constants, data, and the tables for
unwinding and for the linker.
"""
BELOW = """
Module by module, by cbridge score. It adds up objects that are not linked: what several objects of
a C++ program have copies of counts in each, what the linker adds in none. So changes are larger.
"""


class DemoError(Exception):
    """Why the demo cannot go on."""


@dataclass
class Program:
    name: str
    language: str
    sources: list[str]
    arguments: list[str]
    stdin: str | None
    expected: str

    @property
    def folder(self) -> Path:
        return PROGRAMS / self.name


@dataclass
class Compiler:
    """One of the two that are compared."""

    label: str
    c: str
    flags: list[str]

    def command(self, language: str) -> list[str]:
        return [self.c.replace("clang", "clang++") if language == "c++" else self.c, *self.flags]


@dataclass
class Built:
    """A program that was linked and run."""

    sizes: Sizes
    right: bool


def run(command: list[str], **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise DemoError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return str(done.stdout)


def load() -> list[Program]:
    return [
        Program(**entry)
        for entry in json.loads((PROGRAMS / "programs.json").read_text())["programs"]
    ]


def build(program: Program, compiler: Compiler, out: Path) -> Built:
    """How large the program is, and whether it prints what it should."""
    out.mkdir(parents=True, exist_ok=True)
    executable = out / program.name
    sources = [str(program.folder / source) for source in program.sources]
    run(
        [
            *compiler.command(program.language),
            STANDARD[program.language],
            *sources,
            "-o",
            str(executable),
        ]
    )
    given = (program.folder / program.stdin).read_text() if program.stdin else ""
    printed = run([str(executable), *program.arguments], cwd=program.folder, input=given)
    return Built(sizes(executable), printed == (program.folder / program.expected).read_text())


def compare(programs: list[Program], compilers: list[Compiler], out: Path) -> bool:
    """Prints a line per program as soon as it is known, and all together."""
    width = max(len(program.name) for program in programs)
    print(head(width, [each.label for each in compilers]), flush=True)
    totals = [Sizes(0, 0)] * len(compilers)
    all_right = True
    with ThreadPoolExecutor() as pool:
        running = [
            [pool.submit(build, program, each, out / each.label) for each in compilers]
            for program in programs
        ]
        for program, tasks in zip(programs, running, strict=True):
            built = [task.result() for task in tasks]
            right = all(each.right for each in built)
            all_right &= right
            totals = [add(total, each.sizes) for total, each in zip(totals, built, strict=True)]
            verdict = "the same" if right else "SOMETHING ELSE"
            print(f"{row(program.name, width, [e.sizes for e in built])}  {verdict}", flush=True)
    print(row("all", width, totals))
    return all_right


def add(a: Sizes, b: Sizes) -> Sizes:
    return Sizes(a.text + b.text, a.total + b.total)


def head(width: int, labels: list[str]) -> str:
    """Two lines: what is counted, and the columns."""
    titles = (" text ", " all loaded bytes ")
    groups = "".join(f"  {title:-^{sum(WIDTHS) - 2}}" for title in titles)
    columns = cells([*labels, "change"])
    return f"{'':{width}}{groups}\n{'program':{width}}{columns}{columns}  prints"


def row(name: str, width: int, by_compiler: list[Sizes]) -> str:
    """A line: text of both and its change, then so all loaded bytes."""
    line = f"{name:{width}}"
    for metric in ("text", "total"):
        plain, ours = (getattr(each, metric) for each in by_compiler)
        line += cells([f"{plain:,}", f"{ours:,}", percent(ours / plain - 1)])
    return line


def cells(texts: list[str]) -> str:
    return "".join(f"{text:>{width}}" for text, width in zip(texts, WIDTHS, strict=True))


def write_corpus(programs: list[Program], out: Path) -> Path:
    """The modules of the programs, and how those are linked and run."""
    commands = [
        {
            "directory": str(program.folder),
            "file": source,
            "output": f"{Path(source).stem}.o",
            "arguments": [
                "clang++" if program.language == "c++" else "clang",
                STANDARD[program.language],
                "-Oz",
                "-c",
                source,
            ],
        }
        for program in programs
        for source in program.sources
    ]
    database, corpus = out / "compile_commands.json", out / "corpus"
    database.write_text(json.dumps(commands, indent=1))
    run(["cbridge", "corpus", "extract", str(database), "--base", str(PROGRAMS), "-o", str(corpus)])
    entries = []
    for program in programs:
        files = [path for path in program.folder.iterdir() if path.suffix not in SOURCES]
        (corpus / "inputs" / program.name).mkdir(parents=True, exist_ok=True)
        for path in files:
            shutil.copy(path, corpus / "inputs" / program.name / path.name)
        where = f"inputs/{program.name}"
        how: dict[str, object] = {
            "arguments": program.arguments,
            "files": [f"{where}/{path.name}" for path in files],
            "expected": f"{where}/{program.expected}",
        }
        if program.stdin:
            how["stdin"] = f"{where}/{program.stdin}"
        modules = [f"{program.name}/{Path(source).stem}.o" for source in program.sources]
        entries.append(
            {"name": program.name, "language": program.language, "modules": modules, "runs": [how]}
        )
    (corpus / "programs.json").write_text(json.dumps({"programs": entries}, indent=1))
    return corpus


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, default=Path("demo"), help="where to (default: %(default)s)"
    )
    parser.add_argument("--no-report", action="store_true", help="only the table")
    options = parser.parse_args()
    out = options.out.resolve()
    programs = load()
    for name in ("CBRIDGE_DISABLE", "CBRIDGE_INLINE_MODEL", "CBRIDGE_BUDGET"):
        os.environ.pop(name, None)
    compilers = [
        Compiler("clang", "clang-19", ["-Oz"]),
        Compiler("cbridge-clang", "cbridge-clang", ["-Oz"]),
    ]
    try:
        if f"inline model: {POLICY} " not in run(["cbridge-clang", "--cbridge-version"]):
            raise DemoError("the plugin has no policy; see cbridge doctor")
        print(ABOVE)
        right = compare(programs, compilers, out)
        if not options.no_report:
            print(BELOW, flush=True)
            corpus = write_corpus(programs, out)
            report = out / "report.html"
            score = ["cbridge", "score", "--corpus", str(corpus), "--policy", POLICY]
            score += ["--no-cache", "--html", str(report)]
            scored = subprocess.run(score, check=False)
            right &= scored.returncode == 0
            print(f"\nThe report: {report}")
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
