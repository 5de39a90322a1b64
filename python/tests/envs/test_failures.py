"""Compilers that crash, hang, or are killed end an episode, never the training."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from pathlib import Path

import pytest
from gymnasium.utils.env_checker import data_equivalence

from compiler_bridge.envs import EpisodeError

NODE = "shelf/node.c.o"


def is_there(pid):
    return Path(f"/proc/{pid}").exists()


def worker_of(env):
    return env._worker._process.pid


def first_legal(info):
    return int(info["action_mask"].argmax())


def until_it_ends(env, info):
    """The last step; a compiler to which something was done may have asked before that."""
    for _ in range(100):
        step = env.step(first_legal(info))
        if step[2] or step[3]:
            return step
        info = step[4]
    raise AssertionError("it goes on")


def check_truncated(step, why):
    _, reward, terminated, truncated, info = step
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert why in info["failure"]
    assert info["module"] == NODE


@pytest.mark.parametrize("by", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_crash_ends_the_episode(make, kind, by, compiler_of, until):
    env = make(kind)
    first = env.reset(options={"module": NODE})
    compiler = compiler_of(env)

    def is_gone():  # LLVM outlives the first signal that is not its own fault
        with contextlib.suppress(ProcessLookupError):
            os.kill(compiler, by)
        return not is_there(compiler)

    until(is_gone)
    check_truncated(env.step(first_legal(first[1])), f"signal {by.value}")
    assert data_equivalence(first, env.reset(options={"module": NODE}), exact=True)


def test_a_compiler_that_hangs(make, kind, compiler_of, until):
    env = make(kind, timeout=100.0)
    first = env.reset(options={"module": NODE})
    compiler = compiler_of(env)
    os.kill(compiler, signal.SIGSTOP)
    env._episode._left = 0.2  # of the 100 s
    check_truncated(until_it_ends(env, first[1]), "took longer than 100 s")
    until(lambda: not is_there(compiler), "it still hangs")
    assert data_equivalence(first, env.reset(options={"module": NODE}), exact=True)


def test_a_worker_that_is_killed(make, kind):
    env = make(kind)
    first = env.reset(options={"module": NODE})
    channel = env._channel
    os.kill(worker_of(env), signal.SIGKILL)
    check_truncated(until_it_ends(env, first[1]), "the compile worker ended")
    # Where its compiler, which may live on for a moment, asks, no other does.
    assert env._channel is not channel
    assert data_equivalence(first, env.reset(options={"module": NODE}), exact=True)


def test_a_worker_that_dies_between_episodes(make, kind):
    env = make(kind, max_decisions=1)
    first = env.reset(options={"module": NODE})
    env.step(first_legal(first[1]))
    os.kill(worker_of(env), signal.SIGKILL)
    assert data_equivalence(first, env.reset(options={"module": NODE}), exact=True)


@pytest.mark.parametrize("who", ["compiler", "worker"])
def test_another_episode_after_a_death_that_nobody_has_seen(make, kind, who, compiler_of, until):
    env = make(kind)
    first = env.reset(options={"module": NODE})
    os.kill(compiler_of(env) if who == "compiler" else worker_of(env), signal.SIGKILL)
    if kind == "Evict":
        until(lambda: not env._episode._thread.is_alive())
    assert data_equivalence(first, env.reset(options={"module": NODE}), exact=True)
    *_, terminated, truncated, _ = until_it_ends(env, first[1])
    assert (terminated, truncated) == (True, False)


def test_a_compile_that_takes_too_long_to_ask(make, kind):
    env = make(kind, timeout=1e-6)
    with pytest.raises(EpisodeError, match="took longer than 1e-06 s") as caught:
        env.reset(options={"module": NODE})
    assert caught.value.code == "compile_failed"


def test_modules_that_cannot_be_compiled(make, kind):
    env = make(kind, [NODE], arguments=["-mllvm", "-no-such-option"])
    with pytest.raises(EpisodeError, match="compile_failed"):
        env.reset(seed=0)


def test_modules_that_cannot_be_compiled_among_others(make, kind, monkeypatch):
    env = make(kind, ["squeeze/matches.c.o", NODE])
    usual, tried = env._task, []

    def task(module, asks):
        made = usual(module, asks)
        tried.append(module.name)
        good = module.name == NODE
        return made if good else type(made)(module, [*made.arguments, "-no-such-option"])

    monkeypatch.setattr(env, "_task", task)
    for seed in range(6):
        assert env.reset(seed=seed)[1]["module"] == NODE
    assert set(tried) == {"squeeze/matches.c.o", NODE}


def test_a_baseline_that_fails(make, kind, monkeypatch):
    env = make(kind, max_decisions=1)
    _, info = env.reset(options={"module": NODE})
    usual = env._task

    def task(module, asks):
        made = usual(module, asks)
        return made if asks else type(made)(module, [*made.arguments, "-no-such-option"])

    monkeypatch.setattr(env, "_task", task)
    check_truncated(env.step(first_legal(info)), "by LLVM's own heuristic: exit status 1")


@pytest.mark.parametrize("when", ["never", "asked", "over"])
def test_close_leaves_nothing(make, kind, when, children_of, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    threads, children = set(threading.enumerate()), children_of(os.getpid())
    env = make(kind, max_decisions=1)
    folder = None
    if when != "never":
        _, info = env.reset(options={"module": NODE})
        folder = env._folder
        assert folder.exists()
        assert set(children_of(os.getpid())) > set(children)
    if when == "over":
        env.step(first_legal(info))
    env.close()
    env.close()  # again does no harm
    assert set(threading.enumerate()) <= threads
    assert children_of(os.getpid()) == children
    assert list(tmp_path.iterdir()) == []
    assert folder is None or not folder.exists()


def test_options_that_are_not_there(make, kind):
    with pytest.raises(ValueError, match="there is no 'modul', but 'module'"):
        make(kind).reset(options={"modul": NODE})


def test_what_was_closed_can_be_used_again(make, kind):
    env = make(kind)
    first = env.reset(options={"module": NODE})
    env.close()
    assert data_equivalence(first, env.reset(options={"module": NODE}), exact=True)
