"""Ends that lie, stall or die. The other end survives and says why."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import struct
import termios
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from compiler_bridge import BridgeError, BridgeTimeout, CompilerInterface, Runner, TensorSpec

X = TensorSpec("x", "int64")
Y = TensorSpec("y", "int64")
HELLO = (
    b'{"serdes":"bitstream",'
    b'"features":[{"name":"x","type":"int64_t","shape":[1]}],'
    b'"decision":[{"name":"y","type":"int64_t","shape":[1]}]}'
)


@pytest.fixture(autouse=True)
def _warnings_only(caplog):
    caplog.set_level(logging.WARNING, "compiler_bridge")


@pytest.fixture
def expect_served(address):
    """A healthy compiler gets right answers from a peer that replies x + 1."""

    def check():
        with Runner(f"{address}?on_error=fail&connect=10s", [X], Y) as runner:
            for value in (41, -1000, 7):
                assert runner.evaluate({"x": value})["y"].item() == value + 1

    return check


@pytest.fixture
def warned(caplog, until):
    """Waits for so many warnings of sessions that ended; gives their texts."""

    def wait(count):
        until(lambda: len(caplog.records) >= count, f"no {count} warnings")
        for record in caplog.records:
            assert record.name == "compiler_bridge"
            assert record.levelno == logging.WARNING
            assert record.message.startswith("session ended: ")
        return [record.message for record in caplog.records]

    return wait


def plus_one(request):
    return request["x"][0] + 1


# Compilers that die


class PipeContent:
    """Looks at what waits in a FIFO."""

    def __init__(self, path):
        self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.close(self._file)

    def size(self):
        return struct.unpack("i", fcntl.ioctl(self._file, termios.FIONREAD, bytes(4)))[0]

    def is_full(self):
        # One byte less than a page may be left of the last one.
        return self.size() > fcntl.fcntl(self._file, fcntl.F_GETPIPE_SZ) - 4096


CONNECT = """
import fcntl, os, struct, sys
base = sys.argv[1]
lock = os.open(base + ".lock", os.O_RDWR)
fcntl.fcntl(lock, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 1, 1, 0))
assert os.pread(lock, 1, 2) == b"R"
write = os.open(base + ".out", os.O_WRONLY)
read = os.open(base + ".in", os.O_RDONLY | os.O_NONBLOCK)
os.pwrite(lock, b"B", 2)
print("connected", flush=True)
sys.stdin.read()
"""


@pytest.mark.pipe
def test_a_compiler_killed_before_its_hello(served, start, base, expect_served, caplog):
    peer = served(plus_one)
    process = start(CONNECT, base)
    assert process.line() == "connected"
    process.kill()
    expect_served()
    peer.wait_done()
    assert caplog.records == []  # nobody said anything, so nothing broke


@pytest.mark.pipe
def test_a_compiler_killed_before_its_welcome(
    address, base, compiler_process, until, asking, caplog
):
    with CompilerInterface(address) as compiler:
        process = compiler_process(address)
        with PipeContent(f"{base}.out") as content:
            until(lambda: content.size() > 64)
            process.kill()
        asked = asking([X], Y, [{"x": 1}], "?connect=10s")
        assert compiler.next(timeout=20)["x"].item() == 1
        assert compiler.reply(2) is True
        assert asked.result()[0]["y"].item() == 2
    assert caplog.records == []  # nothing was asked, so nothing broke


@pytest.mark.pipe
def test_a_compiler_killed_in_the_midst_of_a_request(
    address, base, compiler_process, until, asking, warned
):
    compiler = CompilerInterface(address)
    process = compiler_process(address)
    process.ask(5)
    first = compiler.next(timeout=20)
    assert first["x"].tolist() == [5]
    assert compiler.reply(6) is True
    assert [process.line(), process.line()] == ["open", "6"]
    with PipeContent(f"{base}.out") as content:
        process.ask(9, count=2_000_000)  # 16 MB, and nobody reads
        until(content.is_full)
        process.kill()
    end = compiler.next(timeout=20)
    assert end.done
    assert end.truncated
    assert end.reward is None
    assert end["x"].tolist() == [5]  # of the last whole question
    assert (end.session, end.runner) == (first.session, first.runner)
    assert compiler.reply(1) is False
    asked = asking([X], Y, [{"x": 1}], "?connect=10s")
    assert compiler.next(timeout=20)["x"].item() == 1
    assert compiler.reply(2) is True
    assert asked.result()[0]["y"].item() == 2
    (text,) = warned(1)
    assert "closed the connection after" in text
    assert "bytes of a message" in text
    compiler.close()


def test_a_compiler_killed_between_request_and_reply(
    address, compiler_process, served, expect_served, warned
):
    asked, killed = threading.Event(), threading.Event()

    def policy(request):
        if request["x"].tolist() == [99] and not request.done:
            asked.set()
            assert killed.wait(20)
        return request["x"][0] + 1

    peer = served(policy)
    process = compiler_process(address)
    process.ask(1)
    assert [process.line(), process.line()] == ["open", "2"]
    process.ask(99)
    assert asked.wait(20)
    process.kill()
    killed.set()
    end = peer.wait_done()
    assert end.truncated
    assert end["x"].tolist() == [99]
    expect_served()  # and does not get the answer that nobody fetched
    assert not peer.wait_done(2).truncated
    assert len(warned(1)) == 1


def test_compilers_that_queue_and_die(address, compiler_process, served, expect_served, warned):
    peer = served(plus_one)
    processes = [compiler_process(f"{address}?connect=20s&timeout=20s") for _ in range(4)]
    lines = {}

    def use_and_kill(process):
        process.ask(1)
        lines[process.pid] = [process.line(), process.line()]
        process.kill()

    threads = [threading.Thread(target=use_and_kill, args=[process]) for process in processes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert list(lines.values()) == [["open", "2"]] * 4
    expect_served()
    peer.wait_done(5)
    assert sum(request.truncated for request in peer.seen) == 4
    assert len(warned(4)) == 4


# Compilers that lie


def hello(wire, payload=HELLO, **fields):
    return wire.frame(wire.HELLO, payload, **fields)


def request(wire, payload=bytes(64), **fields):
    return wire.frame(wire.REQUEST, payload, **{"sequence": 1, **fields})


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(data, why, id=lie)
        for lie, data, why in [
            ("garbage", lambda w: b"GET / HTTP/1.0\r\n\r\n", "sends something that is no frame"),
            ("one byte of garbage", lambda w: b"x", "sends something that is no frame"),
            ("half a header", lambda w: hello(w)[:30], "closed .* after 30 bytes of a message"),
            ("half a payload", lambda w: hello(w)[:100], "closed .* after 100 bytes of a message"),
            ("another version", lambda w: hello(w, version=9), "version 9, expected 1"),
            ("an unknown kind", lambda w: w.frame(42), "unknown kind 42"),
            ("unknown flags", lambda w: hello(w, flags=64), "unknown flags"),
            ("reserved bytes", lambda w: w.header(w.HELLO)[:-1] + b"\1", "reserved bytes"),
            ("an endless hello", lambda w: w.header(w.HELLO, 2**62), f"announces {2**62} bytes"),
            ("no hello", lambda w: request(w), "does not start with a hello"),
            ("no JSON", lambda w: hello(w, b"{]"), "hello: JSON"),
            ("no decision", lambda w: hello(w, b'{"serdes":"json"}'), "hello: .*no decision"),
            (
                "an unknown serializer",
                lambda w: hello(w, HELLO.replace(b"bitstream", b"\xff\xfe")),
                "there is no serializer '\udcff\udcfe'",
            ),
        ]
    ],
)
def test_a_compiler_opens_with(data, why, wire, served, raw_compiler, expect_served, warned):
    peer = served(plus_one)
    liar = raw_compiler()
    liar.send(data(wire))
    if not why.startswith("closed"):
        warned(1)  # while it is still connected
    liar.close()
    expect_served()
    (text,) = warned(1)
    assert re.search(why, text)
    assert len(peer.wait(lambda seen: len(seen) == 4)) == 4  # only what the healthy one asked


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(data, why, id=lie)
        for lie, data, why in [
            ("half a header", lambda w: request(w)[:10], "closed .* after 10 bytes"),
            ("half a payload", lambda w: request(w)[:90], "closed .* after 90 bytes"),
            ("too little", lambda w: request(w, bytes(8)), "bitstream, 'x': needs 8 bytes"),
            ("too much", lambda w: request(w, bytes(128)), "has 128 bytes, its tensors 64"),
            ("nothing", lambda w: request(w, b""), "bitstream, 'x': needs 8 bytes"),
            ("the second number", lambda w: request(w, sequence=2), "request 2 after 0"),
            ("another session", lambda w: request(w, session=1), "a frame of another session"),
            (
                "a reward of NaN",
                lambda w: request(w, flags=w.HAS_REWARD, reward=float("nan")),
                "a reward that is not finite",
            ),
            ("a reply", lambda w: w.frame(w.REPLY, bytes(64)), "a frame of kind 4"),
            ("a second hello", lambda w: hello(w), "a frame of kind 1"),
            ("garbage", lambda w: bytes(64), "sends something that is no frame"),
        ]
    ],
)
def test_a_compiler_asks_with(data, why, wire, served, raw_compiler, expect_served, warned):
    peer = served(plus_one)
    liar = raw_compiler()
    liar.send(hello(wire))
    assert liar.receive_frame()[0].kind == wire.WELCOME
    liar.send(data(wire))
    if not why.startswith("closed"):
        # It is told why, and that this is the end.
        header, payload = liar.receive_frame()
        assert (header.kind, header.flags) == (wire.FAILURE, wire.ENDS_SESSION)
        assert re.search(why, payload.decode())
    liar.close()
    expect_served()
    (text,) = warned(1)
    assert re.search(why, text)
    assert len(peer.wait(lambda seen: len(seen) == 4)) == 4


def test_a_session_that_breaks_later_ends_its_episode(wire, served, raw_compiler, warned):
    peer = served(plus_one)
    liar = raw_compiler()
    liar.send(hello(wire))
    liar.receive_frame()
    liar.send(request(wire, wire.padded(struct.pack("<q", 5)), runner=7))
    assert liar.receive_frame()[1][:8] == struct.pack("<q", 6)
    liar.send(b"garbage")
    end = peer.wait_done()
    assert end.truncated
    assert end.runner == 7
    assert end["x"].item() == 5
    assert len(warned(1)) == 1


def test_names_that_are_no_text_can_be_served(wire, served, raw_compiler):
    name = "\udcff"
    served(lambda request: {name: request[next(iter(request))] + 1})
    odd = raw_compiler()
    odd.send(hello(wire, HELLO.replace(b'"x"', b'"\xff"').replace(b'"y"', b'"\xff"')))
    odd.receive_frame()
    odd.send(request(wire, wire.padded(struct.pack("<q", 5))))
    assert odd.receive_frame()[1][:8] == struct.pack("<q", 6)


# Peers that die or stall

PEER = """
import sys
from compiler_bridge import CompilerInterface
with CompilerInterface(sys.argv[1]) as compiler:
    print("ready", flush=True)
    compiler.next()
    print("asked", flush=True)
    sys.stdin.read()
"""


def test_a_peer_killed_while_it_is_waited_for(address, start, served):
    process = start(PEER, address)
    assert process.line() == "ready"
    times = []

    def kill():
        assert process.line() == "asked"
        process.kill()
        times.append(time.monotonic())

    killer = threading.Thread(target=kill)
    with Runner(f"{address}?timeout=20s", [X], Y) as runner:
        killer.start()
        with pytest.raises(BridgeError, match="closed the connection") as caught:
            runner.evaluate({"x": 1})
        known = time.monotonic()
        killer.join(20)
        assert known - times[0] < 2
        assert caught.value.code == "peer_closed"
        assert "peer_closed" in runner.why_not
        # From now on it is the pass's turn, at once.
        assert runner.evaluate_or({"x": 1}, lambda: "mine") == "mine"
        assert time.monotonic() - known < 2
    # What it left behind is in nobody's way.
    served(plus_one)
    with Runner(f"{address}?on_error=fail", [X], Y) as runner:
        assert runner.evaluate({"x": 1})["y"].item() == 2


def test_a_peer_that_never_answers(address, start):
    process = start(PEER, address)
    assert process.line() == "ready"
    with Runner(f"{address}?timeout=300ms", [X], Y) as runner:
        assert runner.why_not is None
        begin = time.monotonic()
        why = f"no answer from {address}.* within 300 ms"
        with pytest.raises(BridgeTimeout, match=why) as caught:
            runner.evaluate({"x": 1})
        took = time.monotonic() - begin
        assert 0.29 <= took < 1.3
        assert caught.value.code == "timeout"
        begin = time.monotonic()
        for _ in range(10):
            with pytest.raises(BridgeTimeout):
                runner.evaluate({"x": 1})
        assert time.monotonic() - begin < 0.25  # less than a single wait
        assert "timeout" in runner.why_not
        begin = time.monotonic()
    assert time.monotonic() - begin < 0.25


def test_a_peer_that_never_welcomes(raw_peer, address):
    begin = time.monotonic()
    with pytest.raises(BridgeTimeout, match="within 200 ms"):
        Runner(f"{address}?timeout=200ms&on_error=fail", [X], Y)
    assert 0.19 <= time.monotonic() - begin < 1.2


# Memory


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_does_not_grow_with_messages(address, served):
    peer = served(lambda request: request["x"] if not request.done else 0)
    peer.seen = type("Forgetful", (list,), {"append": lambda self, request: None})()
    values = np.arange(50_000, dtype=np.float32)  # 200 KB, in both directions
    big = TensorSpec("x", "float32", [50_000])
    with Runner(address, [big], TensorSpec("y", "float32", [50_000])) as runner:
        for _ in range(300):
            runner.evaluate({"x": values})
        before = resident()
        for _ in range(3_000):
            decision = runner.evaluate({"x": values})["y"]
        growth = resident() - before
        np.testing.assert_array_equal(decision, values)
    assert growth < 4 << 20, f"{growth >> 10} KB"
