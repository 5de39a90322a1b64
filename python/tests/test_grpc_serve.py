"""Compilers that are gRPC servers (`role=server`), in processes of their own."""

from __future__ import annotations

import importlib.util
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import grpc
import pytest

from compiler_bridge import BridgeError, CompilerInterface, CompilerPool, Runner, TensorSpec

EXAMPLE = Path(__file__).parents[2] / "examples" / "grpc_trainer.py"
X = TensorSpec("x", "int64")
Y = TensorSpec("y", "int64")

COMPILER = """
import sys
from compiler_bridge import Runner, TensorSpec
address, episodes, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with Runner(address, [TensorSpec("x", "int64")], TensorSpec("y", "int64")) as runner:
    for episode in range(episodes):
        runner.switch_context(f"f{episode}")
        for x in range(steps):
            assert runner.evaluate({"x": x})["y"].item() == x + 1
            runner.reward(x / 2)
        runner.end_episode()
print("done")
"""


@pytest.fixture(scope="module")
def trainer():
    spec = importlib.util.spec_from_file_location("grpc_trainer", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Compiler:
    """A process that compiles, and the file in which it tells its address."""

    def __init__(self, file, episodes, steps):
        self.file = file
        address = f"grpc:127.0.0.1:0?role=server&timeout=20s&on_error=fail&announce={file}"
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMPILER, address, str(episodes), str(steps)],
            stdout=subprocess.PIPE,
            text=True,
        )

    def kill(self):
        self.process.kill()
        self.process.wait()

    def expect_done(self):
        assert self.process.communicate(timeout=20)[0] == "done\n"
        assert not self.file.exists()


@pytest.fixture
def compiler(tmp_path):
    started = []

    def start(episodes=1, steps=100, file=None):
        file = file or tmp_path / f"address{len(started)}"
        started.append(Compiler(file, episodes, steps))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.process.stdout.close()


@pytest.fixture
def announced(until):
    """HOST:PORT of a compiler, once it serves."""

    def wait(of):
        until(of.file.exists, "no address is announced")
        return re.fullmatch(r"grpc:(127\.0\.0\.1:\d+)\n", of.file.read_text())[1]

    return wait


def test_a_gym_in_plain_grpc(compiler, announced, trainer):
    running = compiler(episodes=2, steps=100)
    env = trainer.CompilerEnv(announced(running))
    for _ in range(2):
        x, reward, terminated, truncated = env.reset()
        seen, rewards = [], []
        while not (terminated or truncated):
            seen.append(x)
            x, reward, terminated, truncated = env.step(x + 1)
            rewards.append(reward)
        assert terminated
        assert seen == list(range(100))
        assert rewards == [x / 2 for x in range(100)]
    running.expect_done()


def test_the_first_observation_tells_the_signature(compiler, announced, trainer):
    stub = trainer.services.CompilerBridgeStub(grpc.insecure_channel(announced(compiler())))
    seen = stub.getObservation(trainer.protos.Action(), timeout=20)
    told = json.loads(seen.signature)
    assert told["features"] == [{"name": "x", "type": "int64_t", "shape": [1]}]
    assert told["decision"] == [{"name": "y", "type": "int64_t", "shape": [1]}]
    assert seen.context == b"f0"


def test_the_loop_of_a_peer_is_the_same_in_both_roles(compiler):
    running = compiler(episodes=2, steps=100)
    with CompilerInterface(f"grpc:?role=client&announce={running.file}", sessions=1) as peer:
        seen = []
        for request in peer:
            seen.append(request)
            if not request.done:
                peer.reply({"y": request["x"] + 1})
    running.expect_done()
    ends = [request for request in seen if request.done]
    assert [end.truncated for end in ends] == [False, False]
    assert [end.reward for end in ends] == [49.5, 49.5]
    assert [end.context for end in ends] == ["f0", "f1"]
    assert len(seen) == 202


def test_a_pool_of_compilers_that_are_servers(compiler, announced):
    running = [compiler(episodes=1, steps=50) for _ in range(4)]
    addresses = [f"grpc:{announced(each)}?role=client" for each in running]
    ends, rows = [], 0
    with CompilerPool(addresses, sessions=4) as pool:
        for batch in pool:
            ends += batch.ended
            rows += len(batch)
            if len(batch):
                batch.reply({"y": batch["x"] + 1})
    for each in running:
        each.expect_done()
    assert rows == 200
    assert [end.truncated for end in ends] == [False] * 4


def test_another_trainer_goes_on_where_one_was_killed(compiler, announced, trainer, until):
    running = compiler(episodes=1, steps=2000)
    address = announced(running)
    first = subprocess.Popen([sys.executable, EXAMPLE, address, "1"])
    channel = grpc.insecure_channel(address)
    stub = trainer.services.CompilerBridgeStub(channel)

    def refused():
        """The first is connected."""
        with pytest.raises(grpc.RpcError) as error:
            stub.getObservation(trainer.protos.Action(step=10**6), timeout=20)
        if error.value.code() == grpc.StatusCode.ABORTED:
            return True
        # A wrong step disturbs nobody, and the message tells how far the first is.
        return not error.value.details().endswith("expected 0")

    until(refused, "the first trainer does nothing")
    first.send_signal(signal.SIGKILL)
    first.wait()
    env = trainer.CompilerEnv(address)

    def resume():
        try:
            return env.reset()
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.ABORTED:
                raise
            return None  # it is not known yet that the first is gone

    x, _, terminated, truncated = until(resume)
    resumed_at = x
    while not (terminated or truncated):
        x, _, terminated, truncated = env.step(x + 1)
    assert terminated
    assert 0 <= resumed_at < 2000
    running.expect_done()
    channel.close()


def test_a_killed_compiler_is_unavailable(compiler, announced, trainer):
    running = compiler()
    env = trainer.CompilerEnv(announced(running))
    x, *_ = env.reset()
    running.kill()
    start = time.monotonic()
    with pytest.raises(grpc.RpcError) as error:
        env.step(x + 1)
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE
    assert time.monotonic() - start < 5


def test_a_killed_compiler_ends_its_episode_and_the_next_is_served(compiler, caplog):
    running = compiler()
    with CompilerInterface(f"grpc:?role=client&announce={running.file}") as peer:
        for _ in range(3):
            peer.reply({"y": peer.next(20)["x"] + 1})
        peer.next(20)
        running.kill()
        peer.reply({"y": 4})
        end = peer.next(20)
        assert end.done
        assert end.truncated
        # Its announcement is left behind until the next compiler replaces it.
        running = compiler(steps=3, file=running.file)
        for x in range(3):
            request = peer.next(20)
            assert request["x"].item() == x
            peer.reply({"y": x + 1})
        assert not peer.next(20).truncated
        running.expect_done()
    assert "closed the connection" in caplog.text


def test_a_trainer_that_raises_is_told_to_the_compiler(tmp_path):
    file = tmp_path / "address"
    with Runner(f"grpc:127.0.0.1:0?role=server&announce={file}", [X], Y) as runner:
        script = (
            "import sys; from compiler_bridge import CompilerInterface\n"
            "with CompilerInterface(sys.argv[1]) as peer:\n"
            "    for request in peer: raise ValueError('bad idea')\n"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", script, f"grpc:?role=client&announce={file}"],
            stderr=subprocess.DEVNULL,
        )
        try:
            with pytest.raises(BridgeError, match="bad idea"):
                runner.evaluate({"x": 1})
        finally:
            child.kill()
            child.wait()


def test_nobody_answers_in_time(tmp_path):
    address = f"grpc:127.0.0.1:0?role=server&timeout=200ms&announce={tmp_path}/address"
    with Runner(address, [X], Y) as runner:
        start = time.monotonic()
        assert runner.evaluate_or({"x": 1}, lambda: "heuristic") == "heuristic"
        assert 0.2 <= time.monotonic() - start < 0.4
        assert "within 200 ms" in runner.why_not
