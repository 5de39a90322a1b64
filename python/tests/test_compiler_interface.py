"""The model's end: requests in, decisions back."""

from __future__ import annotations

import gc
import os
import stat
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from compiler_bridge import BridgeError, BridgeTimeout, CompilerInterface, Runner, TensorSpec

X = TensorSpec("x", "int64")
Y = TensorSpec("y", "int64")
SERIALIZERS = ["bitstream", "json"]
EVERY_TYPE = {
    "bool": np.array([True, False, True]),
    "int8": np.array([-128, 0, 127], np.int8),
    "int16": np.array([-32768, 0, 32767], np.int16),
    "int32": np.array([-(2**31), 0, 2**31 - 1], np.int32),
    "int64": np.array([-(2**63), 0, 2**63 - 1], np.int64),
    "uint8": np.array([0, 1, 255], np.uint8),
    "uint16": np.array([0, 1, 65535], np.uint16),
    "uint32": np.array([0, 1, 2**32 - 1], np.uint32),
    "uint64": np.array([0, 1, 2**64 - 1], np.uint64),
    "float32": np.array([0.1, -0.0, np.inf], np.float32),
    "float64": np.array([0.1, 5e-324, np.nan], np.float64),
}


def values(answers):
    return [answer["y"].item() for answer in answers]


# Loops


def test_the_loop_need_not_look_at_done(address, asking):
    with CompilerInterface(address, sessions=1) as compiler:
        asked = asking([X], Y, [{"x": 1}, {"x": 2}, {"x": 3}])
        seen = []
        for request in compiler:
            seen.append((request["x"].item(), request.done))
            compiler.reply({"y": request["x"] + 1})
    assert values(asked.result()) == [2, 3, 4]
    assert seen == [(1, False), (2, False), (3, False), (3, True)]


def test_the_loop_of_evaluate_and_populate_buffer(address, asking):
    with CompilerInterface(address, sessions=1) as compiler:
        asked = asking([X], Y, [{"x": 1}, {"x": 2}])
        done = []
        while (request := compiler.evaluate(timeout=20)) is not None:
            compiler.populate_buffer({"y": request["x"] * 10})
            done.append(request.done)
        assert compiler.evaluate() is None  # and stays over
    assert values(asked.result()) == [10, 20]
    assert done == [False, False, True]


def test_a_bad_stored_reply_can_be_replaced(address, asking):
    with CompilerInterface(address, sessions=1) as compiler:
        asked = asking([X], Y, [{"x": 1}])
        assert compiler.evaluate(timeout=20)["x"].item() == 1
        compiler.populate_buffer({"y": 1.5})
        with pytest.raises(ValueError, match="decision 'y'"):
            compiler.evaluate(timeout=20)
        compiler.populate_buffer(7)
        assert compiler.evaluate(timeout=20).done
    assert values(asked.result()) == [7]


def test_sessions_end_the_loop(address, served, base):
    peer = served(lambda request: request["x"], sessions=2)
    for value in (1, 2):
        with Runner(f"{address}?connect=5s", [X], Y) as runner:
            assert runner.evaluate({"x": value})["y"].item() == value
    peer.join()
    sessions = [request.session for request in peer.seen if not request.done]
    assert len(set(sessions)) == 2
    # The files stay until close(), but nobody is served.
    assert peer.compiler.next(timeout=0) is None
    assert os.path.exists(f"{base}.lock")


def test_close_from_another_thread_ends_the_loop_promptly(address):
    compiler = CompilerInterface(address)
    waiting = threading.Event()
    ended = []

    def serve():
        waiting.set()
        ended.append(list(compiler))

    thread = threading.Thread(target=serve)
    thread.start()
    assert waiting.wait(20)
    with pytest.raises(BridgeTimeout):
        compiler.next(timeout=0.15)  # by now the other thread has waited, too
    begin = time.monotonic()
    compiler.close()
    thread.join(20)
    assert time.monotonic() - begin < 1
    assert ended == [[]]


def test_a_closed_interface_is_at_its_end(address):
    compiler = CompilerInterface(address)
    compiler.close()
    compiler.close()
    assert compiler.next() is None
    assert compiler.evaluate() is None
    assert list(compiler) == []
    assert compiler.reply(1) is False
    assert compiler.fail("late") is False
    assert compiler.address == address


def test_next_has_a_deadline(address):
    with CompilerInterface(address) as compiler:
        for wait in (0, 0.05, np.float32(0.05)):
            begin = time.monotonic()
            with pytest.raises(BridgeTimeout, match=f"no compiler at {address}") as caught:
                compiler.next(timeout=wait)
            assert wait * 0.9 <= time.monotonic() - begin < wait + 1
            assert caught.value.code == "timeout"
            assert isinstance(caught.value, TimeoutError)
        with pytest.raises(TypeError, match="real number"):
            compiler.next(timeout="soon")


def test_a_time_out_between_requests_does_no_harm(address):
    compiler = CompilerInterface(address)
    opened = threading.Event()
    ask = threading.Event()
    answers = []

    def run():
        with Runner(address, [X], Y) as runner:
            opened.set()
            assert ask.wait(20)
            answers.append(runner.evaluate({"x": 4})["y"].item())

    thread = threading.Thread(target=run)
    thread.start()
    while not opened.is_set():
        with pytest.raises(BridgeTimeout):
            compiler.next(timeout=0.05)
    with pytest.raises(BridgeTimeout, match=f"no .* from the compilers? at {address}"):
        compiler.next(timeout=0.05)  # in the midst of a session
    ask.set()
    assert compiler.next(timeout=20)["x"].item() == 4
    assert compiler.reply(5) is True
    thread.join(20)
    assert answers == [5]
    compiler.close()


# Requests


def test_a_request_is_a_mapping(address, asking):
    inputs = [TensorSpec("b", "int64"), TensorSpec("a", "float32", [2]), TensorSpec("s", str)]
    with CompilerInterface(address, sessions=1) as compiler:
        asking(inputs, [Y], [{"b": 1, "a": [2, 3], "s": "text"}])
        request = compiler.next(timeout=20)
        assert request.keys() == ["b", "a", "s"]  # in the compiler's order
        assert list(request) == ["b", "a", "s"]
        assert len(request) == 3
        assert "a" in request
        assert "c" not in request
        assert "a\0" not in request
        assert 1 not in request
        plain = dict(request)
        assert list(plain) == ["b", "a", "s"]
        assert plain["a"].tolist() == [2, 3]
        assert plain["s"] == ["text"]
        assert [name for name, _ in request.items()] == request.keys()
        assert [np.array(value).size for value in request.values()] == [1, 2, 1]
        assert request.get("a").tolist() == [2, 3]
        assert request.get("c") is None
        assert request.get("c", 7) == 7
        with pytest.raises(KeyError, match="no feature 'c'; the compiler sends b, a, s"):
            request["c"]
        with pytest.raises(TypeError, match="expected str, got int"):
            request[0]
        assert [TensorSpec.from_raw(raw) for raw in request._inputs] == inputs
        assert [TensorSpec.from_raw(raw) for raw in request._outputs] == [Y]
        compiler.reply(1)


@pytest.mark.parametrize("serdes", SERIALIZERS)
def test_features_of_every_type_arrive(address, asking, serdes):
    inputs = [TensorSpec(name, name, [3]) for name in EVERY_TYPE]
    inputs += [TensorSpec(f"dynamic {name}", name, [-1, 3]) for name in EVERY_TYPE]
    inputs += [TensorSpec("scalar", "int16", []), TensorSpec("none", "float64", [2, 0])]
    question = dict(EVERY_TYPE)
    for name, array in EVERY_TYPE.items():
        question[f"dynamic {name}"] = np.stack([array, array[::-1]])
    question["scalar"] = 5
    question["none"] = np.zeros((2, 0))
    with CompilerInterface(address, sessions=1) as compiler:
        asking(inputs, Y, [question], f"?serdes={serdes}")
        request = compiler.next(timeout=20)
        for spec in inputs:
            array = request[spec.name]
            expected = np.asarray(question[spec.name], spec.dtype)
            assert isinstance(array, np.ndarray)
            assert array.dtype == np.dtype(spec.dtype), spec
            assert array.shape == expected.shape, spec
            assert array.tobytes() == expected.tobytes(), spec
            assert array.ctypes.data % 64 == 0 or not array.size, spec
        compiler.reply(1)


@pytest.mark.parametrize("serdes", SERIALIZERS)
def test_arrays_stay_as_they_are(address, served, serdes):
    held = []

    def keep(request):
        held.append((request["x"], request["d"], request["s"], request["x"].copy()))
        return 0

    inputs = [
        TensorSpec("x", "int64", [100]),
        TensorSpec("d", "float32", [-1]),
        TensorSpec("s", str),
    ]
    peer = served(keep)
    with Runner(f"{address}?serdes={serdes}", inputs, Y) as runner:
        for i in range(200):
            size = (i * 37) % 500 + (20_000 if i % 50 == 7 else 0)
            runner.evaluate({"x": np.full(100, i), "d": np.full(size, i / 2), "s": f"text {i}"})
    peer.wait_done()
    peer.seen.clear()  # only the arrays hold the memory now
    peer.close()
    gc.collect()
    assert len(held) == 201
    for i, (x, d, s, copy) in enumerate(held):
        i = min(i, 199)  # the end of the episode repeats the last features
        size = (i * 37) % 500 + (20_000 if i % 50 == 7 else 0)
        assert x.tolist() == [i] * 100
        assert d.shape == (size,)
        assert (d == np.float32(i / 2)).all()
        assert s == [f"text {i}"]
        np.testing.assert_array_equal(x, copy)


def test_two_looks_at_a_feature_are_the_same_memory(address, asking):
    with CompilerInterface(address, sessions=1) as compiler:
        asking([X], Y, [{"x": 1}])
        request = compiler.next(timeout=20)
        assert np.shares_memory(request["x"], request["x"])
        compiler.reply(1)


def test_context_reward_and_the_end_of_an_episode(address, served):
    peer = served(lambda request: request["x"])
    with Runner(address, [X], Y) as runner:
        runner.evaluate({"x": 1})
        runner.switch_context("a.cpp")
        runner.reward(0.5)
        runner.evaluate({"x": 2})
        runner.evaluate({"x": 3})
        runner.reward(-1.25)
        runner.end_episode()
        runner.switch_context("b.cpp")
        runner.evaluate({"x": 4})
    peer.wait_done(2)
    told = [
        (r["x"].item(), r.context, r.reward, r.done, r.truncated)
        for r in peer.wait(lambda seen: len(seen) == 6)
    ]
    assert told == [
        (1, "", None, False, False),
        (2, "a.cpp", 0.5, False, False),
        (3, "a.cpp", None, False, False),
        (3, "a.cpp", -1.25, True, False),
        (4, "b.cpp", None, False, False),
        (4, "b.cpp", None, True, False),
    ]
    assert len({(r.session, r.runner) for r in peer.seen}) == 1
    assert peer.seen[0].session != 0


def test_an_episode_without_questions_is_not_told(address, served):
    peer = served(lambda request: request["x"])
    with Runner(address, [X], Y) as runner:
        runner.end_episode()
        runner.evaluate({"x": 1})
        runner.end_episode()
        runner.end_episode()
    peer.wait_done()
    with Runner(f"{address}?connect=5s", [X], Y) as runner:
        runner.evaluate({"x": 2})
    peer.wait_done(2)
    assert [(r["x"].item(), r.done) for r in peer.seen] == [
        (1, False),
        (1, True),
        (2, False),
        (2, True),
    ]
    assert peer.seen[0].session != peer.seen[2].session


# Expectations


@pytest.mark.parametrize(
    ("expects", "why"),
    [
        ({"inputs": [X, TensorSpec("w", "float32", [4])]}, r"feature 'w': peer wants float\[4\]"),
        ({"inputs": [TensorSpec("x", "int32")]}, "feature 'x': .*int32_t.*compiler sends int64_t"),
        ({"inputs": [TensorSpec("x", "int64", [2])]}, r"feature 'x': .*\[2\].*sends int64_t\[1\]"),
        ({"outputs": TensorSpec("z", "int64")}, "decision 'y': compiler wants int64_t.*nothing"),
        ({"outputs": [TensorSpec("y", "bool")]}, "decision 'y': .*int64_t.*peer gives bool"),
    ],
)
def test_a_compiler_that_does_not_fit_is_refused(address, served, caplog, until, expects, why):
    peer = served(lambda request: 1, **expects)
    with pytest.raises(BridgeError, match=f"{address} ended the session: {why}") as caught:
        Runner(f"{address}?on_error=fail", [X], Y)
    assert caught.value.code == "peer_closed"
    with Runner(f"{address}?connect=5s", [X], Y) as runner:  # the default is to fall back
        assert why.split("'")[1] in runner.why_not
        assert runner.evaluate_or({"x": 1}, lambda: "mine") == "mine"
    until(lambda: len(caplog.records) == 2)
    assert peer.seen == []


def test_a_compiler_may_send_more_than_is_expected(address, served):
    served(lambda request: request["x"], inputs=[X], outputs=Y)
    more = [TensorSpec("more", "bool"), X]
    with Runner(f"{address}?on_error=fail", more, Y) as runner:
        assert runner.evaluate({"x": 3})["y"].item() == 3


def test_messages_above_the_limit_are_refused(address, served, caplog, until):
    peer = served(lambda request: request["x"].size, max_message=4096)
    dynamic = TensorSpec("x", "int64", [-1])
    with Runner(address, [dynamic], Y) as runner:
        assert runner.evaluate({"x": [1, 2, 3]})["y"].item() == 3
        with pytest.raises(BridgeError):
            runner.evaluate({"x": np.zeros(1000)})
        assert runner.why_not is not None
    assert peer.wait_done().truncated
    until(lambda: any("the limit is 4096" in record.message for record in caplog.records))


# Addresses and files


FILES = {
    "pipe": {"base.in": stat.S_IFIFO, "base.out": stat.S_IFIFO, "base.lock": stat.S_IFREG},
    "shm": {"base": stat.S_IFSOCK, "base.lock": stat.S_IFREG},
}


def test_files_are_private_and_removed(address, channel, tmp_path):
    with CompilerInterface(address) as compiler:
        assert compiler.address == address
        modes = {file.name: file.stat().st_mode for file in tmp_path.iterdir()}
        assert {name: stat.S_IFMT(mode) for name, mode in modes.items()} == FILES[channel]
        assert all(stat.S_IMODE(mode) == 0o600 for mode in modes.values())
    assert list(tmp_path.iterdir()) == []


def test_two_interfaces_do_not_share_an_address(address, tmp_path):
    with CompilerInterface(address) as first:
        files = set(tmp_path.iterdir())
        with pytest.raises(BridgeError, match=f"another peer serves {address}") as caught:
            CompilerInterface(address)
        assert caught.value.code == "unavailable"
        assert set(tmp_path.iterdir()) == files  # the loser removed nothing
        with pytest.raises(BridgeTimeout):
            first.next(timeout=0)
    CompilerInterface(address).close()


@pytest.mark.pipe
def test_what_a_dead_peer_left_is_taken_over(address, base, served):
    for end in ("in", "out"):
        os.mkfifo(f"{base}.{end}")
    Path(f"{base}.lock").write_bytes(b"\0\0B")
    served(lambda request: request["x"])
    with Runner(f"{address}?on_error=fail", [X], Y) as runner:
        assert runner.evaluate({"x": 3})["y"].item() == 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nope:x", "a peer cannot serve 'nope:'"),
        ("constant:1", "a peer cannot serve 'constant:'"),
        ("pipe:", "expected the path"),
        ("pipe", "expected ':'"),
        ("pipe:/tmp/x?timeout=1s", "takes no options"),
        ("shm:", "expected the name of a socket"),
        ("shm:/tmp/x?timeout=1s", "takes no options"),
    ],
)
def test_a_bad_address_is_a_value_error_that_points(text, why):
    with pytest.raises(ValueError, match=r"^runner string, column ") as caught:
        CompilerInterface(text)
    first, shown, caret = str(caught.value).split("\n")
    assert why in first
    assert shown == f"  {text}"
    assert caret.strip() == "^"


def test_without_an_address_somebody_must_have_started_us(monkeypatch):
    monkeypatch.delenv("CBRIDGE_PEER", raising=False)
    with pytest.raises(ValueError, match="no address: CBRIDGE_PEER is set only in a peer"):
        CompilerInterface()


def test_an_address_that_cannot_be_made_is_an_error(tmp_path):
    with pytest.raises(BridgeError, match="No such file or directory") as caught:
        CompilerInterface(f"pipe:{tmp_path}/missing/base")
    assert caught.value.code == "io"
    precious = tmp_path / "base.out"
    precious.write_text("precious")
    with pytest.raises(BridgeError, match=r"base\.out is in the way and is not a FIFO") as caught:
        CompilerInterface(f"pipe:{tmp_path}/base")
    assert caught.value.code == "io"
    assert precious.read_text() == "precious"


def test_paths_with_spaces_and_letters(tmp_path, channel, served):
    folder = tmp_path / "a folder é"
    folder.mkdir()
    served(lambda request: request["x"], address=f"{channel}:{folder}/base")
    with Runner(f"{channel}:{str(folder).replace(' ', '%20')}/base", [X], Y) as runner:
        assert runner.evaluate({"x": 3})["y"].item() == 3
