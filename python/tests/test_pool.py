"""The model's end for many compilers at once: batches."""

from __future__ import annotations

import gc
import os
import re
import stat
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from compiler_bridge import BridgeTimeout, CompilerInterface, CompilerPool, Runner, TensorSpec

X = TensorSpec("x", "int64")
Y = TensorSpec("y", "int64")
EVERY_TYPE = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64"),
]
FOREVER = 1000.0  # a linger that never ends by itself: the batch is complete when all have asked


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Where pools make their directories. The name has characters that runner strings escape."""
    folder = tmp_path / "tmp %41&?"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def plain(answers):
    """What the compilers got: numbers, lists and errors."""
    return [
        answer if isinstance(answer, Exception) else answer["y"].tolist()
        for each in answers
        for answer in each
    ]


def collect(pool, count):
    """Batches with so many questions altogether."""
    batches = []
    while sum(map(len, batches)) < count:
        batches.append(pool.next(timeout=20))
    return batches


# Addresses


def test_a_pool_hands_out_addresses(channel, crew, temporary):
    with CompilerPool(3, scheme=channel, linger=FOREVER) as pool:
        assert len(set(pool.addresses)) == 3
        assert all(address.startswith(f"{channel}:") for address in pool.addresses)
        (folder,) = temporary.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        crew.open(pool, *[(address, [X], Y, [{"x": 5}]) for address in pool.addresses])
        crew.go()
        batch = pool.next(timeout=20)
        assert sorted(batch.workers) == [0, 1, 2]
        assert batch.reply(batch.workers * 10) == 3
        assert plain(crew.results()) == [[0], [10], [20]]
    assert list(temporary.iterdir()) == []


def test_a_list_of_addresses_may_mix_channels(tmp_path, crew, temporary):
    addresses = [f"shm:{tmp_path}/a", f"pipe:{tmp_path}/b", f"shm:{tmp_path}/c"]
    with CompilerPool(addresses, linger=FOREVER) as pool:
        assert pool.addresses == addresses
        # In shared memory an address may have several compilers.
        jobs = [*addresses, addresses[0]]
        crew.open(pool, *[(a, [X], Y, [{"x": i}, {"x": -i}]) for i, a in enumerate(jobs)])
        crew.go()
        for sign in (1, -1):
            batch = pool.next(timeout=20)
            assert len(batch) == 4
            worker_of = dict(zip(batch["x"][:, 0].tolist(), batch.workers.tolist(), strict=True))
            assert worker_of == {0: 0, sign * 1: 1, sign * 2: 2, sign * 3: 0}
            assert batch.reply(batch["x"] + 100) == 4
        assert plain(crew.results()) == [[100], [100], [101], [99], [102], [98], [103], [97]]
    assert list(temporary.iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {temporary.name}


@pytest.mark.parametrize(
    ("arguments", "options", "error", "why"),
    [
        ((0,), {}, ValueError, "a pool needs workers, not 0"),
        ((-1,), {}, ValueError, "a pool needs workers, not -1"),
        (([],), {}, ValueError, "a pool needs addresses"),
        (("shm:a",), {}, TypeError, r"addresses are a list; for one address write \[address\]"),
        ((1,), {"linger": -0.1}, ValueError, "cannot be negative"),
        ((1,), {"linger": float("nan")}, ValueError, "cannot be negative"),
        ((1,), {"max_batch": -1}, ValueError, "cannot be negative"),
        ((1,), {"scheme": "nope"}, ValueError, "a peer cannot serve 'nope:'"),
        ((["nope:x"],), {}, ValueError, "a peer cannot serve 'nope:'"),
        (([5],), {}, TypeError, "expected str, got int"),
        ((1,), {"inputs": [TensorSpec("x", "int64"), 5]}, AttributeError, "raw"),
    ],
)
def test_bad_arguments_are_named_and_leave_nothing(arguments, options, error, why, temporary):
    with pytest.raises(error, match=why):
        CompilerPool(*arguments, **options)
    assert list(temporary.iterdir()) == []


def test_one_address_that_is_taken_leaves_the_others_free(tmp_path):
    addresses = [f"shm:{tmp_path}/a", f"pipe:{tmp_path}/b", f"shm:{tmp_path}/c"]
    with CompilerInterface(addresses[2]):
        with pytest.raises(RuntimeError, match=f"another peer serves {addresses[2]}"):
            CompilerPool(addresses)
        CompilerPool(addresses[:2]).close()


# What is in a batch


@pytest.mark.parametrize("options", [{}, {"copy": False}])
def test_features_of_every_type_and_rank(crew, options):
    shapes = {"scalar": [], "vector": [3], "matrix": [2, 3], "nothing": [2, 0], "dynamic": [-1, 2]}
    inputs = [
        TensorSpec(f"{name} {kind}", kind, shape)
        for kind in EVERY_TYPE
        for name, shape in shapes.items()
    ]
    inputs += [TensorSpec("text", str), TensorSpec("texts", str, [-1])]
    random = np.random.default_rng(7)

    def question(worker):
        values = {}
        for spec in inputs[:-2]:
            shape = [worker if extent < 0 else extent for extent in spec.shape]
            values[spec.name] = random.integers(0, 2 if spec.dtype == "bool" else 100, shape)
            values[spec.name] = values[spec.name].astype(spec.dtype)
        return {**values, "text": f"é{worker}", "texts": ["t"] * worker}

    asked = [question(worker) for worker in range(3)]
    with CompilerPool(3, linger=FOREVER, **options) as pool:
        crew.open(
            pool,
            *[(a, inputs, Y, [q]) for a, q in zip(pool.addresses, asked, strict=True)],
        )
        crew.go()
        batch = pool.next(timeout=20)
        assert len(batch) == 3
        assert batch.keys() == list(batch) == [spec.name for spec in inputs]
        assert "text" in batch
        assert "other" not in batch
        assert 5 not in batch
        with pytest.raises(KeyError, match="no feature 'other'; the compiler sends"):
            batch["other"]
        for spec in inputs[:-2]:
            rows = batch[spec.name]
            expected = [asked[worker][spec.name] for worker in batch.workers]
            if "dynamic" in spec.name:
                assert isinstance(rows, list)
                assert [row.shape for row in rows] == [(worker, 2) for worker in batch.workers]
            else:
                assert isinstance(rows, np.ndarray)
                assert rows.shape == (3, *spec.shape)
                assert rows.dtype == np.dtype(spec.dtype)
            for row, each in zip(rows, expected, strict=True):
                assert row.dtype == np.dtype(spec.dtype)
                np.testing.assert_array_equal(row, each)
        assert batch["text"] == [[f"é{worker}"] for worker in batch.workers]
        assert batch["texts"] == [["t"] * worker for worker in batch.workers]
        rows = batch["matrix int64"]
        kept = rows.copy()
        rows += 1  # they are ours, and nobody else's
        np.testing.assert_array_equal(batch["matrix int64"], kept)
        assert [TensorSpec.from_raw(raw) for raw in batch._inputs] == inputs
        assert [TensorSpec.from_raw(raw) for raw in batch._outputs] == [Y]
        batch.reply([1, 2, 3])
    np.testing.assert_array_equal(rows, kept + 1)  # also after the pool is gone


def test_contexts_rewards_sessions_and_ends(channel, crew):
    def second(runner):
        runner.switch_context("b.cpp")
        runner.reward(0.5)
        return runner.evaluate({"x": 2})

    def last(runner):
        runner.reward(-1.0)
        runner.end_episode()
        return {"y": np.array([0])}

    with CompilerPool(2, scheme=channel, linger=FOREVER) as pool:
        jobs = [[{"x": 1}, second, last], [{"x": 1}, {"x": 3}]]
        crew.open(pool, *[(a, [X], Y, j) for a, j in zip(pool.addresses, jobs, strict=True)])
        crew.go()
        first = pool.next(timeout=20)
        assert first.contexts == ["", ""]
        assert np.isnan(first.rewards).all()
        assert first.rewards.dtype == np.float64
        assert len(set(first.sessions.tolist())) == 2
        assert [r.session for r in first.requests] == first.sessions.tolist()
        assert [r.worker for r in first.requests] == first.workers.tolist()
        assert [r["x"].item() for r in first.requests] == [1, 1]
        assert first.ended == []
        first.reply(np.array([7, 8]))
        batch = pool.next(timeout=20)
        told = {
            worker: (context, None if np.isnan(reward) else reward)
            for worker, context, reward in zip(
                batch.workers.tolist(), batch.contexts, batch.rewards.tolist(), strict=True
            )
        }
        assert told == {0: ("b.cpp", 0.5), 1: ("", None)}
        assert sorted(batch.sessions.tolist()) == sorted(first.sessions.tolist())
        batch.reply([[1], [2]])
        crew.results()
        ended = []
        while len(ended) < 2:
            batch = pool.next(timeout=20)
            assert len(batch) == 0
            assert batch["x"].shape == (0, 1)
            assert batch.rewards.shape == (0,)
            assert batch.contexts == batch.requests == []
            assert batch.reply(np.zeros(0)) == 0  # a loop need not look whether there is any
            ended += batch.ended
        assert all(end.done and not end.truncated for end in ended)
        assert {(e.worker, e["x"].item(), e.context, e.reward) for e in ended} == {
            (0, 2, "b.cpp", -1.0),
            (1, 3, "", None),
        }


def test_signatures_come_in_batches_of_their_own(crew):
    wide = TensorSpec("x", "int64", [2])
    with CompilerPool(4, linger=FOREVER) as pool:
        a, b, c, d = pool.addresses
        crew.open(
            pool,
            (a, [X], Y, [{"x": 1}]),
            (b, [wide], Y, [{"x": [2, 3]}]),
            (c, [X], Y, [{"x": 4}]),
            (d, [X], TensorSpec("z", "int64"), [{"x": 5}]),
        )
        crew.go()
        batches = [pool.next(timeout=20) for _ in range(3)]
        assert sorted(map(len, batches)) == [1, 1, 2]
        for batch in batches:
            value = batch["x"].sum(axis=1)
            (output,) = batch._outputs
            assert batch.reply({output[0]: value}) == len(batch)
        answers = crew.results()
    assert plain(answers[:3]) == [[1], [5], [4]]
    assert answers[3][0]["z"].item() == 5


# Replies


def ask_all(pool, crew, outputs, count=3):
    """A batch of questions 0, 1, …, each asked by the worker of that number."""
    jobs = [(a, [X], outputs, [{"x": i}]) for i, a in enumerate(pool.addresses[:count])]
    crew.open(pool, *jobs)
    crew.go()
    batch = pool.next(timeout=20)
    assert len(batch) == count
    return batch, batch["x"][:, 0]


@pytest.mark.parametrize(
    ("shape", "reply"),
    [
        ([1], lambda x: x * 2),
        ([1], lambda x: (x * 2).reshape(3, 1)),
        ([1], lambda x: (x * 2).tolist()),
        ([1], lambda x: {"y": (x * 2).astype(np.float32)}),
        ([1], lambda x: {"y": [[2 * each] for each in x.tolist()]}),
        ([], lambda x: x * 2),
        ([2, 2], lambda x: np.repeat(x * 2, 4).reshape(3, 2, 2)),
        ([2, 2], lambda x: np.repeat(x * 2, 8).reshape(3, 2, 4)[:, :, ::2]),
    ],
)
def test_forms_of_replies(crew, shape, reply):
    with CompilerPool(3, linger=FOREVER) as pool:
        batch, x = ask_all(pool, crew, TensorSpec("y", "int64", shape))
        assert batch.reply(reply(x)) == 3
        assert batch.reply(reply(x)) == 0  # nobody waits any more
        answers = crew.results()
    for worker, (answer,) in enumerate(answers):
        assert answer["y"].shape == tuple(shape)
        assert (answer["y"] == worker * 2).all()


def test_several_dynamic_and_string_decisions(crew):
    outputs = [
        TensorSpec("index", "int32"),
        TensorSpec("weights", "float32", [-1]),
        TensorSpec("why", str),
        TensorSpec("names", str, [-1]),
    ]
    with CompilerPool(3, linger=FOREVER) as pool:
        batch, x = ask_all(pool, crew, outputs)
        sent = {
            "index": -x,
            "weights": [np.arange(each) for each in x],
            "why": [f"because {each}" for each in x],
            "names": [["n"] * each for each in x],
        }
        assert batch.reply(sent) == 3
        answers = crew.results()
    for worker, (answer,) in enumerate(answers):
        assert answer["index"].item() == -worker
        assert answer["weights"].tolist() == list(range(worker))
        assert answer["why"] == [f"because {worker}"]
        assert answer["names"] == ["n"] * worker


def test_wrong_replies_send_nothing_and_can_be_corrected(crew):
    outputs = [
        TensorSpec("y", "int8"),
        TensorSpec("d", "float32", [-1]),
        TensorSpec("s", str),
    ]
    good = {"y": [1, 2, 3], "d": [[1], [2], [3]], "s": ["a", "b", "c"]}
    listed = "of 3 questions is a list of"
    wrong = [
        ([1, 2, 3], "several outputs: reply with a dict by name"),
        ({"y": [1, 2, 3]}, "decision 'd' is missing"),
        ({**good, "w": 1}, "there is no decision 'w'; the compiler wants y, d, s"),
        ({**good, "y": [1, 2]}, r"decision 'y' is int8_t\[3,1\]: got shape \[2\]"),
        ({**good, "y": 1}, r"decision 'y' is int8_t\[3,1\]: got shape \[1\]"),
        ({**good, "y": [[1, 2, 3]]}, r"decision 'y' is int8_t\[3,1\]: got shape \[1,3\]"),
        ({**good, "y": [1, 2, 128]}, r"decision 'y' is int8_t\[3,1\]: 128 cannot be kept exactly"),
        ({**good, "y": [1, 2, 0.5]}, r"decision 'y' is int8_t\[3,1\]: 0.5 cannot be kept exactly"),
        ({**good, "y": ["a", "b", "c"]}, r"decision 'y' .* got elements of type <U1"),
        ({**good, "y": None}, r"decision 'y' is int8_t\[3,1\]: got NoneType"),
        ({**good, "d": [[1], [2]]}, rf"decision 'd' {listed} float\[\?\]: got 2 values"),
        ({**good, "d": 5}, rf"decision 'd' {listed} float\[\?\]: got int"),
        ({**good, "d": np.array(5)}, rf"decision 'd' {listed} float\[\?\]: got numpy.ndarray"),
        ({**good, "d": [[1], [2], [[3]]]}, r"decision 'd' is float\[\?\]: got shape \[1,1\]"),
        ({**good, "d": [[1], [2], None]}, r"decision 'd' is float\[\?\]: got NoneType"),
        ({**good, "s": "abc"}, rf"decision 's' {listed} string\[1\]: got str"),
        ({**good, "s": {"a", "b", "c"}}, rf"decision 's' {listed} string\[1\]: got set"),
        ({**good, "s": ["a", "b", 5]}, r"decision 's' is string\[1\]: expected str, got int"),
    ]
    with CompilerPool(3, linger=FOREVER) as pool:
        batch, x = ask_all(pool, crew, outputs)
        for reply, why in wrong:
            with pytest.raises(ValueError, match=f"^{why}"):
                batch.reply(reply)
        sent = {"y": x + 1, "d": [[each] for each in x], "s": [str(each) for each in x]}
        assert batch.reply(sent) == 3
        answers = crew.results()
    for worker, (answer,) in enumerate(answers):
        assert answer["y"].item() == worker + 1
        assert answer["d"].tolist() == [worker]
        assert answer["s"] == [str(worker)]


def test_batches_may_be_answered_later_and_in_any_order(channel, crew):
    with CompilerPool(3, scheme=channel) as pool:
        crew.open(pool, *[(a, [X], Y, [{"x": i}]) for i, a in enumerate(pool.addresses)])
        kept = []
        for i in (2, 0, 1):
            crew.go(i)
            kept.append(pool.next(timeout=20))
            assert kept[-1].workers.tolist() == [i]
        for batch in kept:
            assert batch.reply(batch["x"] * 2) == 1
        assert plain(crew.results()) == [[0], [2], [4]]


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


def test_a_compiler_killed_while_its_question_is_in_a_batch(
    channel, compiler_process, until, caplog
):
    with CompilerPool(3, scheme=channel) as pool:
        processes = [compiler_process(f"{address}?timeout=20s") for address in pool.addresses]
        for worker, process in enumerate(processes):
            process.ask(worker)
        batches = collect(pool, 3)
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


# The interpreter


WAITING = """
import sys
from compiler_bridge import CompilerPool
with CompilerPool(2, linger=float(sys.argv[1])) as pool:
    print(*pool.addresses, flush=True)
    try:
        pool.next()
    except KeyboardInterrupt:
        if len(sys.argv) < 3:
            raise
        print("interrupted", flush=True)
        pool._linger = 0
        print(pool.next(timeout=5).reply([7]), flush=True)
        pool.next()
"""


def test_control_c_while_waiting(start, until, temporary):
    process = start(WAITING, "0")
    process.line()
    until(process.is_waiting)
    begin = time.monotonic()
    process.interrupt()
    assert "KeyboardInterrupt" in process.finish()[2]
    assert time.monotonic() - begin < 2
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("goes_on", [False, True])
def test_control_c_while_lingering(start, until, temporary, compiler_process, goes_on):
    process = start(WAITING, "1000", *["goes on"] * goes_on)
    addresses = process.line().split()
    idle, asking = [compiler_process(f"{address}?timeout=20s") for address in addresses]
    assert [idle.line(), asking.line()] == ["open", "open"]
    asking.ask(1)
    until(asking.is_waiting)
    begin = time.monotonic()
    process.interrupt()
    if goes_on:
        assert [process.line(), process.line()] == ["interrupted", "1"]
        assert asking.line() == "7"  # what had come was not lost
        process.interrupt()
    assert "KeyboardInterrupt" in process.finish()[2]
    assert time.monotonic() - begin < 4
    assert list(temporary.iterdir()) == []


FORKING = """
import multiprocessing, os, sys
from compiler_bridge import CompilerPool
pool = CompilerPool(1, scheme=sys.argv[1])
kept = []
while not (kept and len(kept[-1])):
    if not kept:
        print(pool.addresses[0], flush=True)
    kept.append(pool.next())
def child():
    assert pool.next() is None
    assert kept[-1].reply([1]) == 0
    pool.close()
worker = multiprocessing.get_context("fork").Process(target=child)
worker.start()
worker.join()
assert worker.exitcode == 0
pid = os.fork()
if pid == 0:
    sys.exit(0)  # runs what is registered to run at the end
assert os.waitpid(pid, 0)[1] == 0
folder = os.path.dirname(pool.addresses[0].partition(":")[2])
from urllib.parse import unquote
assert os.path.isdir(unquote(folder)), "a child removed our files"
print(kept[-1].reply([2]), flush=True)
if os.fork() == 0:
    print(os.getpid(), flush=True)
    os.read(0, 1)  # until the test closes the other end
    os._exit(0)
pool.next()
"""


def test_forked_children_leave_the_pool_alone(
    channel, start, compiler_process, process_state, temporary
):
    trainer = start(FORKING, channel)
    address = trainer.line()
    compiler = compiler_process(f"{address}?timeout=20s")
    compiler.ask(1)
    assert trainer.line() == "1"
    assert [compiler.line(), compiler.line()] == ["open", "2"]
    worker = int(trainer.line())
    begin = time.monotonic()
    trainer.kill()
    compiler.ask(2)
    status, _, errors = compiler.finish()  # at once, though a child of the trainer lives
    assert process_state(worker) is not None
    assert time.monotonic() - begin < 5
    assert status != 0
    assert "peer_closed" in errors
    trainer.end()


EXITING = """
import sys, threading
from compiler_bridge import CompilerPool, Runner, TensorSpec
pool = CompilerPool(2, linger=1000)
x, y = TensorSpec("x", "int64"), TensorSpec("y", "int64")
def ask(address):
    with Runner(address, [x], y) as runner:
        assert runner.evaluate({"x": 3})["y"].item() == 3
threads = [threading.Thread(target=ask, args=[address]) for address in pool.addresses]
for thread in threads:
    thread.start()
left = 2
while left:
    batch = pool.next()
    left -= batch.reply(batch["x"])
for thread in threads:
    thread.join()
kept = batch.requests
print("end")
"""


def test_nothing_leaks_at_the_end(start, temporary):
    assert start(EXITING).finish() == (0, "end\n", "")
    assert list(temporary.iterdir()) == []


def test_a_forgotten_pool_is_collected(crew, temporary):
    pool = CompilerPool(1)
    crew.open(pool, (pool.addresses[0], [X], Y, [{"x": 1}]))
    crew.go()
    batch = pool.next(timeout=20)
    assert len(list(temporary.iterdir())) == 1
    del pool, batch
    gc.collect()
    assert list(temporary.iterdir()) == []
    ((error,),) = crew.results()
    assert error.code == "peer_closed"


# Under load

BUSY = """
import sys
import numpy as np
from compiler_bridge import Runner, TensorSpec
worker, count = int(sys.argv[2]), int(sys.argv[3])
inputs = [TensorSpec("id", "int64", [2]), TensorSpec("v", "float32", [16]),
          TensorSpec("d", "int32", [-1])]
outputs = [TensorSpec("y", "int64"), TensorSpec("w", "float32", [-1])]
with Runner(sys.argv[1] + "?on_error=fail&timeout=30s", inputs, outputs) as runner:
    for i in range(count):
        v = np.full(16, worker + i / 1024, np.float32)
        d = np.full(i % 50, worker * 1000 + i, np.int32)
        answer = runner.evaluate({"id": [worker, i], "v": v, "d": d})
        assert answer["y"].item() == worker * 1_000_003 + i, (worker, i, answer)
        assert answer["w"].shape == d.shape and (answer["w"] == d).all(), (worker, i, answer)
        runner.reward(worker + i)
print("right")
"""


@pytest.mark.parametrize("options", [{}, {"copy": False, "linger": 0.001, "max_batch": 3}])
def test_each_compiler_gets_its_own_answers(start, tmp_path, options):
    count = 300
    addresses = [f"{'pipe' if i in (3, 5) else 'shm'}:{tmp_path}/{i % 7}" for i in range(8)]
    with CompilerPool(sorted(set(addresses)), sessions=8, **options) as pool:
        processes = [
            start(BUSY, address, str(worker), str(count))
            for worker, address in enumerate(addresses)
        ]
        answered, rewards = 0, 0.0
        for batch in pool:
            ids = batch["id"]
            if len(batch):
                assert (batch["v"][:, 0] == ids[:, 0] + ids[:, 1] / np.float32(1024)).all()
            answered += batch.reply({"y": ids[:, 0] * 1_000_003 + ids[:, 1], "w": batch["d"]})
            rewards += np.nansum(batch.rewards) + sum(end.reward for end in batch.ended)
        for process in processes:
            assert process.finish() == (0, "right\n", "")
    assert answered == 8 * count
    assert rewards == sum(worker + i for worker in range(8) for i in range(count))


# The guide

MYCC = """#!{python}
import sys
import numpy as np
from compiler_bridge import Runner, TensorSpec
worker = int(sys.argv[1].rpartition("/")[2])
address = sys.argv[1].partition("=")[2]
inputs, output = [TensorSpec("features", "float32", [8])], TensorSpec("unroll", "int64")
with Runner(address + "?on_error=fail", inputs, output) as runner:
    for i in range(20):
        assert runner.evaluate({{"features": np.full(8, i)}})["unroll"].item() in (0, 1, 2)
    runner.reward(worker / 2)
"""


def test_the_example_of_the_guide_runs(start, tmp_path, monkeypatch):
    guide = Path(__file__).parents[2] / "docs/guide/answer-from-python.md"
    section = guide.read_text().partition("## Many compilers at once")[2]
    example = re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1)
    compiler = tmp_path / "mycc"
    compiler.write_text(MYCC.format(python=sys.executable))
    compiler.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    status, out, errors = start(example).finish()
    assert (status, errors) == (0, "")
    assert sorted(out.splitlines()) == [f"compiler {i}: reward {i / 2}" for i in range(4)]
