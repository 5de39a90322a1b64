"""Modules compiled by one policy after another."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from compiler_bridge._compile_worker import CompileWorker
from compiler_bridge.corpus import Corpus
from compiler_bridge.inlining._evaluate import (
    CompileEnded,
    CompileFailed,
    DidNotDecide,
    Evaluator,
)
from compiler_bridge.scoring import _elf

from .conftest import EMPTY, NAMES


@pytest.fixture
def evaluator(plugin):
    with Evaluator(plugin, 1, timeout=60) as made:
        yield made
        folder = made._files.path
    assert not folder.exists()


@pytest.fixture
def module(modules):
    return Corpus.open(modules).module(NAMES[0])


def test_the_heuristic_is_plain_clang(evaluator, module, tmp_path):
    target = tmp_path / "x.o"
    subprocess.run(module.compile_command("clang-19", target), check=True, timeout=60)
    sizes = _elf.sizes(target)
    plain, recorded = evaluator.heuristic(module), evaluator.heuristic(module, ["all"])
    for each in (plain, recorded):
        assert (each.text, each.total) == (sizes.text, sizes.total)
    assert plain.asked is None
    assert {callee for _, callee in recorded.pairs} == {"step0"}
    assert (recorded.decisions == 1).all()
    assert "callee_calls" in recorded.asked.features


def test_models(evaluator, module, monkeypatch):
    monkeypatch.setenv("CBRIDGE_DISABLE", "1")  # of whoever runs it
    never = evaluator.runner(module, "constant:0")
    assert never.text < evaluator.heuristic(module).text
    assert "step0" in never.compiled.functions
    recorded = evaluator.recorded(module, "constant:0", ["callee_calls"])
    assert recorded.text == never.text
    assert not recorded.decisions.any()
    assert recorded.asked.features["callee_calls"].any()


def test_decisions_on_some_pairs(evaluator, module):
    pair = ("first0", "step0")
    some = evaluator.decided(module, {pair: 0}, ["inlining_default"])
    for other, decision in zip(some.pairs, some.decisions, strict=True):
        assert decision == (other != pair)
    assert evaluator.decided(module, {}, ["all"]).text == evaluator.heuristic(module).text


def test_nothing_is_asked(evaluator, modules):
    empty = evaluator.heuristic(Corpus.open(modules).module(EMPTY), ["all"])
    assert empty.pairs == []
    assert empty.decisions.size == 0


def test_what_did_not_decide_is_no_result(evaluator, module):
    with pytest.raises(DidNotDecide, match="'moon' is no extra feature"):
        evaluator.heuristic(module, ["moon"])
    with pytest.raises(DidNotDecide, match="No such file"):
        evaluator.runner(module, "replay:/none.log")


def test_what_does_not_compile(evaluator, module, tmp_path):
    missing = dataclasses.replace(module, bitcode=tmp_path / "none.bc", override=module.command)
    with pytest.raises(CompileFailed, match=NAMES[0]):
        evaluator.heuristic(missing)
    thinlto = dataclasses.replace(module, thinlto_index=tmp_path / "x.thinlto.bc")
    with pytest.raises(CompileFailed, match="ThinLTO"):
        evaluator.runner(thinlto, "constant:0")


def test_a_compile_that_others_have_ended_is_begun_again(evaluator, module, monkeypatch):
    usual = evaluator.recorded(module, "constant:0", ["callee_calls"])
    ask, deaths = CompileWorker._ask, [0]

    def die_first(self, line, timeout):
        if deaths[0]:
            deaths[0] -= 1
            os.kill(self._running().pid, signal.SIGKILL)
        return ask(self, line, timeout)

    monkeypatch.setattr(CompileWorker, "_ask", die_first)
    deaths[0] = 2
    again = evaluator.recorded(module, "constant:0", ["callee_calls"])
    assert deaths == [0]
    assert (again.text, again.pairs) == (usual.text, usual.pairs)
    deaths[0] = 3
    with pytest.raises(CompileEnded, match="the compile worker ended"):
        evaluator.heuristic(module)


def test_what_a_killed_one_has_left_is_removed(plugin):
    code = (
        "import os, sys; from pathlib import Path\n"
        "from compiler_bridge.inlining._evaluate import Evaluator\n"
        "print(Evaluator(Path(sys.argv[1]), 1)._files.path, flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", code, plugin], capture_output=True, text=True, timeout=60
    )
    assert killed.returncode == -signal.SIGKILL
    folder = Path(killed.stdout.strip())
    assert folder.name.startswith("cbridge-evaluate-")
    Evaluator(plugin, 1).close()
    assert not folder.exists()
