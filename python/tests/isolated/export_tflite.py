"""Saved models for `tflite:`, and that it evaluates them as TensorFlow does."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from compiler_bridge import Runner, TensorSpec
from compiler_bridge.export import ModelError, saved_model_to_tflite

tf = pytest.importorskip("tensorflow")

# TensorFlow's own, of its dependencies and of what it is to become.
pytestmark = pytest.mark.filterwarnings("ignore")

needs_library = pytest.mark.skipif(
    "CBRIDGE_TFLITE" not in os.environ, reason="CBRIDGE_TFLITE does not name TFLite's library"
)

INPUTS = [TensorSpec("callee_users", "int64"), TensorSpec("embedding", "float32", [8])]
DECISION = TensorSpec("inlining_decision", "int64")


class Policy(tf.Module):
    """A small network with two outputs."""

    def __init__(self):
        super().__init__()
        random = np.random.default_rng(5)
        self.first = tf.Variable(random.normal(size=(9, 16)).astype("float32"))
        self.second = tf.Variable(random.normal(size=(16, 1)).astype("float32"))

    @tf.function(
        input_signature=[
            tf.TensorSpec([1], tf.int64, "callee_users"),
            tf.TensorSpec([1, 8], tf.float32, "embedding"),
        ]
    )
    def action(self, callee_users, embedding):
        users = tf.reshape(tf.cast(callee_users, tf.float32), [1, 1])
        hidden = tf.tanh(tf.concat([users, embedding], 1) @ self.first)
        score = tf.reshape(hidden @ self.second, [1])
        return {"inlining_decision": tf.cast(score > 0, tf.int64), "score": score}


@pytest.fixture(scope="module")
def policy():
    return Policy()


@pytest.fixture(scope="module")
def saved(policy, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    tf.saved_model.save(policy, str(path), signatures={"action": policy.action})
    return path


@pytest.fixture(scope="module")
def exported(saved, tmp_path_factory):
    score = TensorSpec("score", "float32", [])
    target = tmp_path_factory.mktemp("exported") / "model"
    return saved_model_to_tflite(saved, target, [DECISION, score], "action")


def test_both_files(exported: Path):
    assert sorted(os.listdir(exported)) == ["model.tflite", "output_spec.json"]
    decision, score = json.loads((exported / "output_spec.json").read_text())
    assert decision["logging_name"] == "inlining_decision"
    assert decision["tensor_spec"] == {
        "name": "StatefulPartitionedCall",
        "port": 0,
        "type": "int64_t",
        "shape": [1],
    }
    assert score["tensor_spec"]["port"] == 1
    assert score["tensor_spec"]["shape"] == []


@needs_library
def test_it_decides_as_tensorflow_does(policy, exported):
    random = np.random.default_rng(6)
    outputs = [TensorSpec("score", "float32"), DECISION]
    with Runner(f"tflite:{exported}?on_error=fail", INPUTS, outputs) as runner:
        for _ in range(100):
            users = random.integers(0, 4, 1)
            embedding = random.normal(size=8).astype("float32")
            expected = policy.action(users, embedding.reshape(1, 8))
            given = runner.evaluate({"callee_users": users, "embedding": embedding})
            np.testing.assert_allclose(given["score"], expected["score"], rtol=1e-5, atol=1e-5)
            if abs(given["score"].item()) > 1e-4:
                assert given["inlining_decision"] == expected["inlining_decision"]


@needs_library
def test_it_knows_what_it_takes_and_gives(exported):
    with Runner(f"tflite:{exported}?on_error=fail") as runner:
        assert {spec.name for spec in runner.inputs} == {spec.name for spec in INPUTS}
        assert "score" in {spec.name for spec in runner.outputs}
        assert np.isfinite(runner.evaluate({"callee_users": 1})["score"]).all()


@needs_library
def test_recurrent_and_convolutional_networks_are_accepted(tmp_path):
    class Network(tf.Module):
        def __init__(self):
            super().__init__()
            self.kernel = tf.Variable(tf.ones([3, 4, 4]) / 8)
            self.weights = tf.Variable(tf.ones([4, 4]) / 4)

        @tf.function(input_signature=[tf.TensorSpec([1, 6, 4], tf.float32, "x")])
        def call(self, x):
            rows = tf.nn.conv1d(x, self.kernel, 1, "SAME")[0]
            state = tf.zeros([4])
            for i in tf.range(6):
                state = tf.tanh(tf.linalg.matvec(self.weights, state) + rows[i])
            return {"y": state}

    network = Network()
    tf.saved_model.save(
        network, str(tmp_path / "saved"), signatures={"serving_default": network.call}
    )
    directory = saved_model_to_tflite(tmp_path / "saved", tmp_path / "model")
    x = np.linspace(-1, 1, 24, dtype="float32").reshape(6, 4)
    inputs, output = [TensorSpec("x", "float32", [6, 4])], TensorSpec("y", "float32", [4])
    with Runner(f"tflite:{directory}?on_error=fail", inputs, output) as runner:
        given = runner.evaluate({"x": x})["y"]
    np.testing.assert_allclose(given, network.call(x.reshape(1, 6, 4))["y"], rtol=1e-5)


def test_what_does_not_fit(saved, tmp_path):
    target = tmp_path / "model"
    cases = [
        ([TensorSpec("advice", "int64")], "action", "no output 'advice'"),
        ([TensorSpec("score", "int64")], "action", "'score' is float32"),
        ([TensorSpec("score", "float32", [2])], "action", r"not float32\[2\]"),
        (None, "reward", "no signature 'reward'"),
    ]
    for outputs, signature, message in cases:
        with pytest.raises(ModelError, match=message):
            saved_model_to_tflite(saved, target, outputs, signature)
        assert not target.exists()
    with pytest.raises(ModelError, match="is no saved model"):
        saved_model_to_tflite(tmp_path, target)


def test_where_it_cannot_go(saved, tmp_path):
    with pytest.raises(ModelError, match=r"there is no folder '.*missing'"):
        saved_model_to_tflite(saved, tmp_path / "missing" / "model", None, "action")
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="file: is no folder"):
        saved_model_to_tflite(saved, tmp_path / "file", None, "action")
    target = tmp_path / "model"
    target.mkdir()
    os.mkfifo(target / "output_spec.json")
    with pytest.raises(ModelError, match=r"output_spec\.json: is there already, and is no regular"):
        saved_model_to_tflite(saved, target, None, "action")
    assert os.listdir(target) == ["output_spec.json"]


def test_a_failure_leaves_nothing(saved, tmp_path, monkeypatch):
    target = tmp_path / "model"
    replace = os.replace

    def fail(source, destination):
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(ModelError, match="no space"):
        saved_model_to_tflite(saved, target, [DECISION], "action")
    assert not target.exists()
    monkeypatch.setattr(os, "replace", replace)
    saved_model_to_tflite(saved, target, [DECISION], "action")
    before = (target / "model.tflite").read_bytes()
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(ModelError, match="no space"):
        saved_model_to_tflite(saved, target, [DECISION], "action")
    assert (target / "model.tflite").read_bytes() == before
    assert sorted(os.listdir(target)) == ["model.tflite", "output_spec.json"]
