"""What moves networks, each by itself."""

import struct
from xml.etree import ElementTree

import numpy as np
import pytest

from compiler_bridge._compile_worker import Compiled
from compiler_bridge.export import ModelError
from compiler_bridge.training import _checkpoint, _events, _examples
from compiler_bridge.training._checkpoint import Point, State
from compiler_bridge.training._credit import credit
from compiler_bridge.training._curve import curve
from compiler_bridge.training._evolution import Evolution
from compiler_bridge.training._features import DEFAULT_COLUMN, FEATURES
from compiler_bridge.training._imitation import Examples, imitate
from compiler_bridge.training._network import Network
from compiler_bridge.training._ppo import Ppo
from compiler_bridge.training._sampling import Sample


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


def sample(network, rows, decisions, pairs=(), functions=None):
    scores = network.scores(network.standardized(rows))
    return Sample(
        rows,
        list(pairs),
        scores,
        np.full(len(rows), 0.5, np.float32),
        decisions,
        Compiled(functions=functions or {}),
    )


def test_ppo_makes_more_probable_what_was_good(rows):
    pytest.importorskip("torch")
    network = Network.fresh(rows, (16, 8), 1)
    chance = np.random.default_rng(1)
    start = right(network, rows)
    for step in range(40):
        drawn = sample(network, rows, chance.integers(0, 2, len(rows)))
        saved = np.where(drawn.decisions == rule(rows), 20, -20) * drawn.explored
        network = Ppo().update(network, [drawn], [saved.astype(np.float32)], step)
    assert right(network, rows) > max(start + 0.15, 0.75)


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
    (tmp_path / "checkpoint.npz").write_bytes(b"no archive")
    with pytest.raises(ModelError, match="is no checkpoint"):
        _checkpoint.load(tmp_path, {"seed": 1})


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
