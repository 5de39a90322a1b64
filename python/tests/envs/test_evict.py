"""Eviction: masks, and what registers cost."""

from __future__ import annotations

import numpy as np
import pytest

from compiler_bridge.envs._cost import register_cost

MATCHES, NODE = "squeeze/matches.c.o", "shelf/node.c.o"
REMARKS = """--- !Missed
Pass:            regalloc
Name:            LoopSpillReloadCopies
Function:        f
Args:
  - NumVRCopies:     '2'
  - String:          ' virtual registers copies '
  - TotalCopiesCost: '3.000000e+01'
  - String:          generated in loop
...
--- !Missed
Pass:            regalloc
Name:            SpillReloadCopies
Function:        f
Args:
  - NumSpills:       '1'
  - TotalSpillsCost: '5.000000e-01'
  - NumReloads:      '3'
  - TotalReloadsCost: '2.500000e-01'
  - NumVRCopies:     '5'
  - TotalCopiesCost: '3.100000e+01'
  - String:          generated in function
...
--- !Missed
Pass:            regalloc
Name:            SpillReloadCopies
Function:        g
Args:
  - NumFoldedReloads:     '5'
  - TotalFoldedReloadsCost: '2.000000e+00'
...
"""


def legal(observation, info):
    return int(info["action_mask"].argmax())


def illegal(observation, info):
    return int(info["action_mask"].argmin())


def test_costs_of_whole_functions_are_added_up():
    assert register_cost(REMARKS) == 33.75
    assert register_cost("") == 0


@pytest.mark.parametrize("module", [MATCHES, NODE])
def test_an_episode(make, play, module):
    env = make("Evict")
    *before, last = play(env, legal, options={"module": module})
    assert len(before) > 10
    for observation, reward, _, _, info in before:
        assert observation in env.observation_space
        assert reward == 0
        assert info["action_mask"].dtype == np.int8
        assert np.array_equal(info["action_mask"], observation["mask"][0])
        assert 0 < info["action_mask"].sum() < 33
    observation, reward, terminated, truncated, info = last
    assert observation in env.observation_space
    assert (terminated, truncated) == (True, False)
    assert info["illegal_actions"] == 0
    assert info["decisions"] == len(before)
    cost, baseline = info["cost"], info["baseline_cost"]
    assert reward == (baseline - cost) / max(baseline, cost) != 0
    assert info["text"] > 0 < info["baseline_text"]


def test_masks_as_sb3_wants_them(make):
    env = make("Evict")
    _, info = env.reset(options={"module": NODE})
    masks = env.action_masks()
    assert masks.dtype == np.bool_
    assert np.array_equal(masks, info["action_mask"].astype(bool))
    assert masks[env.action_space.sample(mask=info["action_mask"])]


def test_what_is_not_legal_is_replaced_and_counted(make, play):
    env = make("Evict")
    _, reward, terminated, truncated, info = play(env, illegal, options={"module": NODE})[-1]
    assert (terminated, truncated) == (True, False)
    assert info["illegal_actions"] == info["decisions"] > 0
    assert -1 <= reward <= 1
    with pytest.raises(ValueError, match="33 is no decision; there are 0 to 32"):
        make("Evict").check(33)


def test_the_rest_is_llvms_after_so_many_decisions(make, play):
    env = make("Evict", max_decisions=2)
    steps = play(env, legal, options={"module": NODE})
    assert len(steps) == 1 + 2
    assert steps[-1][2:4] == (False, True)
    assert steps[-1][4]["cost"] > 0
