"""What networks make of modules."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from compiler_bridge.corpus import Corpus
from compiler_bridge.inlining._evaluate import (
    CompileEnded,
    CompileFailed,
    DidNotDecide,
    Evaluator,
)
from compiler_bridge.training import _sampling
from compiler_bridge.training._features import FEATURES
from compiler_bridge.training._network import Network
from compiler_bridge.training._rollout import Rollouts
from compiler_bridge.training._sampling import Sampler

from .conftest import NAMES


@pytest.fixture
def evaluator(plugin):
    with Evaluator(plugin, 2, timeout=60) as made:
        yield made


@pytest.fixture
def never():
    """A network that inlines nothing."""
    weights, bias = np.zeros((len(FEATURES), 1), np.float32), np.full(1, -5, np.float32)
    zeros = np.zeros(len(FEATURES), np.float32)
    return Network(zeros, zeros, ((weights, bias),))


def children_of(pid):
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for each in found for word in each.read_text().split()]


def test_modules_of_one_name_are_two(modules, evaluator, never, tmp_path):
    """Two projects that both have a src/main.o."""
    shutil.copytree(modules, tmp_path / "other")
    ours = Corpus.open(modules).module(NAMES[0])
    theirs = Corpus.open(tmp_path / "other").module(NAMES[0])
    theirs.bitcode.write_bytes((modules / f"{NAMES[3]}.bc").read_bytes())
    rollouts = Rollouts(evaluator, [ours, theirs])
    try:
        for module, callee in ((ours, "step0"), (theirs, "step3")):
            assert {each for _, each in rollouts.baseline(module).evaluation.pairs} == {callee}
            (made,) = rollouts.run(never, [module])
            assert {each for _, each in made.evaluation.pairs} == {callee}
            assert made.text < rollouts.baseline(module).text
        assert rollouts.compiles == 2
    finally:
        rollouts.close()


def test_a_policy_that_does_not_decide_is_no_module_that_fails(modules, evaluator, monkeypatch):
    monkeypatch.setattr(
        Evaluator, "heuristic", lambda self, module, *_: self.runner(module, "native:/nowhere.so")
    )
    with pytest.raises(DidNotDecide, match=r"nowhere\.so"):
        Rollouts(evaluator, Corpus.open(modules).modules)


def test_a_compiler_that_is_killed_draws_again(modules, evaluator, never, monkeypatch):
    every = Corpus.open(modules).modules
    usual = Sampler(evaluator).run(never, every, [1], 5.0)
    decide, killed = _sampling._decide, []

    def kill_first(*words):
        if not killed:
            for worker in evaluator.workers._all:
                for child in children_of(worker._process.pid):
                    with suppress(ProcessLookupError):  # it may have just ended
                        os.kill(child, signal.SIGKILL)
                        killed.append(child)
        return decide(*words)

    asked_at, ended = Evaluator.asked_at, []

    def ask(self, module, address, features):
        # Where a question of the one that was killed may still come.
        assert address not in ended
        try:
            return asked_at(self, module, address, features)
        except CompileEnded:
            ended.append(address)
            raise

    monkeypatch.setattr(_sampling, "_decide", kill_first)
    monkeypatch.setattr(Evaluator, "asked_at", ask)
    again = Sampler(evaluator).run(never, every, [1], 5.0)
    assert ended
    for before, after in zip(usual, again, strict=True):
        np.testing.assert_array_equal(before.decisions, after.decisions)
        np.testing.assert_array_equal(before.rows, after.rows)


def test_what_ends_the_serving_ends_the_sampling(modules, evaluator, never, monkeypatch):
    def breaks(*_):
        raise ValueError("broken")

    asked_at, failures = Evaluator.asked_at, []

    def ask(*words):
        try:
            return asked_at(*words)
        except CompileFailed as why:
            failures.append(str(why))
            raise

    monkeypatch.setattr(Evaluator, "asked_at", ask)
    monkeypatch.setattr("compiler_bridge.training._sampling._TIMEOUT", "1000s")
    monkeypatch.setattr("compiler_bridge.training._sampling._decide", breaks)
    with pytest.raises(ValueError, match="broken"):
        Sampler(evaluator).run(never, Corpus.open(modules).modules, [1])
    assert failures
    assert not any("took longer" in each for each in failures)  # nobody waits for an answer


def test_samples_that_nobody_has_drawn_are_none(modules, evaluator, never, monkeypatch):
    """LLVM's heuristic decided in place of the sampler."""
    monkeypatch.setattr(
        Evaluator, "asked_at", lambda self, module, *_: self.runner(module, "native:/nowhere.so")
    )
    with pytest.raises(DidNotDecide, match=r"nowhere\.so"):
        Sampler(evaluator).run(never, Corpus.open(modules).modules, [1])
