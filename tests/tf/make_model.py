"""Writes a saved model and what it decides, and compiles models of the engine suite.

    make_model.py SAVED_MODEL EXPECTED DIR [NAME...]

For each NAME there is DIR/engine_model_NAME_tf, with what cbridge_tf_aot.py writes.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cmake"))
from cbridge_tf_aot import compile_model
from engine_models import MODELS

CASES = 200


def branches(choice, x):
    """One of three functions; TensorFlow has no answer to another choice."""
    functions = [
        tf.function(function).get_concrete_function(tf.TensorSpec([4], tf.float32))
        for function in (tf.cumsum, tf.math.cumprod, tf.nn.softmax)
    ]
    (y,) = tf.raw_ops.Case(
        branch_index=choice[0],
        input=[x],
        Tout=[tf.float32],
        branches=functions,
        output_shapes=[[4]],
    )
    return {"y": y}


MODELS["branches"] = (
    branches,
    [tf.TensorSpec([1], tf.int32, "choice"), tf.TensorSpec([4], tf.float32, "x")],
)


class Policy(tf.Module):
    """As MLGO's: named inputs, of which one is not looked at, and a decision; and its score."""

    def __init__(self):
        super().__init__()
        random = np.random.default_rng(1)
        self.first = tf.Variable(random.normal(size=(10, 64)).astype("float32") / 3)
        self.second = tf.Variable(random.normal(size=(64, 64)).astype("float32") / 8)
        self.third = tf.Variable(random.normal(size=(64, 1)).astype("float32") / 8)

    @tf.function(
        input_signature=[
            tf.TensorSpec([1], tf.int64, "callee_users"),
            tf.TensorSpec([1], tf.int32, "depth"),
            tf.TensorSpec([1, 8], tf.float32, "action_embedding"),
            tf.TensorSpec([1], tf.float32, "discount"),
        ]
    )
    def action(self, callee_users, depth, action_embedding, discount):
        counts = tf.stack([tf.cast(callee_users, tf.float32), tf.cast(depth, tf.float32)], axis=1)
        hidden = tf.tanh(tf.concat([counts, action_embedding], axis=1) @ self.first)
        score = tf.nn.relu(hidden @ self.second) @ self.third
        return {"inlining_decision": tf.cast(score[0] > 0, tf.int64), "score": score}


def make_engine_model(directory, name):
    function, inputs = MODELS[name]
    module = tf.Module()
    module.call = tf.function(function, input_signature=inputs)
    saved = os.path.join(directory, name)
    tf.saved_model.save(module, saved, signatures={"action": module.call})
    target = f"engine_model_{name}"
    prefix = os.path.join(directory, f"{target}_tf", target)
    compile_model(saved, "serve", "action", f"cbridge_tf_model::{target}", prefix)


def main():
    saved, expected, directory, *names = sys.argv[1:]
    for name in names:
        make_engine_model(directory, name)
    policy = Policy()
    tf.saved_model.save(policy, saved, signatures={"action": policy.action})
    random = np.random.default_rng(2)
    with open(expected, "w") as file:
        for _ in range(CASES):
            users = random.integers(-3, 4, 1)
            depth = random.integers(-3, 4, 1, dtype="int32")
            embedding = random.normal(size=(1, 8)).astype("float32")
            answer = policy.action(users, depth, embedding, np.ones(1, "float32"))
            row = [users[0], depth[0], *embedding[0]]
            row += [answer["inlining_decision"].numpy()[0], answer["score"].numpy()[0, 0]]
            print(*(repr(value.item()) for value in row), file=file)


if __name__ == "__main__":
    main()
