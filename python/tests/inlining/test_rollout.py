"""What networks make of modules."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from compiler_bridge.corpus import Corpus
from compiler_bridge.inlining._evaluate import Evaluator
from compiler_bridge.training._features import FEATURES
from compiler_bridge.training._network import Network
from compiler_bridge.training._rollout import Rollouts

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
