"""Which module an episode compiles, and that all of it is deterministic."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

from compiler_bridge.corpus import CorpusError
from compiler_bridge.envs import EpisodeError, InlineEnv

CHECKSUM, MATCHES, NODE = "squeeze/checksum.c.o", "squeeze/matches.c.o", "shelf/node.c.o"
SILENT = "silent.c.o"


def seeded(seed):
    random = np.random.default_rng(seed)
    return lambda observation, info: int(random.choice(np.flatnonzero(info["action_mask"])))


def test_the_same_seed_and_actions_give_the_same(make, play, kind):
    def trajectory(env):
        first = play(env, seeded(7), seed=3)
        return [*first, *play(env, seeded(8))]

    env = make(kind)
    once = trajectory(env)
    # Also if it already knows which modules ask nothing, and what LLVM makes of the others.
    assert data_equivalence(once, trajectory(env), exact=True)
    assert data_equivalence(once, trajectory(make(kind)), exact=True)


def test_modules_are_drawn(make):
    env = make("Inline", [MATCHES, CHECKSUM])
    env.reset(seed=0)
    drawn = {env.reset()[1]["module"] for _ in range(8)}
    assert drawn == {MATCHES, CHECKSUM}


def test_one_that_asks_nothing_is_passed_over(make):
    env = make("Inline", [SILENT, CHECKSUM])
    env.reset(seed=0)
    assert {env.reset()[1]["module"] for _ in range(5)} == {CHECKSUM}


def test_one_that_asks_nothing_is_an_error_if_it_is_named(make, kind):
    env = make(kind)
    with pytest.raises(EpisodeError, match=r"silent\.c\.o: there is nothing to decide") as caught:
        env.reset(options={"module": SILENT})
    assert caught.value.code == "asks_nothing"
    assert env.reset(options={"module": NODE})[1]["module"] == NODE


def test_modules_that_all_ask_nothing(make):
    with pytest.raises(EpisodeError, match="no module of these"):
        make("Evict", [SILENT, CHECKSUM]).reset(seed=1)


def test_modules_that_there_are_not(make, tmp_path):
    with pytest.raises(ValueError, match=r"has no module 'x\.o'"):
        make("Inline", ["x.o"])
    with pytest.raises(ValueError, match="no module to compile"):
        make("Inline", [])
    with pytest.raises(TypeError, match="a list"):
        make("Inline", CHECKSUM)
    with pytest.raises(CorpusError, match="no such directory"):
        InlineEnv(tmp_path / "nothing")
    with pytest.raises(ValueError, match="none of the modules"):
        make("Inline", [MATCHES]).reset(options={"module": CHECKSUM})


def test_arguments_are_several(make, kind):
    """A string is a sequence, too, but of letters."""
    with pytest.raises(TypeError, match="arguments are a list"):
        make(kind, arguments="-O2")


@pytest.mark.parametrize("wrong", [{"timeout": 0}, {"timeout": float("nan")}, {"max_decisions": 0}])
def test_limits_are_positive(make, kind, wrong):
    with pytest.raises(ValueError, match="greater than 0"):
        make(kind, **wrong)


def test_a_new_episode_ends_the_old_one(make, kind):
    env = make(kind)
    first = env.reset(options={"module": NODE})
    env.step(int(first[1]["action_mask"].argmax()))
    again = env.reset(options={"module": NODE})
    assert data_equivalence(first, again, exact=True)
