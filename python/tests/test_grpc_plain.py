"""Compilers against a server of somebody else's, which has getAdvice and nothing more."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from compiler_bridge import BridgeError, BridgeTimeout, Runner, TensorSpec

EXAMPLE = Path(__file__).parents[2] / "examples" / "grpc_plain_server.py"
X = TensorSpec("x", "int64")
Y = TensorSpec("y", "int64")

# The example, but 13 makes it raise, 99 makes it hang, and the context says which process it is.
MOODY = """
import importlib.util, os, sys, threading
spec = importlib.util.spec_from_file_location("plain", sys.argv[1])
plain = importlib.util.module_from_spec(spec)
spec.loader.exec_module(plain)
class Moody(plain.Advisor):
    def getAdvice(self, observation, context):
        value = int.from_bytes(observation.tensors.tensor[0].data, "little", signed=True)
        if value == 13:
            raise ValueError("thirteen")
        if value == 99:
            threading.Event().wait()
        if observation.context == b"who":
            data = os.getpid().to_bytes(8, "little")
            advice = plain.protos.Advice()
            advice.tensors.tensor.add(type=plain.protos.INT64, shape=[1], data=data)
            return advice
        return super().getAdvice(observation, context)
plain.serve(sys.argv[2], Moody())
"""


@pytest.fixture
def serve(start):
    """`serve(address)` starts the server and waits until it serves."""

    def begin(address):
        server = start(MOODY, str(EXAMPLE), address)
        server.port = int(server.line())
        return server

    return begin


@pytest.fixture(params=["unix", "tcp"])
def place(request, tmp_path):
    """Where to serve, and the runner string for a port."""
    if request.param == "tcp":
        return "127.0.0.1:0", lambda port: f"127.0.0.1:{port}"
    path = tmp_path / "socket"
    return f"unix:{path}", lambda port: f"unix:{path}"


def open_runner(target, options=""):
    runner = Runner(f"grpc:{target}?mode=unary&on_error=fail{options}", [X], Y)
    assert runner.why_not is None
    return runner


def ask(runner, value):
    return runner.evaluate({"x": value})["y"].item()


def test_it_answers(serve, place):
    address, target = place
    server = serve(address)
    with open_runner(target(server.port)) as first, open_runner(target(server.port)) as second:
        assert [ask(first, 41), ask(second, -1), ask(first, 2**40)] == [42, 0, 2**40 + 1]
        first.switch_context("who")
        assert ask(first, 1) == server.pid
        first.reward(1.5)
        first.end_episode()
        assert ask(first, 1) == server.pid


def test_it_raises(serve, place):
    address, target = place
    server = serve(address)
    with open_runner(target(server.port)) as runner:
        assert ask(runner, 1) == 2
        for _ in range(3):
            with pytest.raises(BridgeError, match="thirteen") as error:
                ask(runner, 13)
            assert error.value.code == "peer_error"
            assert ask(runner, 5) == 6, "the next decision is asked again"


def test_it_is_killed_and_restarted(serve, place):
    address, target = place
    server = serve(address)
    with open_runner(target(server.port), "&timeout=20s") as runner:
        runner.switch_context("who")
        assert ask(runner, 1) == server.pid
        server.kill()
        with ThreadPoolExecutor() as compiling:
            decision = compiling.submit(ask, runner, 1)  # while nobody is there
            again = serve(address.replace(":0", f":{server.port}"))
            assert decision.result(20) == again.pid != server.pid


def test_it_is_killed_while_it_decides(serve, place, start):
    address, target = place
    server = serve(address)
    script = """
import sys
from compiler_bridge import Runner, TensorSpec
runner = Runner(sys.argv[1], [TensorSpec("x", "int64")], TensorSpec("y", "int64"))
print("open", runner.why_not, flush=True)
print(runner.evaluate({"x": 99})["y"].item(), flush=True)
"""
    compiler = start(script, f"grpc:{target(server.port)}?mode=unary&timeout=1s")
    assert compiler.line() == "open None"
    server.kill()
    code, _, err = compiler.finish()
    assert code == 1
    assert "BridgeTimeout" in err


def test_it_hangs(serve, place):
    address, target = place
    server = serve(address)
    with open_runner(target(server.port), "&timeout=300ms") as runner:
        assert ask(runner, 1) == 2
        began = time.monotonic()
        with pytest.raises(BridgeTimeout, match="no answer"):
            ask(runner, 99)
        assert 0.29 < time.monotonic() - began < 2


def test_it_is_gone_for_good(serve, place):
    address, target = place
    server = serve(address)
    with open_runner(target(server.port), "&timeout=500ms") as runner:
        assert ask(runner, 1) == 2
        server.kill()
        began = time.monotonic()
        with pytest.raises(BridgeTimeout, match="no answer"):
            ask(runner, 2)
        assert 0.45 < time.monotonic() - began < 3


def test_a_compiler_that_wants_a_stream_is_told(serve, place):
    address, target = place
    server = serve(address)
    with pytest.raises(BridgeError, match="mode=unary"):
        Runner(f"grpc:{target(server.port)}?on_error=fail", [X], Y)


def test_a_server_that_is_not_there(place):
    _, target = place
    with pytest.raises(BridgeError, match="nobody serves"):
        Runner(f"grpc:{target(1)}?mode=unary&on_error=fail", [X], Y)
