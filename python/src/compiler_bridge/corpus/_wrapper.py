"""Compilers for a build that just has a Makefile: scripts that compile as asked, and keep bitcode.

The scripts are POSIX sh, which starts in 2 ms where Python takes 15: a configure script runs the
compiler hundreds of times for nothing that is kept. Python runs only after a compile whose bitcode
is wanted, which takes two more runs of clang anyway.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
from pathlib import Path

from . import _capture, _journal
from ._tools import Toolchain

_NAMES = ("cc", "c89", "c99", "gcc", "clang", "c++", "g++", "clang++")
# Such as x86_64-linux-gnu-gcc, gcc-12, clang++-19; but none for another machine.
_OTHER_NAMES = re.compile(
    rf"({platform.machine()}-linux-gnu-)?(gcc|g\+\+|clang|clang\+\+)(-\d+(\.\d+)*)?"
)

_SCRIPT = """\
#!/bin/sh
# Compiles as asked, and keeps the bitcode. Written by cbridge corpus.
case ${0##*/} in
  *++*) driver=@CXX@ ;;
  *) driver=@CC@ ;;
esac
case ${0##*/} in
  c89) set -- -std=c90 "$@" ;;
  c99) set -- -std=c99 "$@" ;;
esac
stage=@STAGE@
capture() {
  action=$1
  shift
  @PYTHON@ -S -E -s @CAPTURE@ "$action" "$stage" "$driver" "$@"
}

# What only tries the compiler is none of the program, and gets an honest answer.
case $PWD/ in
  */CMakeFiles/* | */meson-private/* | */.conf_check_*/* | */conftest.dir/*) exec "$driver" "$@" ;;
esac
keep='' stdin='' before='' only=''
for word do
  case $before$word in
    -o/dev/null) exec "$driver" "$@" ;;
  esac
  case $before in
    -o | -MF | -MT | -MQ) before='' && continue ;;
  esac
  before=$word
  case $word in
    -cc1 | -cc1as | '-###' | --version | /dev/null) exec "$driver" "$@" ;;
    conftest.* | ./conftest.* | "$PWD"/conftest.* | conftest[0-9].* | _configtest.* | \\
      *CMakeScratch* | *CMakeTmp* | */CMakeFiles/*/CompilerId* | *meson-private*) \\
      exec "$driver" "$@" ;;
    -E | -M | -MM | -fsyntax-only) only=1 ;;
    -) keep=1 stdin=1 ;;
    *.c | *.cc | *.cp | *.cpp | *.cxx | *.c++ | *.CPP | *.C | *.i | *.ii | @* | -x*) keep=1 ;;
  esac
done
if [ -n "$only" ]; then keep=''; fi

if [ -n "$stdin" ]; then
  input=$stage/$$.stdin
  trap 'rm -f "$input"' EXIT
  cat >"$input"
  "$driver" "$@" <"$input"
else
  input=/dev/null
  "$driver" "$@"
fi
status=$?
if [ "$status" = 1 ]; then
  capture retry "$@" <"$input"
  status=$?
elif [ "$status" = 0 ] && [ -n "$keep" ]; then
  capture keep "$@" <"$input" >/dev/null 2>&1
fi
exit "$status"
"""


def write(folder: Path, stage: Path, tools: Toolchain, root: Path, extra: list[str]) -> None:
    """Puts the wrappers into a folder; they keep what they compile in `stage`."""
    folder.mkdir(parents=True, exist_ok=True)
    stage.mkdir(parents=True, exist_ok=True)
    _journal.replace(stage / "settings", _capture.settings(str(root), extra))
    values = {
        "CC": tools.clang,
        "CXX": tools.clangxx,
        "STAGE": str(stage),
        "PYTHON": sys.executable,
        "CAPTURE": _capture.__file__,
    }
    script = re.sub(r"@([A-Z]+)@", lambda name: shlex.quote(values[name.group(1)]), _SCRIPT)
    for name in sorted({*_NAMES, *_installed()}):
        path = folder / name
        _journal.replace(path, os.fsencode(script))
        path.chmod(0o755)


def _installed() -> list[str]:
    """Other names under which the compilers of this machine are called."""
    found = []
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        try:
            found += [name for name in os.listdir(folder) if _OTHER_NAMES.fullmatch(name)]
        except OSError:
            continue
    return found


def environment(folder: Path) -> dict[str, str]:
    """For a build: with the wrappers as its compilers, whichever way it finds them."""
    variables = dict(os.environ)
    variables["PATH"] = f"{folder}{os.pathsep}{variables.get('PATH', os.defpath)}"
    variables["CC"], variables["CXX"] = str(folder / "cc"), str(folder / "c++")
    variables["CCACHE_DISABLE"] = "1"  # what it has, it does not compile
    return variables
