"""The model's end for many compilers at once: failures, deadlines, ends."""

from __future__ import annotations

import os
import re
import signal
import threading
import time

import numpy as np
import pytest
from pools import FOREVER, X, Y, collect, plain

from compiler_bridge import BridgeTimeout, CompilerInterface, CompilerPool, Runner, TensorSpec

pytestmark = pytest.mark.usefixtures("temporary")

# Failures


def test_fail_is_an_error_for_this_decision(channel, crew):
    with CompilerPool(2, scheme=channel, linger=FOREVER) as pool:
        jobs = [(a, [X], Y, [{"x": 1}, {"x": 2}]) for a in pool.addresses]
        crew.open(pool, *jobs)
        crew.go()
        batch = pool.next(timeout=20)
        assert batch.fail("not ready") == 2
        assert batch.fail("not ready") == batch.reply([1, 1]) == 0
        pool.next(timeout=20).reply([5, 5])
        for error, answer in crew.results():
            assert error.code == "peer_error"
            assert str(error).endswith(": not ready")
            assert answer["y"].item() == 5


def serve_and_raise(pool, error):
    with pool:
        for batch in pool:
            if len(batch):
                raise error


@pytest.mark.parametrize("max_batch", [0, 1])
def test_an_exception_reaches_all_that_wait(channel, crew, temporary, max_batch):
    pool = CompilerPool(3, scheme=channel, linger=FOREVER, max_batch=max_batch)
    kinds = [X, TensorSpec("x", "int32"), X]  # a batch that was given, and one that was not
    crew.open(pool, *[(a, [x], Y, [{"x": 1}]) for a, x in zip(pool.addresses, kinds, strict=True)])
    crew.go()
    begin = time.monotonic()
    error = ZeroDivisionError("division by zero")
    if max_batch:  # all have asked before the first batch is looked at
        first = [pool.next(timeout=20) for _ in range(2)]
        assert list(map(len, first)) == [1, 1]
    with pytest.raises(ZeroDivisionError) as caught:
        serve_and_raise(pool, error)
    assert caught.value is error
    for (told,) in crew.results():
        assert told.code == "peer_error"
        assert str(told).endswith(": ZeroDivisionError: division by zero")
    assert time.monotonic() - begin < 5
    assert list(temporary.iterdir()) == []


def test_an_exception_reaches_batches_that_were_kept(crew):
    pool = CompilerPool(2)
    crew.open(pool, *[(a, [X], Y, [{"x": 1}]) for a in pool.addresses])
    crew.go(0)
    kept = pool.next(timeout=20)
    crew.go(1)
    with pytest.raises(KeyError):
        serve_and_raise(pool, KeyError("lost"))
    assert [each.code for (each,) in crew.results()] == ["peer_error"] * 2
    assert kept.reply([1]) == 0


def test_an_interrupt_is_not_an_answer(crew, temporary):
    pool = CompilerPool(1)
    crew.open(pool, (pool.addresses[0], [X], Y, [{"x": 1}]))
    crew.go()
    with pytest.raises(KeyboardInterrupt):
        serve_and_raise(pool, KeyboardInterrupt())
    ((error,),) = crew.results()
    assert error.code == "peer_closed"
    assert list(temporary.iterdir()) == []


def test_an_exception_that_cannot_be_told_still_closes(crew, temporary):
    pool = CompilerPool(1)
    crew.open(pool, (pool.addresses[0], [X], Y, [{"x": 1}]))
    crew.go()
    with pytest.raises(UnicodeEncodeError):
        serve_and_raise(pool, ValueError("not even half a character: \ud800"))
    ((error,),) = crew.results()
    assert error.code == "peer_closed"
    assert list(temporary.iterdir()) == []


def test_an_exception_that_does_not_even_know_itself(crew):
    class StrangeError(Exception):
        def __str__(self):
            raise RuntimeError

    pool = CompilerPool(1)
    crew.open(pool, (pool.addresses[0], [X], Y, [{"x": 1}]))
    crew.go()
    with pytest.raises(StrangeError):
        serve_and_raise(pool, StrangeError())
    ((error,),) = crew.results()
    assert str(error).endswith(": StrangeError")


def ask_all(pool, compiler_process):
    """A compiler at each address, which asks for its number, and the batches of that."""
    processes = [compiler_process(f"{address}?timeout=20s") for address in pool.addresses]
    for worker, process in enumerate(processes):
        process.ask(worker)
    return processes, collect(pool, len(processes))


def test_a_compiler_that_dies_is_noticed_before_its_reply(channel, compiler_process, until):
    with CompilerPool(2, scheme=channel) as pool:
        processes, batches = ask_all(pool, compiler_process)
        until(processes[1].is_waiting)
        processes[1].kill()
        batch = pool.next(timeout=20)
        assert batch  # though it has no questions
        (end,) = batch.ended
        assert (len(batch), end.worker, end.truncated) == (0, 1, True)
        # Its place can be taken, and its question needs no answer any more.
        again = compiler_process(f"{pool.addresses[1]}?connect=10s")
        again.ask(6)
        batches += collect(pool, 1)
        sent = sum(batch.reply([x[0] + 10 for x in batch["x"]]) for batch in batches)
        assert sent == 2
        assert [again.line() for _ in range(2)] == ["open", "16"]


# Its decision is more than a FIFO holds.
LARGE = """
import sys
from compiler_bridge import Runner, TensorSpec
Runner(sys.argv[1], [], TensorSpec("y", "int64", [1_000_000])).evaluate({})
"""


def test_a_stopped_compiler_does_not_keep_the_others_waiting(start, crew):
    with CompilerPool(2, scheme="pipe") as pool:
        stopped = start(LARGE, f"{pool.addresses[0]}?timeout=20s")
        first = pool.next(timeout=20)
        os.kill(stopped.pid, signal.SIGSTOP)
        begin = time.monotonic()
        assert first.reply(np.zeros((1, 1_000_000), np.int64)) == 0
        assert time.monotonic() - begin < 5
        assert [end.truncated for end in pool.next(timeout=20).ended] == [True]
        crew.open(pool, (pool.addresses[1], [X], Y, [{"x": 1}]))
        crew.go()
        pool.next(timeout=20).reply([2])
        assert plain(crew.results()) == [[2]]


def test_a_signal_handler_that_raises_loses_no_question(crew):
    class AlarmError(Exception):
        pass

    def ring(*_):
        raise AlarmError

    with CompilerPool(1) as pool:
        crew.open(pool, (pool.addresses[0], [X], Y, [{"x": 1}]))
        before = signal.signal(signal.SIGALRM, ring)
        try:
            threading.Timer(0.05, crew.go).start()
            with pytest.raises(AlarmError):  # noqa: PT012  (wherever it rings)
                signal.setitimer(signal.ITIMER_REAL, 0.03)
                pool.next(timeout=20)
        finally:
            signal.signal(signal.SIGALRM, before)
        pool.next(timeout=20).reply([7])
        assert plain(crew.results()) == [[7]]


def test_what_a_signal_handler_has_held_up_goes_with_the_peer(tmp_path, crew):
    def ring(*_):
        raise TimeoutError

    with CompilerInterface(f"shm:{tmp_path}/peer") as compiler:
        crew.open(compiler, (compiler.address, [X], Y, [{"x": 1}]))
        before = signal.signal(signal.SIGALRM, ring)
        try:
            threading.Timer(0.05, crew.go).start()
            with pytest.raises(TimeoutError):  # noqa: PT012  (wherever it rings)
                signal.setitimer(signal.ITIMER_REAL, 0.03)
                compiler.next(timeout=20)
        finally:
            signal.signal(signal.SIGALRM, before)
        compiler.close()
        assert compiler.next(timeout=20) is None
    ((error,),) = crew.results()
    assert error.code in ("peer_closed", "unavailable")


@pytest.mark.parametrize("meddle", ["fail", "reply", "next"])
def test_what_is_converted_for_a_reply_may_not_meddle(tmp_path, crew, meddle):
    with CompilerInterface(f"shm:{tmp_path}/peer") as compiler:
        crew.open(compiler, (compiler.address, [X], Y, [{"x": 1}]))
        crew.go()
        compiler.next(timeout=20)

        class Meddling(list):
            def __iter__(self):
                getattr(compiler, meddle)(*{"fail": ["why"], "reply": [1], "next": [1]}[meddle])
                return iter([1])

            def __array__(self, *_args, **_more):
                return np.array(list(self))

        with pytest.raises(RuntimeError, match="a reply is being converted"):
            compiler.reply(Meddling([1]))
        assert compiler.reply(3)
        assert plain(crew.results()) == [[3]]


def test_a_reply_of_nothing_is_a_mistake(crew):
    with CompilerPool(1) as pool:
        crew.open(pool, (pool.addresses[0], [X], Y, [{"x": 1}]))
        crew.go()
        batch = pool.next(timeout=20)
        with pytest.raises(ValueError, match="'y'"):
            batch.reply(None)
        batch.reply([3])
        assert plain(crew.results()) == [[3]]


def test_a_compiler_killed_while_its_question_is_in_a_batch(
    channel, compiler_process, until, caplog
):
    with CompilerPool(3, scheme=channel) as pool:
        processes, batches = ask_all(pool, compiler_process)
        until(processes[1].is_waiting)
        processes[1].kill()
        sent = sum(batch.reply([x[0] + 10 for x in batch["x"]]) for batch in batches)
        assert sent == 2 or channel == "pipe"  # which takes what nobody reads
        for worker in (0, 2):
            assert [processes[worker].line() for _ in range(2)] == ["open", str(worker + 10)]
        batch = pool.next(timeout=20)
        (end,) = batch.ended
        assert len(batch) == 0
        assert (end.worker, end.done, end.truncated) == (1, True, True)
        assert end["x"].tolist() == [1]
        # The others go on, and its place can be taken.
        processes[0].ask(5)
        again = compiler_process(f"{pool.addresses[1]}?connect=10s")
        again.ask(6)
        for batch in collect(pool, 2):
            batch.reply([x[0] + 10 for x in batch["x"]])
        assert processes[0].line() == "15"
        assert [again.line() for _ in range(2)] == ["open", "16"]
    assert len([r for r in caplog.records if r.message.startswith("session ended")]) == 1


# Waiting


def test_next_has_a_deadline(channel):
    with CompilerPool(2, scheme=channel) as pool:
        for wait in (0, 0.05):
            begin = time.monotonic()
            why = f"no compiler at {re.escape(pool.addresses[0])} and 1 more"
            with pytest.raises(BridgeTimeout, match=why):
                pool.next(timeout=wait)
            assert wait * 0.9 <= time.monotonic() - begin < wait + 5


def test_lingering_ends(crew):
    with CompilerPool(2, linger=0.2) as pool:
        crew.open(pool, *[(a, [X], Y, [{"x": 1}]) for a in pool.addresses])
        crew.go(0)
        begin = time.monotonic()
        batch = pool.next(timeout=20)  # the other one does not ask
        assert len(batch) == 1
        assert 0.15 < time.monotonic() - begin < 2
        crew.go(1)
        more = pool.next(timeout=20)  # nobody is left to wait for
        assert time.monotonic() - begin < 2
        assert batch.reply([1]) == more.reply([1]) == 1


def test_lingering_ends_with_the_time_out(crew):
    with CompilerPool(2, linger=FOREVER) as pool:
        crew.open(pool, *[(a, [X], Y, [{"x": 1}]) for a in pool.addresses])
        crew.go(0)
        begin = time.monotonic()
        batch = pool.next(timeout=0.3)
        assert time.monotonic() - begin < 2
        assert batch.reply([1]) == 1
        crew.go()
        assert pool.next(timeout=20).reply([1]) == 1


def test_a_batch_has_a_limit(channel, crew):
    with CompilerPool(5, scheme=channel, linger=FOREVER, max_batch=2) as pool:
        crew.open(pool, *[(a, [X], Y, [{"x": i}]) for i, a in enumerate(pool.addresses)])
        crew.go()
        sizes, workers = [], []
        for _ in range(3):
            batch = pool.next(timeout=20)
            sizes.append(len(batch))
            workers += batch.workers.tolist()
            if len(batch) < 2:
                assert batch.reply(batch["x"]) == len(batch)
                break
            # Unanswered, so that only the others can come.
            threading.Timer(0.3, batch.reply, [batch["x"]]).start()
        assert sizes == [2, 2, 1]
        assert sorted(workers) == [0, 1, 2, 3, 4]
        assert plain(crew.results()) == [[0], [1], [2], [3], [4]]


@pytest.mark.parametrize("lingers", [False, True])
def test_close_from_another_thread_ends_the_loop(crew, temporary, lingers):
    pool = CompilerPool(2, linger=FOREVER)
    crew.open(pool, *[(a, [X], Y, [{"x": 1}]) for a in pool.addresses])
    if lingers:
        crew.go(0)
    ended = []
    thread = threading.Thread(target=lambda: ended.append(list(pool)))
    thread.start()
    thread.join(0.3)
    assert thread.is_alive()
    begin = time.monotonic()
    pool.close()
    thread.join(20)
    assert time.monotonic() - begin < 1
    assert ended == [[]]
    assert list(temporary.iterdir()) == []
    assert all(each.code == "peer_closed" for (each,) in crew.results())


def test_a_closed_pool_is_at_its_end(crew):
    pool = CompilerPool(2, linger=FOREVER)
    kinds = [X, TensorSpec("x", "int32")]
    crew.open(pool, *[(a, [x], Y, [{"x": 1}]) for a, x in zip(pool.addresses, kinds, strict=True)])
    crew.go()
    batch = pool.next(timeout=20)
    addresses = pool.addresses
    pool.close()
    pool.close()
    assert pool.next() is None  # also the other half of what came
    assert list(pool) == []
    assert batch["x"].tolist() == [[1]]  # stays readable
    assert batch.reply([1]) == batch.fail("late") == 0
    assert pool.addresses == addresses
    crew.results()


def test_sessions_end_the_loop(channel, crew):
    with CompilerPool(2, scheme=channel, sessions=2) as pool:
        crew.open(pool, *[(a, [X], Y, [{"x": i}] * 3) for i, a in enumerate(pool.addresses)])
        crew.go()
        ended = []
        for batch in pool:
            batch.reply(batch["x"] + 1)
            ended += batch.ended
        assert sorted(end.worker for end in ended) == [0, 1]
        assert pool.next() is None
        assert plain(crew.results()) == [[1]] * 3 + [[2]] * 3


def test_expectations_are_those_of_an_interface(caplog):
    with CompilerPool(1, inputs=[TensorSpec("x", "int32")], sessions=1) as pool:
        thread = threading.Thread(target=list, args=[pool])
        thread.start()
        runner = Runner(pool.addresses[0], [X], Y)
        assert "feature 'x': peer wants int32_t" in runner.why_not
        thread.join(20)
        assert not thread.is_alive()
    assert len(caplog.records) == 1
