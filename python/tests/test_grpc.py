"""CompilerInterface, CompilerPool and Runner over gRPC, beside grpcio in the same process."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import numpy as np
import pytest

from compiler_bridge import BridgeError, CompilerInterface, CompilerPool, Runner, TensorSpec

X = TensorSpec("x", "int64")
Y = TensorSpec("y", "int64")


@pytest.fixture(params=["unix", "tcp"])
def address(request, tmp_path):
    return "grpc:127.0.0.1:0" if request.param == "tcp" else f"grpc:unix:{tmp_path}/peer"


@pytest.fixture(params=["stream", "unary"])
def mode(request):
    return f"?mode={request.param}"


@pytest.fixture
def token(tmp_path):
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    return f"token_file={file}"


@pytest.fixture(autouse=True)
def grpcio():
    """Python's own gRPC is at work meanwhile: another copy of the same library."""
    handler = grpc.method_handlers_generic_handler(
        "Echo", {"say": grpc.unary_unary_rpc_method_handler(lambda request, context: request)}
    )
    server = grpc.server(ThreadPoolExecutor())
    server.add_generic_rpc_handlers([handler])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as over:
        say = over.unary_unary("/Echo/say")
        assert say(b"before", timeout=20) == b"before"
        yield
        assert say(b"after", timeout=20) == b"after"
    server.stop(None).wait()


def ask(runner, value):
    return runner.evaluate({"x": value})["y"].item()


def test_a_compiler_is_answered(served, mode):
    peer = served(lambda request: request["x"] + 1)
    (address,) = peer.compiler.addresses
    with Runner(address + mode + "&on_error=fail", [X], Y) as runner:
        runner.switch_context("f")
        assert [ask(runner, 1), ask(runner, 2)] == [2, 3]
        runner.reward(0.5)
        runner.end_episode()
        last = peer.wait_done()
        assert (last.reward, last.truncated, last.context) == (0.5, False, "f")
        runner.switch_context("g")
        assert ask(runner, 7) == 8
    assert not peer.wait_done(2).truncated
    assert [request.context for request in peer.seen] == ["f", "f", "f", "g", "g"]


@pytest.mark.parametrize("serdes", ["protobuf", "bitstream", "json"])
def test_large_features(served, mode, serdes):
    peer = served(lambda request: request["x"][::-1])
    vector = TensorSpec("x", "float32", [-1])
    with Runner(
        f"{peer.compiler.addresses[0]}{mode}&serdes={serdes}",
        [vector],
        TensorSpec("y", "float32", [-1]),
    ) as runner:
        for size in (0, 1, 1000, 100_000):
            sent = np.arange(size, dtype=np.float32)
            assert np.array_equal(runner.evaluate({"x": sent})["y"], sent[::-1])


def test_a_killed_compiler_truncates_its_episode(served, compiler_process, mode):
    peer = served(lambda request: request["x"][0] + 1)
    (address,) = peer.compiler.addresses
    victim, other = compiler_process(address + mode), compiler_process(address + mode)
    for each in (victim, other):
        assert each.line() == "open"
        each.ask(1)
        assert each.line() == "2"
    victim.kill()
    assert peer.wait_done().truncated
    other.ask(5)
    assert other.line() == "6"


def test_a_peer_that_is_killed_is_an_error(start, mode, address):
    peer = start(
        """
import sys
from compiler_bridge import CompilerInterface
with CompilerInterface(sys.argv[1]) as compiler:
    print(compiler.addresses[0], flush=True)
    for request in compiler:
        compiler.reply(request["x"])
""",
        address,
    )
    with Runner(peer.line() + mode + "&on_error=fail", [X], Y) as runner:
        assert ask(runner, 4) == 4
        peer.kill()
        with pytest.raises(BridgeError, match="closed the connection"):
            ask(runner, 5)
        assert runner.why_not is not None


def test_a_token_for_everybody_who_can_connect(token, mode):
    with CompilerInterface(f"grpc:0.0.0.0:0?{token}") as peer:
        (address,) = peer.addresses
        assert address.startswith("grpc:0.0.0.0:")
        assert not address.endswith(":0")
        serving = threading.Thread(target=lambda: peer.reply(peer.next(timeout=20)["x"]))
        serving.start()
        with pytest.raises(BridgeError, match="refuses"):
            Runner(address + mode + "&on_error=fail", [X], Y)
        with Runner(f"{address}{mode}&on_error=fail&{token}", [X], Y) as runner:
            assert ask(runner, 6) == 6
        serving.join()
    with pytest.raises(ValueError, match="token_file="):
        CompilerInterface("grpc:0.0.0.0:0")


def test_a_pool_of_ports(crew, mode):
    with CompilerPool(["grpc:127.0.0.1:0"] * 3, linger=1000.0) as pool:
        assert len(set(pool.addresses)) == 3
        questions = [{"x": 1}, {"x": 2}]
        crew.open(pool, *[(address + mode, [X], Y, questions) for address in pool.addresses])
        crew.go()
        for value in (1, 2):
            batch = pool.next(timeout=20)
            assert sorted(batch.workers) == [0, 1, 2]
            assert batch["x"].tolist() == [[value]] * 3
            assert batch.reply(batch.workers * 10 + value) == 3
        answers = [[answer["y"].item() for answer in each] for each in crew.results()]
        assert answers == [[1, 2], [11, 12], [21, 22]]


def test_a_pool_makes_sockets(crew, mode):
    with CompilerPool(2, scheme="grpc", linger=1000.0) as pool:
        crew.open(pool, *[(address + mode, [X], Y, [{"x": 5}]) for address in pool.addresses])
        crew.go()
        batch = pool.next(timeout=20)
        assert batch.reply(batch["x"] + 1) == 2
        assert [each[0]["y"].item() for each in crew.results()] == [6, 6]


def test_many_compilers_at_one_port(crew, mode):
    with CompilerPool(["grpc:127.0.0.1:0"], linger=1000.0) as pool:
        jobs = [(pool.addresses[0] + mode, [X], Y, [{"x": i}]) for i in range(8)]
        crew.open(pool, *jobs)
        crew.go()
        batch = pool.next(timeout=20)
        assert sorted(batch["x"][:, 0].tolist()) == list(range(8))
        assert batch.reply(batch["x"] * 2) == 8
        assert [each[0]["y"].item() for each in crew.results()] == [2 * i for i in range(8)]


def test_a_killed_compiler_in_a_pool(compiler_process, mode):
    with CompilerPool(["grpc:127.0.0.1:0"] * 2) as pool:
        compilers = [compiler_process(address + mode) for address in pool.addresses]
        opening = threading.Thread(target=lambda: [each.line() for each in compilers])
        opening.start()
        answered = 0
        for each in compilers:
            each.ask(3)
        while answered < 2:
            batch = pool.next(timeout=20)
            answered += batch.reply([x[0] for x in batch["x"]]) if len(batch) else 0
        opening.join()
        compilers[0].kill()
        batch = pool.next(timeout=20)
        assert len(batch) == 0
        assert [(end.worker, end.truncated) for end in batch.ended] == [(0, True)]
