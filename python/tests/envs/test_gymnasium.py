"""The environments as gymnasium sees them."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode

from compiler_bridge.envs import CompileVectorEnv

MODULES = ["squeeze/matches.c.o", "shelf/node.c.o"]
MODES = ["sync", "async", "vector_entry_point"]


def name_of(kind):
    return f"compiler_bridge.envs:compiler_bridge/{kind}-v0"


def test_check_env_finds_nothing(corpus, kind):
    env = gymnasium.make(name_of(kind), corpus=str(corpus), modules=MODULES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)  # closes it


def vector(kind, corpus, mode, count=2, **options):
    return gymnasium.make_vec(
        name_of(kind),
        num_envs=count,
        vectorization_mode=mode,
        corpus=str(corpus),
        modules=MODULES,
        max_decisions=4,
        **options,
    )


def run(envs, steps):
    """Steps through several episodes of each, with legal decisions."""
    observations, infos = envs.reset(seed=5)
    seen = [(observations, infos["action_mask"], infos["module"].tolist())]
    random = np.random.default_rng(1)
    for _ in range(steps):
        legal = [random.choice(np.flatnonzero(mask)) for mask in infos["action_mask"]]
        observations, rewards, terminated, truncated, infos = envs.step(np.array(legal))
        seen.append((observations, rewards, terminated, truncated, infos["action_mask"]))
    return seen


def test_all_ways_to_have_several_give_the_same(corpus, kind):
    seen = {}
    for mode in MODES:
        envs = vector(kind, corpus, mode)
        try:
            seen[mode] = run(envs, 11)
        finally:
            envs.close()
    assert any(step[3].any() for step in seen["sync"][1:])
    for mode in MODES[1:]:
        assert data_equivalence(seen["sync"], seen[mode], exact=True), mode


def test_the_usual_way_is_ours(corpus):
    envs = vector("Inline", corpus, None)
    assert isinstance(envs, CompileVectorEnv)
    assert envs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    envs.reset(seed=1)
    with pytest.raises(ValueError, match="7 is no decision"):
        envs.step(np.array([1, 7]))
    assert [env._decisions for env in envs.envs] == [0, 0]  # none was sent
    envs.step(np.array([1, 0]))
    envs.close()


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, "SameStep"])
def test_resets_in_the_same_step(corpus, mode):
    envs = vector("Inline", corpus, "vector_entry_point", autoreset_mode=mode)
    assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    envs.reset(seed=1)
    for _ in range(4):
        *_, truncated, infos = envs.step(np.array([0, 0]))
    assert truncated.all()
    assert infos["final_info"]["decisions"].tolist() == [4, 4]
    envs.close()


def test_an_action_for_each(corpus):
    envs = vector("Inline", corpus, "vector_entry_point")
    envs.reset(seed=5)
    with pytest.raises(ValueError, match="1 actions for 2 environments"):
        envs.step(np.array([0]))
    envs.close()


def test_a_compiler_that_dies_ends_only_its_own_episode(corpus, kind, compiler_of, until):
    envs = vector(kind, corpus, "vector_entry_point")
    envs.reset(seed=5)
    compiler = compiler_of(envs.envs[0])
    os.kill(compiler, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{compiler}").exists())
    *_, truncated, infos = envs.step(np.array([0, 0]))
    assert truncated.tolist() == [True, False]
    assert "signal 9" in infos["failure"][0]
    *_, truncated, _ = envs.step(np.array([0, 0]))
    assert truncated.tolist() == [False, False]
    envs.close()


def test_what_was_not_used_yet_can_be_pickled(make, kind):
    env = make(kind)
    copy = pickle.loads(pickle.dumps(env))
    assert data_equivalence(copy.reset(seed=2), env.reset(seed=2), exact=True)
    copy.close()


def python(code, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )


def test_the_package_does_not_need_gymnasium():
    done = python("import compiler_bridge, sys; assert 'gymnasium' not in sys.modules")
    assert done.returncode == 0, done.stderr


def test_without_gymnasium_one_is_told():
    done = python("import sys; sys.modules['gymnasium'] = None; import compiler_bridge.envs")
    line = "ImportError: compiler_bridge.envs needs gymnasium: pip install 'compiler-bridge[gym]'"
    assert done.stderr.splitlines()[-1] == line


def test_a_program_that_forgets_to_close_ends(corpus, kind, tmp_path, until):
    code = (
        "import sys, tempfile; from compiler_bridge import envs\n"
        "env = getattr(envs, sys.argv[1])(sys.argv[2]); env.reset(seed=0)\n"
        "print(env._folder, env._worker._process.pid)"
    )
    done = python(code, f"{kind}Env", str(corpus), TMPDIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    folder, worker = done.stdout.split()
    assert not Path(folder).exists()
    assert list(tmp_path.iterdir()) == []
    until(lambda: not Path(f"/proc/{worker}").exists(), "the compiler is still there")
