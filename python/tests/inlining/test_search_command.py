"""`cbridge search inline` over a small corpus, with clang."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from compiler_bridge import log
from compiler_bridge.__main__ import main
from compiler_bridge._alone import alone
from compiler_bridge.corpus import Corpus
from compiler_bridge.inlining._corpus import log_name
from compiler_bridge.scoring import _elf

from .conftest import EMPTY, NAMES


@pytest.fixture
def corpus(modules, tmp_path):
    """The same, to be written to."""
    subprocess.run(["cp", "-r", str(modules), str(tmp_path / "corpus")], check=True)
    return tmp_path / "corpus"


class Said(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def search(plugin, capfd):
    def run(corpus, *words):
        given = ["--corpus", str(corpus), "-j2", "--budget", "20", *map(str, words)]
        return Said(main(["search", "inline", *given]), *capfd.readouterr())

    return run


def sizes(module, plugin, log_file, tmp_path):
    """By clang itself, which decides as the log says."""
    environment = {
        **os.environ,
        "CBRIDGE_INLINE_FEATURES": "caller_name,callee_name",
        "CBRIDGE_INLINE_MODEL": f"replay:{log_file}?key=caller_name,callee_name",
    }
    target = tmp_path / "replayed.o"
    command = module.compile_command("clang-19", target, [f"-fpass-plugin={plugin}"])
    subprocess.run(command, env=environment, check=True, timeout=60)
    return _elf.sizes(target)


def test_what_is_found_can_be_replayed(modules, search, plugin, tmp_path):
    best, file, lines = tmp_path / "best", tmp_path / "x.json", tmp_path / "x.csv"
    done = search(modules, "-o", best, "--json", file, "--csv", lines)
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1].startswith("Headroom: text \N{MINUS SIGN}")
    assert "pack0" in done.out
    result = json.loads(file.read_text())
    assert [module["module"] for module in result["modules"]] == [EMPTY, *NAMES]
    assert result["metrics"]["text"]["total"]["high"] < 0
    assert set(result["packages"]) == {"pack0", "pack1"}
    assert result["evaluations"] <= 20 * 8
    rows = list(csv.DictReader(io.StringIO(lines.read_text())))
    assert [row["module"] for row in rows] == [EMPTY, *NAMES]

    # A module about which nothing is asked has no log.
    logs = sorted(log_name(name) for name in NAMES)
    assert sorted(os.listdir(best)) == sorted(["search.json", *logs])
    for module, found in zip(Corpus.open(modules), result["modules"], strict=True):
        if module.name not in NAMES:
            assert found["text_best"] == found["text_baseline"]
            continue
        replayed = sizes(module, plugin, best / log_name(module.name), tmp_path)
        assert (replayed.text, replayed.total) == (found["text_best"], found["total_best"])
        assert found["text_best"] < found["text_baseline"]
        assert found["changed"] > 0
    table = log.read(best)
    assert len(table) == sum(module["decisions"] for module in result["modules"])
    assert {"callee_instructions", "callsite_frequency", "callee_name"} <= set(table.features)
    assert (table.reward > 0).any()


def test_what_is_there_is_not_searched_again(corpus, search, tmp_path):
    best, file = tmp_path / "best", tmp_path / "x.json"

    def run():
        done = search(corpus, "-o", best, "--json", file)
        assert done.status == 0, done.err
        return json.loads(file.read_text())

    first = run()
    kept = {each.name: each.read_bytes() for each in best.iterdir()}
    (best / log_name(NAMES[2])).unlink()
    (best / log_name(NAMES[3])).write_text("no log")
    (best / log_name(NAMES[5])).write_bytes(kept[log_name(NAMES[5])][:-20])
    (best / f"{log_name(NAMES[4])}.tmp").write_text("left by one that was killed")
    again = run()
    assert again["metrics"] == first["metrics"]
    searched = [module["module"] for module in again["modules"] if module["evaluations"]]
    assert searched == [EMPTY, NAMES[2], NAMES[3], NAMES[5]]
    for before, after in zip(first["modules"], again["modules"], strict=True):
        assert {**before, "evaluations": 0} == {**after, "evaluations": 0}
    for name, content in kept.items():
        assert (best / name).read_bytes() == content


def test_other_options_do_not_go_on(corpus, search, tmp_path):
    best = tmp_path / "best"
    assert search(corpus, "-o", best).out.endswith(" evaluations.\n")
    told = search(corpus, "-o", best).out.splitlines()[-1]
    # That without functions has no log.
    assert told.endswith("over 8 modules, 1 evaluation; 7 modules by an earlier run.")
    for words, why in [
        (["--budget", 30], "--budget 20, now it is 30"),
        (["--metric", "total"], "--metric text, now it is total"),
        (["--method", "random"], "--method climb, now it is random"),
        (["--seed", 1], "--seed 0, now it is 1"),
    ]:
        done = search(corpus, "-o", best, *words)
        assert done.status == 2
        assert f"{best}: was made with {why}; go on as it began, or name" in done.err
        assert not done.out
    with alone(best, ValueError):
        assert f"{best}: another process is at work there" in search(corpus, "-o", best).err
    (best / "search.json").write_text("[")
    assert "search.json: is damaged" in search(corpus, "-o", best).err


def test_methods_metrics_and_features(modules, search, tmp_path):
    best, file = tmp_path / "best", tmp_path / "x.json"
    words = ["--method", "random", "--metric", "total", "--features", "callee_calls", "--seed", 3]
    done = search(modules, *words, "-o", best, "--json", file)
    assert done.status == 0, done.err
    result = json.loads(file.read_text())
    assert (result["method"], result["metric"], result["seed"]) == ("random", "total", 3)
    assert all(module["total_best"] <= module["total_baseline"] for module in result["modules"])
    features = log.read(best).features
    assert "callee_calls" in features
    assert "caller_calls" not in features


def test_broken_modules_are_named(corpus, search, tmp_path):
    (corpus / f"{NAMES[1]}.bc").write_text("no bitcode")
    (corpus / f"{NAMES[2]}.cmd").unlink()
    file = tmp_path / "x.json"
    done = search(corpus, "--json", file)
    assert done.status == 0, done.err
    assert f"left out: module {NAMES[1]}: exit status 1: " in done.out
    assert set(json.loads(file.read_text())["broken"]) == set(NAMES[1:3])
    for name in [EMPTY, *NAMES]:
        (corpus / f"{name}.bc").write_text("no bitcode")
    done = search(corpus)
    assert done.status == 2
    assert "no module could be compiled" in done.err


def test_commands_of_the_driver(corpus, search, tmp_path):
    """MLGO's tools may write those, and a description one for all."""
    description = corpus / "corpus_description.json"
    content = json.loads(description.read_text())
    content["global_command_override"] = ["-O2", "-fno-math-errno"]
    description.write_text(json.dumps(content))
    file = tmp_path / "x.json"
    done = search(corpus, "--json", file)
    assert done.status == 0, done.err
    assert json.loads(file.read_text())["metrics"]["text"]["total"]["high"] < 0
    content["global_command_override"] = ["-O2", "--no-such-argument"]
    description.write_text(json.dumps(content))
    done = search(corpus)
    assert done.status == 2
    assert "no-such-argument" in done.out


def test_what_cannot_be_searched(modules, corpus, search, tmp_path):
    def refused(*words, of=modules):
        done = search(of, *words)
        assert done.status == 2
        assert done.err.count("\n") == 1
        return done.err

    assert "'moon' is no extra feature; there are inlining_default" in refused("--features", "moon")
    assert "--features: expected names" in refused("--features", "")
    assert "there is no such directory" in refused(of=tmp_path / "none")
    assert "there is no such file" in refused("--plugin", tmp_path / "none.so")
    assert "there is no compiler 'none'" in refused("--clang", "none")
    assert "there is no folder" in refused("--json", tmp_path / "none" / "x.json")
    assert "is below 0" in refused("--seed", "-1")
    assert "expected a number" in refused("--budget", "0")
    assert "invalid choice: 'moon'" in refused("--method", "moon")
    assert "-o/--output: expected a name" in refused("-o", "")
    description = corpus / "corpus_description.json"
    content = json.loads(description.read_text())
    description.write_text(json.dumps({**content, "has_thinlto": True}))
    assert "modules of ThinLTO cannot be searched" in refused(of=corpus)
    description.write_text(json.dumps({**content, "modules": []}))
    assert "has no modules" in refused(of=corpus)


def test_the_problem(capfd):
    assert main(["search"]) == 2
    assert main(["search", "--help"]) == 0
    assert "inline" in capfd.readouterr().out
    assert main(["search", "moon"]) == 2
    assert "knows no problem 'moon'" in capfd.readouterr().err
    assert main(["search", "inline", "--help"]) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(modules, plugin, tmp_path, until, number):
    best = tmp_path / "best"
    words = ["search", "inline", "--corpus", modules, "-j1", "--budget", "100000", "-o", best]
    words = [sys.executable, "-m", "compiler_bridge", *map(str, words)]
    # What random flips try never ends.
    process = subprocess.Popen(
        [*words, "--method", "random"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    (worker,) = until(lambda: children_of(process.pid))
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.splitlines()[-1].startswith("cbridge: interrupted; the same command goes on from ")
    until(lambda: not Path(f"/proc/{worker}").exists())
    assert not list(best.glob("*.tmp"))
    assert out == ""


def children_of(pid):
    """Those of all its threads."""
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return [child for file in files for child in file.read_text().split()]
