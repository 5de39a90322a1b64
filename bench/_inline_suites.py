"""How packages of `./dev bench inline` are built with their tests, and what those print."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from compiler_bridge.corpus._recipes import BUILD, Recipe, cmake

Results = dict[str, bool]
"""Tests by name, and whether each passed; those that were skipped are not in it."""

C, CXX = "C", "C++"
_AUTOMAKE = re.compile(r"^(PASS|FAIL|XPASS|ERROR): (.+)$", re.MULTILINE)
_CTEST = re.compile(r"^ *\d+/\d+ Test +#\d+: (\S+) \.*(\** *\w.*?) +\d+\.\d+ sec", re.MULTILINE)
_RUNTESTS = re.compile(r"^(obj/\S+) +(PASS|FAIL)", re.MULTILINE)
_CATEGORY = re.compile(r"^([\w-]+/[\w.+-]+) \.*", re.MULTILINE)
_STATUS = re.compile(r"\bok +\((\d+) passed\)|\bFAILED \((?:(\d+)/(\d+) passed|no tests found!)\)")
_CHECKING = re.compile(r"^Checking (\S+)$", re.MULTILINE)
_NOT_PASSED = re.compile(r"^(?:Failed|Skipped) checks were:\n(.*)$", re.MULTILINE)


def automake(output: str) -> Results:
    """Of its parallel harness. Folders may have tests of the same name, one after the other."""
    found: Results = {}
    for said, name in _AUTOMAKE.findall(output):
        _add(found, name.strip(), said == "PASS")
    return found


def ctest(output: str) -> Results:
    tests = ((name, said.strip()) for name, said in _CTEST.findall(output))
    return {name: said == "Passed" for name, said in tests if "Skipped" not in said}


def runtests(output: str) -> Results:
    """Of re2."""
    return {name: said == "PASS" for name, said in _RUNTESTS.findall(output)}


def run_make_tests(output: str) -> Results:
    """Of GNU make, which counts the tests of a category: which of them failed, it does not tell.
    Its complaints come between a category's name and how it ended."""
    found: Results = {}
    _, *parts = _CATEGORY.split(output)
    for title, rest in zip(parts[0::2], parts[1::2], strict=True):
        if status := _STATUS.search(rest):
            passed, run = int(status[1] or status[2] or 0), int(status[1] or status[3] or 0)
            if not run:
                found[title] = False
            for number in range(run):
                found[f"{title} {number + 1}"] = number < passed
    return found


def m4_checks(output: str) -> Results:
    """The examples of m4's manual, beside the tests of its library."""
    found = automake(output)
    listed: Results = {}
    for names in _NOT_PASSED.finditer(output):
        is_failure = names[0].startswith("Failed")
        listed |= {each.partition(":")[0]: is_failure for each in names[1].split()}
    # Without a list the run did not come to its end.
    ended = "All checks successful" in output or "Failed checks were:" in output
    for name in _CHECKING.findall(output):
        if name not in listed:
            found[name] = ended
        elif listed[name]:
            found[name] = False
    return found


def _add(found: Results, name: str, passed: bool) -> None:
    number, key = 1, name
    while key in found:
        number += 1
        key = f"{name} ({number})"
    found[key] = passed


@dataclass(frozen=True)
class Suite:
    """How a package is built, if not as for a corpus; how its tests are run, and read."""

    language: str
    test: tuple[str, ...]
    read: Callable[[str], Results]
    build: Recipe | None = None


_CHECK = ("make", "-k", "check")
_CTESTS = ("ctest", "--test-dir", BUILD)
_JANSSON = cmake("-DJANSSON_EXAMPLES=OFF", "-DJANSSON_BUILD_DOCS=OFF")
# Debian's sources lack tables that are generated. Not `static-bigtest`, which goes on to try all
# regular expressions up to a length.
_RE2 = ("make", "-k", "-j{jobs}", "REBUILD_TABLES=1")

SUITES = {
    "jansson": Suite(C, _CTESTS, ctest, _JANSSON),
    "sed": Suite(C, _CHECK, automake),
    "m4": Suite(C, _CHECK, m4_checks),
    "make-dfsg": Suite(C, _CHECK, run_make_tests),
    "patch": Suite(C, _CHECK, automake),
    "re2": Suite(CXX, (*_RE2, "static-test"), runtests, Recipe(((*_RE2, "obj/libre2.a"),))),
    "double-conversion": Suite(CXX, _CTESTS, ctest, cmake("-DBUILD_TESTING=ON")),
}
