"""Signals, threads, child processes, and the end of the interpreter."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from compiler_bridge import BridgeError, BridgeTimeout, CompilerInterface, Runner, TensorSpec

X = TensorSpec("x", "int64")
Y = TensorSpec("y", "int64")


# Ctrl-C

WAITING = """
import sys
from compiler_bridge import CompilerInterface
with CompilerInterface(sys.argv[1]) as compiler:
    print("ready", flush=True)
    for request in compiler:
        compiler.reply(request["x"])
        print("served", flush=True)
"""


def test_control_c_ends_a_peer_that_waits_for_compilers(address, start, until, tmp_path):
    process = start(WAITING, address)
    assert process.line() == "ready"
    assert len(list(tmp_path.iterdir())) >= 2
    until(process.is_waiting)
    begin = time.monotonic()
    process.interrupt()
    status, _, errors = process.finish()
    assert time.monotonic() - begin < 2
    assert "KeyboardInterrupt" in errors
    assert "nanobind" not in errors
    assert status != 0
    assert list(tmp_path.iterdir()) == []


def test_control_c_ends_a_peer_in_the_midst_of_a_session(address, start, until, tmp_path):
    process = start(WAITING, address)
    assert process.line() == "ready"
    with Runner(address, [X], Y) as runner:
        assert runner.evaluate({"x": 3})["y"].item() == 3
        assert process.line() == "served"
        until(process.is_waiting)
        begin = time.monotonic()
        process.interrupt()
        assert "KeyboardInterrupt" in process.finish()[2]
        assert time.monotonic() - begin < 2
        with pytest.raises(BridgeError) as caught:
            runner.evaluate({"x": 3})
        assert caught.value.code == "peer_closed"
    assert list(tmp_path.iterdir()) == []


# Threads


def test_waiting_leaves_the_interpreter_to_others(address):
    with CompilerInterface(address) as compiler:
        waiting = threading.Event()
        over = threading.Event()

        def wait():
            waiting.set()
            with pytest.raises(BridgeTimeout):
                compiler.next(timeout=2)
            over.set()

        thread = threading.Thread(target=wait)
        thread.start()
        assert waiting.wait(20)
        # Needs the interpreter again and again; with it held, this would take until the time-out.
        turns = 0
        begin = time.monotonic()
        while time.monotonic() - begin < 0.3:
            turns += 1
        assert not over.is_set()
        assert turns > 10_000
        thread.join(20)
        assert over.is_set()


def test_a_decision_leaves_the_interpreter_to_others(address, asking):
    with CompilerInterface(address) as compiler:
        asked = asking([X], Y, [{"x": 1}], "?timeout=20s")
        compiler.next(timeout=20)
        # The compiler's thread waits for us: that we get here at all shows that it lets us.
        for _ in range(10_000):
            assert compiler.address == address
        compiler.reply(2)
    assert asked.result()[0]["y"].item() == 2


def test_two_threads_may_share_a_peer(address, raw_compiler):
    compiler = CompilerInterface(address)
    served = [0, 0]
    errors = []

    def serve(which):
        try:
            while True:
                try:
                    request = compiler.next()
                except ValueError:  # the other one has not replied yet
                    continue
                if request is None:
                    return
                if not request.done and compiler.reply(request["x"][0] + 1):
                    served[which] += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=serve, args=[which]) for which in (0, 1)]
    for thread in threads:
        thread.start()
    with compiler:
        for _ in range(3):
            broken = raw_compiler()  # whose end is reported by whichever thread finds out
            broken.send(b"garbage")
            broken.close()
            with Runner(f"{address}?connect=10s&timeout=20s&on_error=fail", [X], Y) as runner:
                for value in range(300):
                    assert runner.evaluate({"x": value})["y"].item() == value + 1
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    assert errors == []
    assert sum(served) == 900


def test_replying_from_another_thread(address, asking):
    with CompilerInterface(address, sessions=1) as compiler:
        asked = asking([X], Y, [{"x": value} for value in range(50)])
        for request in compiler:
            thread = threading.Thread(target=compiler.reply, args=[request["x"] * 2])
            thread.start()
            thread.join(20)
    assert [answer["y"].item() for answer in asked.result()] == [2 * v for v in range(50)]


# spawn=

SPAWNED = """
import os, sys
from compiler_bridge import CompilerInterface
with CompilerInterface() as compiler:
    for request in compiler:
        compiler.reply({"y": request["x"] + 1, "pid": os.getpid(), "argv": sys.argv[1:]})
"""
OUTPUTS = [Y, TensorSpec("pid", "int64"), TensorSpec("argv", str, [-1])]


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where runners make the directories of the peers that they start."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def spawned(tmp_path, channel):
    """The runner string for a peer of our own, in a folder whose name has a space."""
    folder = tmp_path / "with space"
    folder.mkdir()
    script = folder / "peer.py"
    script.write_text(SPAWNED)
    words = (sys.executable, str(script), "an argument", "{}")
    return f"{channel}:?spawn=" + " ".join(word.replace(" ", "%20") for word in words)


def test_a_runner_starts_and_ends_its_own_peer(spawned, channel, temporary, process_state):
    with Runner(f"{spawned}&on_error=fail", [X], OUTPUTS) as runner:
        first = runner.evaluate({"x": 1})
        assert first["y"].item() == 2
        argument, address = first["argv"]
        assert argument == "an argument"
        assert address.startswith(f"{channel}:{temporary}/")
        pid = first["pid"].item()
        assert pid != os.getpid()
        assert process_state(pid) is not None
        assert len(list(temporary.iterdir())) == 1
        assert runner.evaluate({"x": 41})["y"].item() == 42
    assert process_state(pid) is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)  # not even a zombie
    assert list(temporary.iterdir()) == []


def test_a_spawned_peer_that_fails_leaves_nothing(tmp_path, channel, temporary):
    script = tmp_path / "bad.py"
    script.write_text("import sys; sys.exit(3)")
    with pytest.raises(BridgeError, match="ended before it served: exit status 3") as caught:
        Runner(f"{channel}:?spawn={sys.executable} {script}&on_error=fail", [X], Y)
    assert caught.value.code == "unavailable"
    with pytest.raises(BridgeError, match="cannot start '/nonexistent'"):
        Runner(f"{channel}:?spawn=/nonexistent&on_error=fail", [X], Y)
    assert list(temporary.iterdir()) == []


SPAWNING = """
import sys
from compiler_bridge import Runner, TensorSpec
outputs = [TensorSpec("y", "int64"), TensorSpec("pid", "int64"), TensorSpec("argv", str, [-1])]
runner = Runner(sys.argv[1] + "&on_error=fail", [TensorSpec("x", "int64")], outputs)
print(runner.evaluate({"x": 1})["pid"].item(), flush=True)
sys.stdin.read()
"""


def test_a_spawned_peer_goes_with_its_compiler(spawned, temporary, start, until, process_state):
    process = start(SPAWNING, spawned)
    pid = int(process.line())
    assert process_state(pid) is not None
    assert len(list(temporary.iterdir())) == 1
    process.kill()
    until(lambda: process_state(pid) is None, "the peer outlives its compiler")
    assert list(temporary.iterdir()) == []


# Forks

FORKING = """
import os, sys
from compiler_bridge import BridgeError, CompilerInterface, Runner, TensorSpec
x, y = TensorSpec("x", "int64"), TensorSpec("y", "int64")
runner = Runner(sys.argv[1] + "?on_error=fail", [x], y)
other = CompilerInterface(sys.argv[1] + "2")
assert runner.evaluate({"x": 1})["y"].item() == 1
child = os.fork()
if child == 0:
    try:
        runner.evaluate({"x": 2})
    except BridgeError as error:
        print("child:", error.code, flush=True)
    runner.close()
    other.close()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert os.path.exists(sys.argv[1].partition(":")[2] + "2.lock"), "the child removed our files"
print("parent:", runner.evaluate({"x": 3})["y"].item(), flush=True)
"""


def test_a_forked_child_leaves_the_session_alone(address, served, start):
    peer = served(lambda request: request["x"])
    status, out, errors = start(FORKING, address).finish()
    assert (status, errors) == (0, "")
    assert out.splitlines() == ["child: forked", "parent: 3"]
    assert not peer.wait_done().truncated
    assert [request["x"].item() for request in peer.seen] == [1, 3, 3]


# The end of the interpreter

EXITING = {
    "everything closed": """
with CompilerInterface(address, sessions=1) as compiler:
    asked = threading.Thread(target=ask)
    asked.start()
    for request in compiler:
        compiler.reply(request["x"])
    asked.join()
""",
    "nothing closed": """
compiler = CompilerInterface(address)
asked = threading.Thread(target=ask)
asked.start()
kept = [compiler.next()]
arrays = [kept[0]["x"]]
compiler.reply(arrays[0])
asked.join()
runner = Runner("constant:1", [TensorSpec("x", "int64")], TensorSpec("y", "int64"))
tensor = runner.get_tensor("x")
decision = runner.evaluate()
""",
    "errors on the way": """
compiler = CompilerInterface(address)
kept = []
for call in (
    lambda: CompilerInterface(address),
    lambda: CompilerInterface("nope:"),
    lambda: compiler.next(timeout=0),
    lambda: Runner("constant:x", [], TensorSpec("y", "int64")),
    lambda: Runner("heuristic:", [], TensorSpec("y", "int64")).evaluate(),
    lambda: Runner("constant:1", [], TensorSpec("y", "int64")).get_tensor("x"),
):
    try:
        call()
    except Exception as error:
        kept.append(error)
assert len(kept) == 6, kept
""",
    "a cycle": """
compiler = CompilerInterface(address)
compiler.itself = compiler
del compiler
""",
}


@pytest.mark.parametrize("how", EXITING)
def test_nothing_leaks_at_the_end(how, address, start, tmp_path):
    script = f"""
import sys, threading
from compiler_bridge import CompilerInterface, Runner, TensorSpec
address = sys.argv[1]

def ask():
    with Runner(address, [TensorSpec("x", "int64")], TensorSpec("y", "int64")) as runner:
        assert runner.evaluate({{"x": 3}})["y"].item() == 3

{EXITING[how]}
print("end")
"""
    assert start(script, address).finish() == (0, "end\n", "")
    assert list(tmp_path.iterdir()) == []


def test_a_daemon_thread_that_waits_does_not_crash_the_end(address, start):
    script = """
import sys, threading
from compiler_bridge import CompilerInterface
compiler = CompilerInterface(sys.argv[1])
started = threading.Event()

def serve():
    started.set()
    for request in compiler:
        compiler.reply(0)

class Slow:
    def __del__(self, wait=threading.Event().wait):
        wait(0.3)  # lets the interpreter go while it is being finalized

threading.Thread(target=serve, daemon=True).start()
started.wait()
sys.modules["slow"] = Slow()
slow = Slow()
print("end")
"""
    status, out, _ = start(script, address).finish()
    assert (status, out) == (0, "end\n")


def test_the_package_is_what_it_says():
    import compiler_bridge

    folder = Path(compiler_bridge.__file__).parent
    assert (folder / "py.typed").exists()
    assert sorted(compiler_bridge.__all__) == sorted(
        ["__version__", *(name for name in vars(compiler_bridge) if name[0].isupper())]
    )


# Workers that a trainer forks

WITH_WORKER = """
import os, sys, threading
from compiler_bridge import BridgeTimeout, CompilerInterface
compiler = CompilerInterface(sys.argv[1])
thread = threading.Thread(target=compiler.next, daemon=True)
if sys.argv[2] == "another":
    thread.start()
    try:
        compiler.next(timeout=0.15)
    except BridgeTimeout:
        pass  # by now the other thread has waited, too
if os.fork() == 0:
    print(os.getpid(), flush=True)
    compiler.close()
    os.read(0, 1)  # until the test closes the other end
    os._exit(0)
compiler.next()
"""


@pytest.mark.parametrize("serving_thread", ["this", "another"])
def test_a_worker_does_not_keep_the_place_of_a_trainer_that_was_killed(
    address, start, process_state, until, serving_thread
):
    trainer = start(WITH_WORKER, address, serving_thread)
    worker = int(trainer.line())
    trainer.kill()
    assert process_state(worker) is not None
    assert Runner(address, [X], Y).why_not.startswith("unavailable: nobody serves")
    with CompilerInterface(address):
        pass
    assert process_state(worker) is not None
    trainer.end()
    until(lambda: process_state(worker) is None)


FORKING_WHILE_SERVING = """
import multiprocessing, os, sys, threading
from compiler_bridge import CompilerInterface
compiler = CompilerInterface(sys.argv[1], sessions=1)
def serve():
    for request in compiler:
        compiler.reply(request["x"] + 1)
thread = threading.Thread(target=serve)
thread.start()
print("ready", flush=True)
forks = 0
while thread.is_alive() or not forks:
    child = multiprocessing.get_context("fork").Process(target=compiler.close)
    child.start()
    child.join(20)
    assert child.exitcode == 0, child.exitcode
    forks += 1
thread.join()
print("served", flush=True)
"""


def test_forking_while_another_thread_serves(address, start):
    process = start(FORKING_WHILE_SERVING, address)
    assert process.line() == "ready"
    with Runner(f"{address}?on_error=fail", [X], Y) as runner:
        end = time.monotonic() + 1
        value = 0
        while time.monotonic() < end:
            value += 1
            assert runner.evaluate({"x": value})["y"].item() == value + 1
    assert process.line() == "served"
    assert process.finish() == (0, "", "")


CLOSED_AT_EXIT = """
import sys, threading
from compiler_bridge import CompilerInterface
compiler = CompilerInterface(sys.argv[1])
waiting = threading.Event()
def serve():
    waiting.set()
    for request in compiler:
        compiler.reply(0)
threading.Thread(target=serve, daemon=True).start()
waiting.wait()
compiler.close()
"""


def test_closing_a_peer_that_a_daemon_thread_serves_ends_cleanly(address, start):
    for _ in range(5):
        status, _, errors = start(CLOSED_AT_EXIT, address).finish()
        assert (status, errors) == (0, "")


CLOSED_WHILE_CONVERTING = """
import os, signal, sys
import numpy as np
from compiler_bridge import CompilerInterface
compiler = CompilerInterface(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: compiler.close())
class Tensor:
    def __array__(self, dtype=None, copy=None):
        os.kill(os.getpid(), signal.SIGTERM)
        return np.array([1])
print("ready", flush=True)
for request in compiler:
    compiler.reply({"y": Tensor()})
print("closed", flush=True)
"""


def test_a_signal_handler_may_close_the_peer_in_the_midst_of_a_reply(address, start):
    process = start(CLOSED_WHILE_CONVERTING, address)
    assert process.line() == "ready"
    with Runner(address, [X], Y) as runner, pytest.raises(BridgeError):
        runner.evaluate({"x": 1})
    assert process.line() == "closed"
    assert process.finish()[0] == 0
