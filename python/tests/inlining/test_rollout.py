"""What networks make of modules."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from compiler_bridge.corpus import Corpus
from compiler_bridge.inlining._evaluate import DidNotDecide, Evaluator
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


def test_what_ends_the_serving_ends_the_sampling(modules, evaluator, never, monkeypatch):
    def breaks(*_):
        raise ValueError("broken")

    monkeypatch.setattr("compiler_bridge.training._sampling._TIMEOUT", "1000s")
    monkeypatch.setattr("compiler_bridge.training._sampling._decide", breaks)
    with pytest.raises(ValueError, match="broken"):
        Sampler(evaluator).run(never, Corpus.open(modules).modules, [1])


def test_samples_that_nobody_has_drawn_are_none(modules, evaluator, never, monkeypatch):
    """LLVM's heuristic decided in place of the sampler."""
    monkeypatch.setattr(
        Evaluator, "asked_at", lambda self, module, *_: self.runner(module, "native:/nowhere.so")
    )
    with pytest.raises(DidNotDecide, match=r"nowhere\.so"):
        Sampler(evaluator).run(never, Corpus.open(modules).modules, [1])
