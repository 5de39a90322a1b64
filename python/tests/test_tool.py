"""The command `cbridge`, as the package brings it along."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import compiler_bridge
from compiler_bridge import Runner, TensorSpec, log
from compiler_bridge.__main__ import COMMANDS

GOLDEN = Path(__file__).parents[2] / "tests" / "golden"
STATIC, RICH = str(GOLDEN / "log_static.log"), str(GOLDEN / "log_extension.log")
TOOL = Path(compiler_bridge.__file__).parent / "bin" / "cbridge"
X, Y = TensorSpec("x", "int64"), TensorSpec("y", "int64")


def cbridge(*arguments, **options):
    command = [str(TOOL), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, **options)


def write(path, decisions, context="f"):
    with log.LogWriter(path, [X], Y) as writer:
        for x, y in decisions:
            writer.write(context, {"x": x}, {"y": y})
    return path


def test_help_at_every_level():
    at_every_level = "--help", "help", "log --help", "log help", "log show -h", "log diff --help"
    for words in map(str.split, at_every_level):
        done = cbridge(*words)
        assert done.returncode == 0
        assert done.stdout.startswith("usage: cbridge ")
    assert cbridge("--version").stdout == f"cbridge {compiler_bridge.__version__}\n"
    assert cbridge().returncode == 2
    assert cbridge("log").returncode == 2


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nonsense"], "unknown command 'nonsense'; see --help"),
        (["--nonsense"], "unknown option '--nonsense'; see --help"),
        (["log", "nonsense"], "unknown command 'log nonsense'; there are show, stats, diff"),
        (["log", "show", "--nonsense", "x"], "unknown option '--nonsense'; see --help"),
        (["log", "show", "--limit"], "option '--limit' needs a value"),
        (["log", "show", "--limit=x", "x"], "option '--limit': 'x' is no number"),
        (["log", "stats", "--json=x", "x"], "option '--json' takes no value"),
        (["log", "show"], "log show takes one log or directory"),
        (["log", "diff", "x"], "log diff takes two logs or directories"),
        (["log", "show", "/nonexistent"], "/nonexistent: No such file or directory"),
    ],
)
def test_mistakes_are_named(words, why):
    done = cbridge(*words)
    assert done.returncode == 2
    assert done.stderr == f"cbridge: {why}\n"
    assert done.stdout == ""


def test_show(tmp_path):
    done = cbridge("log", "show", "--limit", 1, RICH)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "context 'f', decision 0",
        '  name = "hello"',
        "  rows = []",
        "  flags = [true, false, false]",
        "  names = []",
        "  -> y = -1",
        '  -> why = "so"',
        "  reward 0.5",
    ]
    whole = Path(STATIC).read_bytes()
    (tmp_path / "x.log").write_bytes(whole[:-2])
    assert "was cut off here" in cbridge("log", "show", tmp_path).stdout


def test_stats(tmp_path):
    text = cbridge("log", "stats", STATIC).stdout
    assert "4 decisions in 2 contexts, 1 files" in text
    assert "decision unroll int64_t[1]: min 1, mean 3.75, max 8" in text
    whole = Path(STATIC).read_bytes()
    (tmp_path / "a.log").write_bytes(whole)
    (tmp_path / "b.log").write_bytes(whole[:-2])
    stats = json.loads(cbridge("log", "stats", "--json", tmp_path).stdout)
    assert (stats["files"], stats["contexts"], stats["decisions"]) == (2, 2, 8)
    assert [os.path.basename(path) for path in stats["cut"]] == ["b.log"]
    assert stats["features"]["d"]["count"] == 8
    assert stats["features"]["u8"]["max"] == 255
    assert stats["decision"]["unroll"]["distribution"] == {"1": 2, "2": 2, "4": 2, "8": 2}
    assert stats["rewards"] == {"count": 7, "min": -0.25, "mean": pytest.approx(5.5 / 7), "max": 3}


def test_diff(tmp_path):
    a = write(tmp_path / "a.log", [(1, 10), (2, 20), (3, 30)])
    assert cbridge("log", "diff", a, a).returncode == 0
    assert cbridge("log", "diff", a, a).stdout == ""
    done = cbridge("log", "diff", a, write(tmp_path / "b.log", [(1, 10), (2, 21), (9, 30)]))
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "context 'f', decision 1 differs",
        "* -> y = 20 | 21 (the value is 20, in the second log 21)",
        "  x = 2",
    ]
    done = cbridge("log", "diff", a, write(tmp_path / "b.log", [(1, 10), (7, 20)]))
    assert "* x = 2 | 7" in done.stdout
    done = cbridge("log", "diff", a, write(tmp_path / "b.log", [(1, 10)]))
    assert done.returncode == 1
    assert "context 'f', decision 1 is not in" in done.stdout
    done = cbridge("log", "diff", a, write(tmp_path / "b.log", [(1, 10)], "g"))
    assert "context 'f', decision 0 is not in" in done.stdout
    assert cbridge("log", "diff", a, STATIC).stdout.startswith("feature 0: 'x' int64_t[1] | ")
    assert cbridge("log", "diff", a, tmp_path / "none").returncode == 2


def test_the_commands_of_the_guide(tmp_path):
    """docs/guide/record-and-replay.md: record, look, change the heuristic, compare."""
    for name, factor in (("logs", 1), ("after", 2)):
        with Runner(f"heuristic:?record={tmp_path}/{name}/", [X], Y) as runner:
            runner.switch_context("main")
            for x in range(3):
                runner.evaluate_or({"x": x}, lambda x=x, factor=factor: x * factor)
    assert cbridge("log", "stats", tmp_path / "logs").returncode == 0
    done = cbridge("log", "diff", f"{tmp_path}/logs/", f"{tmp_path}/after/")
    assert done.returncode == 1
    assert done.stdout.startswith("context 'main', decision 1 differs\n")
    assert log.read(tmp_path / "logs").decision.tolist() == [[0], [1], [2]]


def test_a_reader_that_goes_away(tmp_path):
    many = write(tmp_path / "x.log", [(i, i) for i in range(20_000)])
    shell = f'"{TOOL}" log show "{many}" | head -n 1'
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=20)
    assert done.stdout == "context 'f', decision 0\n"
    assert done.stderr == ""
    with open("/dev/full", "w") as full:
        command = [str(TOOL), "log", "show", str(many)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=20)
    assert done.returncode == 2
    assert done.stderr == "cbridge: cannot write to standard output\n"


def test_the_script_of_the_package():
    script = shutil.which("cbridge", path=str(Path(sys.executable).parent))
    assert script
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=20)
    assert done.stdout == f"cbridge {compiler_bridge.__version__}\n"
    done = subprocess.run([script, "nonsense"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 2


def test_the_commands_in_python():
    """The tool lists what the package has, and runs it."""
    listed = cbridge("--help").stdout
    for name, (summary, _) in COMMANDS.items():
        assert f"  {name:<12}{summary}\n" in listed
    environment = {**os.environ, "CBRIDGE_PYTHON": sys.executable}
    done = cbridge("inspect", "/nonexistent", env=environment)
    assert done.returncode == 2
    assert done.stderr == "cbridge: /nonexistent: No such file or directory\n"
    assert cbridge("verify", "--help", env=environment).stdout.startswith("usage: cbridge verify")


def test_the_module_runs():
    def module(*words):
        command = [sys.executable, "-m", "compiler_bridge", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=20)

    assert module("--help").stdout.startswith("usage: python -m compiler_bridge")
    assert module("help").stdout == module("--help").stdout
    assert module("--version").stdout == f"compiler_bridge {compiler_bridge.__version__}\n"
    assert module("nonsense").returncode == 2
    assert module("nonsense").stderr == "compiler_bridge: unknown command 'nonsense'; see --help\n"
    assert module().returncode == 2
