"""Shared memory: views of the compiler's memory, sockets and their names, many at once."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import socket
import stat
import threading
from pathlib import Path

import numpy as np
import pytest

from compiler_bridge import BridgeError, CompilerInterface, Runner, TensorSpec

pytestmark = pytest.mark.shm

X = TensorSpec("x", "int64")
Y = TensorSpec("y", "int64")


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    """Where sockets are whose names are no paths."""
    folder = tmp_path / "runtime"
    monkeypatch.setenv("CBRIDGE_RUNTIME_DIR", str(folder))
    return folder


# Views of the compiler's memory

VIEWED = [
    TensorSpec("vector", "float32", [100]),
    TensorSpec("scalar", "int16", []),
    TensorSpec("dynamic", "int64", [-1, 2]),
    TensorSpec("nothing", "int64", [0]),
    TensorSpec("bool", "bool", [4]),  # checked, and so copied
    TensorSpec("text", str),
]
QUESTION = {
    "vector": np.arange(100),
    "scalar": 7,
    "dynamic": [[1, 2], [3, 4], [5, 6]],
    "nothing": [],
    "bool": [True, False, True, True],
    "text": "é",
}


@pytest.mark.parametrize("serdes", ["bitstream", "json"])
@pytest.mark.parametrize("scheme", ["shm", "pipe"])
def test_views_are_read_only(base, asking, serdes, scheme):
    """Writing to the compiler's memory would end the process."""
    with CompilerInterface(f"{scheme}:{base}", sessions=1, copy=False) as compiler:
        asking(VIEWED, Y, [QUESTION], f"?serdes={serdes}", address=f"{scheme}:{base}")
        request = compiler.next(timeout=20)
        for array in [request["vector"], request.get("scalar"), *request.values()[:5]]:
            assert not array.flags.writeable
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 1
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.flags.writeable = True
        for spec in VIEWED[:-1]:
            assert request[spec.name].dtype == np.dtype(spec.dtype)
            np.testing.assert_array_equal(
                request[spec.name], np.asarray(QUESTION[spec.name], spec.dtype)
            )
        assert request["text"] == ["é"]
        own = request["vector"].copy()
        compiler.reply(1)
        end = compiler.next(timeout=20)
        assert end.done
        assert not end["vector"].flags.writeable
    own += 1


def test_copies_are_ours_to_write(address, asking):
    with CompilerInterface(address, sessions=1) as compiler:
        asked = asking(VIEWED, Y, [QUESTION, QUESTION])
        first = compiler.next(timeout=20)
        first["vector"][:] = -1
        first["dynamic"][1, 1] = 99
        compiler.reply(1)
        assert compiler.next(timeout=20)["vector"].tolist() == list(range(100))
        compiler.reply(2)
        assert first["vector"].tolist() == [-1] * 100
        assert first["dynamic"].tolist() == [[1, 2], [3, 99], [5, 6]]
    assert [answer["y"].item() for answer in asked.result()] == [1, 2]


def test_views_share_the_compilers_memory(address, served):
    """That is what copy=False is for; what they show is only valid until the reply."""
    views = []

    def keep(request):
        if not request.done:
            views.append(request["x"])
            assert (views[-1] == len(views)).all()
        return 0

    served(keep, copy=False)
    with Runner(address, [TensorSpec("x", "float64", [1000])], Y) as runner:
        for i in range(1, 20):
            runner.evaluate({"x": np.full(1000, i)})
        assert len({view.ctypes.data for view in views}) == 1


HOLDING = """
import gc, sys
from compiler_bridge import CompilerInterface
compiler = CompilerInterface(sys.argv[1], copy=False)
print("ready", flush=True)
request = compiler.next()
array, part = request["x"], request["x"][1::3]
expected = array.copy()
print("asked", flush=True)
sys.stdin.readline()  # the compiler is killed
assert (array == expected).all()
compiler.reply(1)
end = compiler.next(timeout=10)
assert end.done and end.truncated
assert (array == expected).all() and (end["x"] == expected).all()
compiler.close()
del compiler, request, end
gc.collect()
assert (array == expected).all()
del array
gc.collect()
print(part.sum() == expected[1::3].sum(), flush=True)
"""


def test_views_outlive_the_compiler_and_the_interface(address, start, compiler_process):
    process = start(HOLDING, address)
    assert process.line() == "ready"
    compiler = compiler_process(f"{address}?timeout=20s")
    compiler.ask(5, count=1_000_000)
    assert process.line() == "asked"
    compiler.kill()
    process.tell("killed")
    assert process.finish() == (
        0,
        "True\n",
        f"session ended: peer_closed: the compiler at {address} closed the connection\n",
    )


def test_views_do_not_keep_memory_forever(address, served):
    peer = served(lambda request: request["x"].size, copy=False)

    def mapped():
        return Path("/proc/self/maps").read_text().count("memfd:compiler-bridge")

    gc.collect()
    before = mapped()
    for _ in range(20):
        with Runner(address, [TensorSpec("x", "float64", [1000])], Y) as runner:
            runner.evaluate({"x": np.zeros(1000)})
    peer.wait_done(20)
    peer.close()
    peer.seen.clear()
    gc.collect()
    assert mapped() <= before


# Names and sockets


def test_a_name_is_a_socket_in_the_runtime_directory(runtime, served, compiler_process):
    served(lambda request: request["x"][0] + 1, address="shm:a name.1")
    assert stat.S_IMODE(runtime.stat().st_mode) == 0o700
    modes = {file.name: file.stat().st_mode for file in runtime.iterdir()}
    assert set(modes) == {"a name.1", "a name.1.lock"}
    assert stat.S_ISSOCK(modes["a name.1"])
    assert {stat.S_IMODE(mode) for mode in modes.values()} == {0o600}
    process = compiler_process("shm:a%20name.1")
    process.ask(4)
    assert [process.line(), process.line()] == ["open", "5"]
    with pytest.raises(BridgeError, match=r"another peer serves shm:a name\.1"):
        CompilerInterface("shm:a name.1")


def test_a_runtime_directory_must_be_private(runtime):
    runtime.mkdir(mode=0o755)
    for attempt in (
        lambda: CompilerInterface("shm:x"),
        lambda: Runner("shm:x?on_error=fail", [X], Y),
    ):
        with pytest.raises(BridgeError, match="is not a private directory of this user") as caught:
            attempt()
        assert caught.value.code == "io"
    assert list(runtime.iterdir()) == []
    runtime.chmod(0o700)
    CompilerInterface("shm:x").close()
    runtime.rmdir()
    runtime.symlink_to(runtime.parent)
    with pytest.raises(BridgeError, match="is not a private directory"):
        CompilerInterface("shm:x")


def test_without_a_runtime_directory_there_is_one_of_the_user(monkeypatch):
    monkeypatch.delenv("CBRIDGE_RUNTIME_DIR", raising=False)
    name = f"test-{os.getpid()}"
    folder = Path(f"/tmp/cbridge-{os.geteuid()}")
    with CompilerInterface(f"shm:{name}"):
        assert (folder / name).is_socket()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not (folder / name).exists()
    assert not (folder / f"{name}.lock").exists()


def test_a_path_may_be_longer_than_a_socket_address(tmp_path, served):
    folder = tmp_path / ("long" * 40) / ("longer" * 30)
    folder.mkdir(parents=True)
    path = folder / "socket"
    assert len(str(path)) > 300
    served(lambda request: request["x"], address=f"shm:{path}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with Runner(f"shm:{path}?on_error=fail", [X], Y) as runner:
        assert runner.evaluate({"x": 3})["y"].item() == 3
    with pytest.raises(ValueError, match="the name is too long for a socket"):
        CompilerInterface(f"shm:{tmp_path}/{'x' * 120}")
    assert [each.name for each in tmp_path.iterdir()] == ["long" * 40]


def test_relative_paths(tmp_path, monkeypatch, served):
    monkeypatch.chdir(tmp_path)
    served(lambda request: request["x"], address="shm:./socket")
    with Runner("shm:./socket?on_error=fail", [X], Y) as runner:
        assert runner.evaluate({"x": 3})["y"].item() == 3


PEER = """
import sys
from compiler_bridge import CompilerInterface
compiler = CompilerInterface(sys.argv[1])
print("ready", flush=True)
for request in compiler:
    compiler.reply(request["x"])
"""


def test_the_socket_of_a_killed_peer_is_taken_over(address, base, start, served):
    process = start(PEER, address)
    assert process.line() == "ready"
    process.kill()
    assert Path(base).is_socket()
    why = Runner(address, [X], Y).why_not
    assert why.startswith(f"unavailable: nobody serves {address} (its peer is gone)")
    served(lambda request: request["x"])
    with Runner(f"{address}?on_error=fail", [X], Y) as runner:
        assert runner.evaluate({"x": 3})["y"].item() == 3


def test_what_is_no_socket_stays(tmp_path, address, base):
    Path(base).write_text("precious")
    with pytest.raises(BridgeError, match="is in the way and is not a socket"):
        CompilerInterface(address)
    assert Path(base).read_text() == "precious"
    assert [file.name for file in tmp_path.iterdir()] == ["base"]
    with pytest.raises(BridgeError, match="No such file or directory"):
        CompilerInterface(f"shm:{tmp_path}/missing/socket")


# Strangers at the socket


@pytest.mark.parametrize("data", [b"", b"x", b"GET / HTTP/1.0\r\n\r\n", bytes(64), bytes(100_000)])
def test_strangers_do_no_harm(address, base, served, data):
    served(lambda request: request["x"])
    with contextlib.ExitStack() as stay:
        for _ in range(5):
            stranger = stay.enter_context(socket.socket(socket.AF_UNIX))
            stranger.settimeout(20)
            stranger.connect(base)
            with contextlib.suppress(ConnectionError):
                stranger.sendall(data)
        with Runner(f"{address}?on_error=fail", [X], Y) as runner:
            for value in range(20):
                assert runner.evaluate({"x": value})["y"].item() == value


def test_a_hello_without_memory_is_refused(address, base, served, wire, caplog, until):
    served(lambda request: request["x"])
    hello = (
        b'{"serdes":"bitstream","features":[{"name":"x","type":"int64_t","shape":[1]}],'
        b'"decision":[{"name":"y","type":"int64_t","shape":[1]}]}'
    )
    with socket.socket(socket.AF_UNIX) as liar:
        liar.connect(base)
        liar.sendall(wire.frame(wire.HELLO, hello))
        until(lambda: caplog.records)
    assert "sends no segment" in caplog.records[0].message
    # A file that could be cut while it is read would end this process.
    path = Path(base).with_name("file")
    path.write_bytes(bytes(1 << 20))
    with socket.socket(socket.AF_UNIX) as liar, path.open("r+b") as file:
        liar.connect(base)
        socket.send_fds(liar, [wire.frame(wire.HELLO, hello)], [file.fileno()])
        until(lambda: len(caplog.records) == 2)
    assert "shared memory: " in caplog.records[1].message
    with Runner(f"{address}?on_error=fail", [X], Y) as runner:
        assert runner.evaluate({"x": 3})["y"].item() == 3


# Many at once


@pytest.mark.parametrize("copy", [True, False])
def test_sessions_are_served_beside_each_other(address, served, copy):
    peer = served(lambda request: request["x"] + 1, copy=copy)
    with contextlib.ExitStack() as stack:
        runners = [
            stack.enter_context(Runner(f"{address}?on_error=fail", [X], Y)) for _ in range(6)
        ]
        # Some are idle while others ask.
        for step in range(60):
            which = step * 7 % 5
            assert runners[which].evaluate({"x": step})["y"].item() == step + 1
        assert runners[5].evaluate({"x": 100})["y"].item() == 101
    peer.wait_done(6)
    assert len({request.session for request in peer.seen}) == 6
    assert {request.worker for request in peer.seen} == {0}


@pytest.mark.parametrize("copy", [True, False])
def test_each_session_gets_its_own_answers(address, served, copy):
    served(lambda request: request["x"].sum() + request["d"].sum(), copy=copy)
    inputs = [TensorSpec("x", "int64", [50]), TensorSpec("d", "int32", [-1])]
    wrong = []

    def compile_one(worker):
        with Runner(f"{address}?on_error=fail&timeout=20s", inputs, Y) as runner:
            for i in range(150):
                value = worker * 1000 + i
                x, d = np.full(50, value), np.full(i % 30, worker)
                answer = runner.evaluate({"x": x, "d": d})["y"].item()
                if answer != 50 * value + (i % 30) * worker:
                    wrong.append((worker, i, answer))

    threads = [threading.Thread(target=compile_one, args=[worker]) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert wrong == []


def test_an_exception_reaches_all_that_wait(address, crew):
    asking = threading.Barrier(4)

    def ask(runner):
        asking.wait(20)
        return runner.evaluate({"x": 1})

    def serve(compiler):
        with compiler:
            crew.open(compiler, *[(address, [X], Y, [ask])] * 3)
            crew.go()
            asking.wait(20)
            compiler.next(timeout=20)
            threading.Event().wait(0.3)  # far more than the others need to ask
            raise ZeroDivisionError("division by zero")

    with pytest.raises(ZeroDivisionError):
        serve(CompilerInterface(address))
    for (error,) in crew.results():
        assert error.code == "peer_error"
        assert str(error).endswith(": ZeroDivisionError: division by zero")


BUSY = """
import sys
from compiler_bridge import Runner, TensorSpec
worker, count = int(sys.argv[2]), int(sys.argv[3])
inputs, output = [TensorSpec("x", "int64", [-1])], TensorSpec("y", "int64", [-1])
with Runner(sys.argv[1] + "?on_error=fail&timeout=20s", inputs, output) as runner:
    i = 0
    while count < 0 or i < count:
        x = [worker, i] * (i * 37 % 100 + 1)
        assert runner.evaluate({"x": x})["y"].tolist() == x, (worker, i)
        i += 1
        if i == 20:
            print("busy", flush=True)
print("right", flush=True)
"""


@pytest.mark.parametrize("copy", [True, False])
def test_compilers_killed_at_any_moment_do_not_disturb_others(address, served, start, copy):
    """Some ask until they are killed; the others get all their answers."""
    peer = served(lambda request: request["x"], copy=copy)
    victims = [start(BUSY, address, str(worker), "-1") for worker in range(3)]
    others = [start(BUSY, address, str(worker), "800") for worker in range(3, 6)]
    chance = random.Random(5)
    pause = threading.Event()
    for victim in victims:
        assert victim.line() == "busy"
        pause.wait(chance.random() / 100)
        victim.kill()
    for other in others:
        assert other.finish() == (0, "busy\nright\n", "")
    peer.wait_done(6)
    ends = {request.session: request for request in peer.seen if request.done}
    assert sorted(end["x"].tolist()[0] for end in ends.values() if not end.truncated) == [3, 4, 5]
    assert sum(end.truncated for end in ends.values()) == 3
