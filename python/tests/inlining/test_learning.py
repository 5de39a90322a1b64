"""What moves networks, each by itself."""

import dataclasses
import struct
from xml.etree import ElementTree

import numpy as np
import pytest

from compiler_bridge._compile_worker import Compiled
from compiler_bridge.corpus import Module
from compiler_bridge.export import ModelError
from compiler_bridge.training import _checkpoint, _events, _examples, _inputs
from compiler_bridge.training._checkpoint import Point, State
from compiler_bridge.training._credit import credit
from compiler_bridge.training._curve import curve
from compiler_bridge.training._evolution import Evolution
from compiler_bridge.training._features import DEFAULT_COLUMN, FEATURES
from compiler_bridge.training._imitation import Examples, imitate
from compiler_bridge.training._network import Network
from compiler_bridge.training._ppo import Ppo
from compiler_bridge.training._sampling import Sample, likelihood, temperature_for


@pytest.fixture
def rows():
    return np.random.default_rng(0).integers(0, 100, (400, len(FEATURES))).astype(np.float32)


def rule(rows):
    """Something to learn."""
    return (rows[:, 3] > rows[:, 7]).astype(np.int64)


def right(network, rows):
    return (network.decisions(rows) == rule(rows)).mean()


def test_imitation_learns_a_rule(rows):
    pytest.importorskip("torch")
    start = Network.fresh(rows, (16, 8), 1)
    examples = Examples(rows, rule(rows), np.ones(len(rows), np.float32))
    learned = imitate(start, examples, epochs=150, seed=1, dropout=0.1)
    assert right(learned, rows) > 0.9 > right(start, rows)
    again = imitate(start, examples, epochs=150, seed=1, dropout=0.1)
    np.testing.assert_array_equal(learned.parameters(), again.parameters())


def test_heavy_examples_count_more(rows):
    pytest.importorskip("torch")
    doubled = np.concatenate([rows, rows])
    wanted = np.concatenate([rule(rows), 1 - rule(rows)])
    weights = np.repeat(np.array([5, 1], np.float32), len(rows))
    learned = imitate(
        Network.fresh(rows, (16, 8), 1), Examples(doubled, wanted, weights), epochs=150, seed=1
    )
    assert right(learned, rows) > 0.85


def test_evolution_climbs(rows):
    network = Network.fresh(rows, (8,), 1)
    target = network.parameters() + np.float32(0.2)
    search = Evolution(network, seed=1, pairs=16, rate=0.1)

    def fitness(each):
        return -float(np.mean((each.parameters() - target) ** 2))

    for _ in range(60):
        search.step(fitness)
    assert fitness(search.network) > fitness(network) / 2
    other = Evolution(network, seed=1, pairs=16, rate=0.1)
    for _ in range(60):
        other.step(fitness)
    np.testing.assert_array_equal(other.network.parameters(), search.network.parameters())


def sample(network, rows, decisions, pairs=(), functions=None, temperature=None):
    scores = network.scores(network.standardized(rows))
    likely = np.full(len(rows), 0.5, np.float32)
    return Sample(
        rows,
        list(pairs),
        scores,
        likelihood(scores, temperature) if temperature else likely,
        decisions,
        Compiled(functions=functions or {}),
    )


def test_ppo_makes_more_probable_what_was_good(rows):
    pytest.importorskip("torch")
    network = Network.fresh(rows, (16, 8), 1)
    chance = np.random.default_rng(1)
    start = right(network, rows)
    for step in range(80):
        drawn = sample(network, rows, chance.integers(0, 2, len(rows)))
        saved = np.where(drawn.decisions == rule(rows), 20, -20) * drawn.explored
        network = Ppo().update(network, [drawn], [saved.astype(np.float32)], step)
    assert right(network, rows) > max(start + 0.15, 0.75)


@pytest.mark.parametrize("temperature", [0.2, 1, 4])
def test_ppo_learns_from_what_was_good_however_warm(rows, temperature):
    pytest.importorskip("torch")
    network = Network.fresh(rows, (16, 8), 1)
    drawn = sample(network, rows, 1 - network.decisions(rows), temperature=temperature)
    # Where cold draws make decisions far less probable than the network does.
    unsure = (np.abs(drawn.scores) > 0.3) & (np.abs(drawn.scores) < 1)
    saved = np.where(unsure, 20, 0).astype(np.float32)
    learned = Ppo(steady=0).update(network, [drawn], [saved], 0)
    towards = np.where(drawn.decisions == 1, 1, -1)
    moved = towards * (learned.scores(learned.standardized(rows)) - drawn.scores)
    assert moved[unsure].mean() > 0.01


def test_a_share_of_decisions_is_tried_otherwise(rows):
    """Whether the network is sure or not; and of those that it is least sure of, more."""
    scores = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    for sure in (0.3, 1, 30):
        temperature = temperature_for(sure * scores, 0.06)
        likely = likelihood(sure * scores, temperature)
        against = np.where(scores > 0, 1 - likely, likely)
        assert against.mean() == pytest.approx(0.06, abs=1e-3)
        assert (np.diff(against[np.argsort(np.abs(scores))]) <= 1e-6).all()
    for few in (np.zeros(0, np.float32), np.full(3, 1e30, np.float32)):
        assert np.isfinite(likelihood(few, temperature_for(few, 0.06))).all()


def test_credit_is_what_happened_where_a_decision_reaches(rows):
    network = Network.fresh(rows, (8,), 1)
    usual = network.decisions(rows[:3])
    pairs = [("a", "b"), ("c", "d"), ("main", "c")]
    decisions = usual.copy()
    decisions[0] = 1 - usual[0]  # only this one is explored
    before = {"a": 100, "b": 50, "c": 70, "main": 10}
    after = {"a": 120, "c": 30, "main": 90}
    found = credit(sample(network, rows[:3], decisions, pairs, after), before)
    # `b` has gone and `a` has grown; what else changed is not its doing.
    np.testing.assert_array_equal(found, [30, 0, 0])


def test_credit_is_shared(rows):
    network = Network.fresh(rows, (8,), 1)
    usual = network.decisions(rows[:2])
    both = sample(network, rows[:2], 1 - usual, [("a", "b"), ("a", "c")], {"a": 60})
    found = credit(both, {"a": 100})
    assert found.sum() == 40
    assert found[0] == found[1]


def test_a_search_is_judged(rows):
    rows[:, DEFAULT_COLUMN] = 0
    decisions = np.array([1, 1, 0, 0])
    rewards = np.array([10, -20, np.nan, 1e6])
    better, weights = _examples._judged(rows[:4], decisions, rewards)
    assert better.tolist() == [1, 0, 0, 0]
    assert weights[0] == 10
    assert weights[1] > 20  # and LLVM thinks so, too
    assert 0 < weights[2] < 5
    assert weights[3] < 200


def test_checkpoints(tmp_path, rows):
    network = Network.fresh(rows, (8, 4), 1)
    average, best = (network.towards(Network.fresh(rows, (8, 4), 2), each) for each in (0.2, 0.7))
    state = State(
        network, average, best, network, 7, [Point(0, 0.1, 0.2, 3), Point(5, 0.3, 0.25, 9)]
    )
    state.first = np.arange(3, dtype=np.float32)
    assert _checkpoint.load(tmp_path, {"seed": 1}) is None
    _checkpoint.save(tmp_path, {"seed": 1}, state)
    found = _checkpoint.load(tmp_path, {"seed": 1})
    assert found.network.as_onnx() == network.as_onnx()
    assert found.average.as_onnx() == average.as_onnx()
    assert found.best.as_onnx() == best.as_onnx()
    assert (found.step, found.history) == (7, state.history)
    assert found.best_point.step == 5
    np.testing.assert_array_equal(found.first, state.first)
    with pytest.raises(ModelError, match="made with seed 1, now it is 2"):
        _checkpoint.load(tmp_path, {"seed": 2})


def test_checkpoints_of_other_inputs_are_refused(tmp_path, rows):
    network = Network.fresh(rows, (4,), 1)
    state = State(network, network, network, network, 7, [Point(0, 0.1, 0.2, 3)], modules=5)
    given = {"--corpus": "a", "--validation": "b"}
    _checkpoint.save(tmp_path, {}, state, given)
    assert _checkpoint.load(tmp_path, {}, given).modules == 5
    for changed, words in [
        ({"--validation": "c"}, "was made with another --validation, or when that had other con"),
        ({"--from": "d"}, "was made without --from; go on as it began"),
        ({"--corpus": "c", "--search": "d"}, "another --corpus, .*, and without --search"),
    ]:
        with pytest.raises(ModelError, match=words):
            _checkpoint.load(tmp_path, {}, {**given, **changed})
    with pytest.raises(ModelError, match="was made with --validation; go on"):
        _checkpoint.load(tmp_path, {}, {"--corpus": "a"})


def test_digests_are_of_all_that_matters(tmp_path, rows):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a.bc").write_bytes(b"code")
    (corpus / "a.cmd").write_bytes(b"-cc1\0-Oz")
    module = Module("a", corpus / "a.bc", None, None)
    seen = [_inputs.of_modules(each) for each in ([], [module], [module, module])]
    seen.append(_inputs.of_modules([dataclasses.replace(module, override=("-cc1",))]))
    (corpus / "a.cmd").write_bytes(b"-cc1\0-Os")
    seen.append(_inputs.of_modules([module]))
    (corpus / "a.bc").write_bytes(b"mode")
    seen.append(_inputs.of_modules([module]))
    (corpus / "a.bc").unlink()
    seen.append(_inputs.of_modules([module]))
    network = Network.fresh(rows, (4,), 1)
    seen += [_inputs.of_network(each) for each in (network, Network.fresh(rows, (4,), 2))]
    (corpus / "x.log").write_bytes(b"1")
    seen.append(_inputs.of_logs(corpus))
    (corpus / "x.log").write_bytes(b"2")
    seen.append(_inputs.of_logs(corpus))
    assert len(set(seen)) == len(seen)
    assert _inputs.of_network(Network.from_onnx(network.as_onnx())) == _inputs.of_network(network)


def test_damaged_checkpoints_are_refused(tmp_path, rows):
    network = Network.fresh(rows, (4,), 1)
    state = State(network, network, network, network, 7, [Point(0, 0.1, 0.2, 3)])
    _checkpoint.save(tmp_path, {"seed": 1}, state)
    file = tmp_path / "checkpoint.npz"
    whole = file.read_bytes()
    refused = []
    for damaged in [
        b"no archive",
        *(whole[:size] for size in (0, 1, 100, len(whole) // 2, len(whole) - 1)),
        *(_flipped(whole, place) for place in range(0, len(whole), 37)),
    ]:
        file.write_bytes(damaged)
        try:
            found = _checkpoint.load(tmp_path, {"seed": 1})
        except ModelError as error:
            refused.append(str(error))
        else:  # where nothing is told, such as the time of a file in the archive
            assert found.network.as_onnx() == network.as_onnx()
            assert (found.step, found.history) == (7, state.history)
    assert len(refused) > len(whole) // 37 * 0.7
    for error in refused:
        assert error.startswith(f"{file}: is no checkpoint of a training, or damaged: ")
        assert "\n" not in error


def _flipped(data, place):
    return data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]


@pytest.mark.parametrize("savings", [[0.0], [0.01], [-0.02, 0.03], [0.0143, 0.016, 0.0198]])
def test_curves(savings):
    history = [Point(5 * i, each / 2, each, 0) for i, each in enumerate(savings)]
    drawn = ElementTree.fromstring(curve(history, "what <it> is & more"))
    space = "{http://www.w3.org/2000/svg}"
    assert next(drawn.iter(f"{space}text")).text == "what <it> is & more"
    lines = [each.get("points").split() for each in drawn.iter(f"{space}polyline")]
    heights = [[float(point.split(",")[1]) for point in line] for line in lines]
    assert len(heights) == 2
    # Less code is further down, and all is inside.
    assert np.argmax(heights[0]) == np.argmax(savings)
    assert all(0 < each < 320 for line in heights for each in line)
    dot = drawn.find(f"{space}circle")
    assert float(dot.get("cy")) == max(heights[0])


def test_events_are_those_of_tensorboard(tmp_path):
    events = pytest.importorskip("tensorboard.compat.proto.event_pb2")
    written = _events.Events(tmp_path)
    written.add("text/training", -1.5, 300)
    written.close()
    (file,) = tmp_path.iterdir()
    data = file.read_bytes()
    found = []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        assert data[8:12] == _events._checksum(data[:8])
        found.append(events.Event.FromString(data[12 : 12 + size]))
        assert data[12 + size : 16 + size] == _events._checksum(data[12 : 12 + size])
        data = data[16 + size :]
    assert found[0].file_version == "brain.Event:2"
    assert found[1].step == 300
    assert found[1].summary.value[0].tag == "text/training"
    assert found[1].summary.value[0].simple_value == -1.5
    # The standard's own example, masked.
    crc = 0xE3069283
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert _events._checksum(b"123456789") == struct.pack("<I", masked)
