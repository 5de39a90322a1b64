"""Inlining: what is observed, decided, and paid."""

from __future__ import annotations

import os

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from compiler_bridge._compile_worker import CompileWorker
from compiler_bridge._plugin import find_plugin
from compiler_bridge.corpus import Corpus
from compiler_bridge.envs import EpisodeError

CHECKSUM, MATCHES, NODE = "squeeze/checksum.c.o", "squeeze/matches.c.o", "shelf/node.c.o"


def as_llvm(observation, info):
    return int(observation["inlining_default"][0])


def never(observation, info):
    return 0


def always(observation, info):
    return 1


def test_llvms_decisions_pay_nothing(make, play):
    env = make("Inline", features=["inlining_default"])
    steps = play(env, as_llvm, options={"module": NODE})
    *before, last = steps
    assert all(step[1:4] == (0.0, False, False) for step in before)
    assert last[1:4] == (0.0, True, False)
    assert last[4]["text"] == last[4]["baseline_text"] > 0
    assert last[4]["total"] == last[4]["baseline_total"] > last[4]["text"]
    assert last[4]["decisions"] == len(before)
    assert last[4]["module"] == NODE
    assert all(step[0] in env.observation_space for step in steps)


@pytest.mark.parametrize("metric", ["text", "total"])
def test_the_reward_is_what_is_saved(make, play, corpus, metric):
    env = make("Inline", metric=metric)
    info = play(env, never, options={"module": MATCHES})[-1]
    plugin = find_plugin()
    worker = CompileWorker([plugin])
    command = (
        Corpus.open(corpus)
        .module(MATCHES)
        .compile_command(output=os.devnull, extra=[f"-fpass-plugin={plugin}"])
    )
    never_inlined = worker.compile(command[1:], environment={"CBRIDGE_INLINE_MODEL": "constant:0"})
    worker.close()
    assert info[4]["text"] == never_inlined.text
    assert info[4]["total"] == never_inlined.total
    baseline = info[4][f"baseline_{metric}"]
    assert info[1] == (baseline - info[4][metric]) / baseline != 0


def test_all_features_that_the_plugin_has(make, play):
    env = make("Inline", [CHECKSUM], features=["all"])
    assert len(env.observation_space) == 38 + 29
    observation, info = env.reset()
    assert observation in env.observation_space
    assert observation["callsite_frequency"].dtype == np.float32
    assert observation["callee_instructions"] > 0
    assert info["action_mask"].tolist() == [1, 1]
    assert env.action_masks().tolist() == [True, True]


def test_features_that_there_are_not(make):
    with pytest.raises(ValueError, match="'callee_name' is no extra feature with a number"):
        make("Inline", features=["callee_name"])
    with pytest.raises(TypeError, match="a list"):
        make("Inline", features="all")
    with pytest.raises(ValueError, match="'size' is no metric"):
        make("Inline", metric="size")


def test_the_rest_is_llvms_after_so_many_decisions(make, play):
    env = make("Inline", features=["inlining_default"], max_decisions=3)
    steps = play(env, as_llvm, options={"module": NODE})
    assert len(steps) == 1 + 3
    observation, reward, terminated, truncated, info = steps[-1]
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["text"] == info["baseline_text"]
    assert "failure" not in info
    # It is the question that was not answered.
    fourth = play(make("Inline", features=["inlining_default"]), as_llvm, options={"module": NODE})
    assert all(np.array_equal(observation[name], fourth[3][0][name]) for name in observation)


def test_decisions_that_are_none(make):
    env = make("Inline")
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset(options={"module": CHECKSUM})
    with pytest.raises(ValueError, match="2 is no decision; there are 0 to 1"):
        env.step(2)
    env.step(np.int64(1))  # and it goes on


def test_an_episode_that_is_over_stays_over(make, play):
    env = make("Inline")
    play(env, always, options={"module": CHECKSUM})
    with pytest.raises(ResetNeeded):
        env.step(0)


def test_other_arguments_of_the_compiler(make, play):
    less = make("Inline", arguments=["-mllvm", "-inline-threshold=-1000"])
    usual, changed = (
        play(env, never, options={"module": MATCHES})[-1][4] for env in (make("Inline"), less)
    )
    assert changed["baseline_text"] != usual["baseline_text"]


def test_a_plugin_that_cannot_ask(make, corpus, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        make("Inline", plugin=tmp_path / "nothing.so")
    env = make("Inline")
    env._extra = "nonsense"
    with pytest.raises(EpisodeError, match="'nonsense' is no extra feature"):
        env.reset(options={"module": CHECKSUM})
