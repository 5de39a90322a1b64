"""The model's end for many compilers at once: batches."""

from __future__ import annotations

import stat

import numpy as np
import pytest
from pools import EVERY_TYPE, FOREVER, X, Y, plain

from compiler_bridge import CompilerInterface, CompilerPool, TensorSpec

pytestmark = pytest.mark.usefixtures("temporary")

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
