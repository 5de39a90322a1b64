"""Networks: the same in NumPy, as ONNX and as parameters."""

import numpy as np
import onnx
import pytest

from compiler_bridge.export import ModelError
from compiler_bridge.training._features import FEATURES
from compiler_bridge.training._network import Network

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture
def rows():
    return np.random.default_rng(0).integers(-500, 5000, (40, len(FEATURES))).astype(np.float32)


@pytest.fixture
def network(rows):
    return Network.fresh(rows, (8, 4), 1)


def answers(network, rows):
    session = onnxruntime.InferenceSession(network.as_onnx().SerializeToString())
    found = []
    for row in rows:
        inputs = {name: row[i : i + 1].astype(np.int64) for i, name in enumerate(FEATURES)}
        found.append(session.run(None, inputs))
    return np.array(found)[:, :, 0].T


def test_onnx_answers_the_same(network, rows):
    decisions, scores = answers(network, rows)
    wanted = network.scores(network.standardized(rows))
    np.testing.assert_allclose(scores, wanted, rtol=1e-3, atol=1e-3)
    assert 0 < decisions.sum() < len(rows)
    np.testing.assert_array_equal(decisions, network.decisions(rows))


def test_what_is_written_is_read(network, rows):
    again = Network.from_onnx(network.as_onnx())
    assert again.as_onnx() == network.as_onnx()
    np.testing.assert_array_equal(again.decisions(rows), network.decisions(rows))


def test_a_model_of_others_is_refused():
    helper = onnx.helper
    value = helper.make_tensor_value_info("x", onnx.TensorProto.INT64, [1])
    other = helper.make_tensor_value_info("y", onnx.TensorProto.INT64, [1])
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [value], [other])
    with pytest.raises(ModelError, match="cbridge train inline"):
        Network.from_onnx(helper.make_model(graph))


def test_parameters(network, rows):
    values = network.parameters()
    assert network.with_parameters(values).as_onnx() == network.as_onnx()
    moved = network.with_parameters(values + 1)
    np.testing.assert_array_equal(moved.parameters(), values + 1)
    between = network.towards(moved, 0.25)
    np.testing.assert_allclose(between.parameters(), values + 0.25, rtol=1e-5)


def test_what_never_varies_says_nothing(rows):
    rows[:, 5] = 7
    network = Network.fresh(rows, (8,), 1)
    other = rows.copy()
    other[:, 5] = 1e9
    np.testing.assert_array_equal(network.standardized(rows), network.standardized(other))


def test_one_row_has_its_own_bits(network, rows):
    scores = [network.score_of_one(row) for row in rows]
    np.testing.assert_allclose(scores, network.scores(network.standardized(rows)), rtol=1e-4)
