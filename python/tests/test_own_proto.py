"""Messages of one's own .proto: the compiler is our Runner, the server is grpcio's."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import grpc_tools
import numpy as np
import pytest
from grpc_tools import protoc

from compiler_bridge import BridgeError, Runner, TensorSpec

EXAMPLE = Path(__file__).parents[2] / "examples/own-proto"

PROTO = """
syntax = "proto3";
package tests;
message Node { int64 size = 1; repeated float weights = 2; string name = 3; }
message Graph { repeated Node nodes = 1; bytes raw = 2; uint64 step = 3; optional double reward = 4;
                bool done = 5; string context = 6; }
message Choice { optional int64 node = 1; repeated double scores = 2; }
service Chooser {
  rpc choose(Graph) returns (Choice);
  rpc discuss(stream Graph) returns (stream Choice);
}
"""

INPUTS = [
    TensorSpec("size", "int64", [-1]),
    TensorSpec("weights", "float32", [-1, 3]),
    TensorSpec("name", "str", [-1]),
    TensorSpec("raw", "float64", [-1]),
]
OUTPUTS = [TensorSpec("node", "int64", []), TensorSpec("scores", "float64", [-1])]
QUESTION = {
    "size": [4, 9, 2],
    "weights": np.arange(9, dtype=np.float32).reshape(3, 3),
    "name": ["a", "é", ""],
    "raw": [0.5, -1.0],
}


def generate(file: Path, to: Path) -> Path:
    """Modules as grpcio-tools makes them; gives the descriptor set."""
    descriptor = to / f"{file.stem}.desc"
    include = Path(grpc_tools.__file__).parent / "_proto"
    failed = protoc.main(
        [
            "protoc",
            f"-I{file.parent}",
            f"-I{include}",
            f"--python_out={to}",
            f"--grpc_python_out={to}",
            "--include_imports",
            f"--descriptor_set_out={descriptor}",
            str(file),
        ]
    )
    assert not failed
    return descriptor


class Graphs:
    """A server of PROTO; `answer` makes a Choice of a Graph."""

    def __init__(self, folder: Path) -> None:
        file = folder / "graphs.proto"
        file.write_text(PROTO)
        self.descriptor = generate(file, folder)
        # The descriptor pool of this process knows the file by its name: load it once.
        if "graphs_pb2" not in sys.modules:
            sys.path.insert(0, str(folder))
            __import__("graphs_pb2_grpc")
            sys.path.pop(0)
        self.messages = sys.modules["graphs_pb2"]
        self.answer = self.good_answer
        self.seen: list = []
        self.metadata: list[dict] = []  # of each call
        self.server: grpc.Server | None = None
        self.port = 0

    def good_answer(self, graph):
        if graph.done:
            return self.messages.Choice()
        return self.messages.Choice(
            node=int(np.argmax([node.size for node in graph.nodes])),
            scores=[sum(node.weights) for node in graph.nodes],
        )

    def start(self, credentials: grpc.ServerCredentials | None = None) -> None:
        services = sys.modules["graphs_pb2_grpc"]
        outer = self

        class Chooser(services.ChooserServicer):
            def choose(self, request, context):
                outer.metadata.append(dict(context.invocation_metadata()))
                outer.seen.append(request)
                return outer.answer(request)

            def discuss(self, requests, context):
                outer.metadata.append(dict(context.invocation_metadata()))
                for request in requests:
                    outer.seen.append(request)
                    yield outer.answer(request)

        self.server = grpc.server(ThreadPoolExecutor())
        services.add_ChooserServicer_to_server(Chooser(), self.server)
        place = f"127.0.0.1:{self.port}"
        if credentials is None:
            self.port = self.server.add_insecure_port(place)
        else:
            self.port = self.server.add_secure_port(place, credentials)
        self.server.start()

    def stop(self) -> None:
        if self.server is not None:
            self.server.stop(None).wait()
            self.server = None

    def runner(self, method: str, options: str = "") -> Runner:
        address = f"grpc:127.0.0.1:{self.port}?on_error=fail&proto={self.descriptor}"
        return Runner(f"{address}&method={method}{options}", INPUTS, OUTPUTS)


@pytest.fixture
def graphs(tmp_path):
    made = Graphs(tmp_path)
    made.start()
    yield made
    made.stop()


@pytest.fixture(params=["choose", "discuss"])
def method(request):
    return request.param


@pytest.fixture
def certificate(tmp_path):
    """`peer.key` and `peer.pem` for 127.0.0.1, its own authority."""
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    where = "-keyout peer.key -out peer.pem -subj /CN=peer -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(f"{make} {where}".split(), cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def test_a_server_may_want_tls_and_a_token(tmp_path, certificate, method):
    graphs = Graphs(tmp_path)
    pair = ((certificate / "peer.key").read_bytes(), (certificate / "peer.pem").read_bytes())
    graphs.start(grpc.ssl_server_credentials([pair]))
    (tmp_path / "token").write_text("s3cret\n")
    try:
        options = f"&tls_ca={certificate}/peer.pem&token_file={tmp_path}/token"
        with graphs.runner(method, options) as runner:
            assert runner.evaluate(QUESTION)["node"] == 1
        with (
            pytest.raises(BridgeError, match=r"127\.0\.0\.1"),
            graphs.runner(method, "&timeout=2s") as runner,
        ):
            runner.evaluate(QUESTION)  # in the clear
        assert {each.get("authorization") for each in graphs.metadata} == {"Bearer s3cret"}
    finally:
        graphs.stop()


def test_a_server_is_asked_by_its_own_proto(graphs, method):
    with graphs.runner(method) as runner:
        for _ in range(3):
            decision = runner.evaluate(QUESTION)
            assert decision["node"] == 1
            assert decision["scores"].tolist() == [3, 12, 21]
    graph = graphs.seen[0]
    assert [node.name for node in graph.nodes] == ["a", "é", ""]
    assert list(graph.nodes[2].weights) == [6, 7, 8]
    assert np.frombuffer(graph.raw).tolist() == [0.5, -1]
    assert [graph.step for graph in graphs.seen[:3]] == [1, 2, 3]


def test_rewards_contexts_and_ends_are_told(graphs, method):
    with graphs.runner(method) as runner:
        runner.switch_context("fib")
        runner.evaluate(QUESTION)
        runner.reward(0.5)
        runner.evaluate(QUESTION)
        runner.reward(-1)
        runner.end_episode()
        first, second, end = graphs.seen
        assert first.context == "fib"
        assert not first.HasField("reward")
        assert (second.reward, second.done) == (0.5, False)
        assert (end.reward, end.done, len(end.nodes)) == (-1, True, 0)


def test_a_server_that_raises_fails_one_decision(graphs, method):
    def bad(graph):
        raise ValueError("no such graph")

    with graphs.runner(method) as runner:
        assert runner.evaluate(QUESTION)["node"] == 1
        graphs.answer = bad
        with pytest.raises(BridgeError, match="no such graph"):
            runner.evaluate(QUESTION)
        graphs.answer = graphs.good_answer
        assert runner.evaluate(QUESTION)["node"] == 1


def test_a_reply_without_a_decision_fails_one_decision(graphs, method):
    with graphs.runner(method) as runner:
        graphs.answer = lambda graph: graphs.messages.Choice(scores=[1])
        with pytest.raises(BridgeError, match="the reply has no 'node'"):
            runner.evaluate(QUESTION)
        graphs.answer = graphs.good_answer
        assert runner.evaluate(QUESTION)["node"] == 1


def test_a_server_that_restarts_is_found_again(graphs):
    with graphs.runner("choose", "&timeout=20s") as runner:
        assert runner.evaluate(QUESTION)["node"] == 1
        graphs.stop()
        asking = ThreadPoolExecutor(1).submit(runner.evaluate, QUESTION)
        graphs.start()
        assert asking.result(30)["node"] == 1


def test_a_server_that_hangs_costs_the_timeout(graphs, method):
    go_on = threading.Event()
    try:
        graphs.answer = lambda graph: go_on.wait(30) and graphs.messages.Choice()
        runner = graphs.runner(method, "&timeout=300ms")
        with runner, pytest.raises(BridgeError, match="within 300 ms"):
            runner.evaluate(QUESTION)
    finally:
        go_on.set()


def test_a_signature_that_does_not_fit_is_told_at_once(graphs):
    address = f"grpc:127.0.0.1:{graphs.port}?on_error=fail&method=choose&proto={graphs.descriptor}"
    with pytest.raises(BridgeError, match=r"input 'depth': tests\.Graph has no field of that name"):
        Runner(address, [TensorSpec("depth", "int64")], OUTPUTS)
    with pytest.raises(BridgeError, match="the field would need to be int32"):
        Runner(address, INPUTS, TensorSpec("node", "int32"))


def test_the_example(tmp_path):
    """With modules of grpcio-tools; tests/install runs it with those of protoc."""
    descriptor = generate(EXAMPLE / "inline.proto", tmp_path)
    server = subprocess.Popen(
        [sys.executable, str(EXAMPLE / "server.py"), "127.0.0.1:0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(tmp_path)},
        text=True,
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        inputs = [
            TensorSpec("callee.instructions", "int64", []),
            TensorSpec("is_constant", "bool", [-1]),
            TensorSpec("loop_depth", "int32", []),
        ]
        address = f"grpc:127.0.0.1:{port}?on_error=fail&proto={descriptor}"
        with Runner(address, inputs, TensorSpec("should_inline", "bool", [])) as runner:
            for size, inline in ((10, True), (45, True), (200, False)):
                question = {
                    "callee.instructions": size,
                    "is_constant": [True, False],
                    "loop_depth": 1,
                }
                assert runner.evaluate(question)["should_inline"] == inline
    finally:
        server.communicate(timeout=20)
