"""The policy of `./dev bench inline-runners`: one set of weights, once per format.

Fully connected layers of 40, 40 and 20 over the 38 features that LLVM's inliner has. The hidden
layers are random; the last one is fitted to LLVM's own decisions, so that a compiler which it
advises does about the work of a plain one. `inliner_equal` has the same network and one more
feature, LLVM's own decision, which is the answer: no weights reach the bound that would change it,
but no compiler can know that.

_inline_policy.py FOLDER: writes the saved models and TFLite files, which takes TensorFlow.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from _make import MODELS, ROOT

VERSION = "1"  # of what is below: another one makes the models anew
HIDDEN = [40, 40, 20]
SEED = 42
RIDGE = 1.0
CENTRAL = 0.02  # of all logits: the share among which the border is looked for
UNREACHED = 1e30
DECISION, DEFAULT = "inlining_decision", "inlining_default"
NAMES = {False: "inliner", True: "inliner_equal"}  # of the models, without and with DEFAULT
Array = np.ndarray[Any, Any]


@dataclass
class Policy:
    features: list[str]
    weights: dict[str, Array]  # w0, b0, w1, b1, ...: float32

    def logits(self, x: Array) -> Array:
        """Of one row of features, or of many, in the type of the weights."""
        kind = self.weights["w0"].dtype
        h = squashed(x.astype(kind))
        for i in range(len(HIDDEN)):
            h = np.maximum(h @ self.weights[f"w{i}"] + self.weights[f"b{i}"], 0)
        last = len(HIDDEN)
        logit: Array = (h @ self.weights[f"w{last}"] + self.weights[f"b{last}"])[..., 0]
        return logit

    def exact(self) -> Policy:
        return Policy(self.features, {k: v.astype(np.float64) for k, v in self.weights.items()})

    def save(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = {"features": np.array(self.features), **self.weights}
        np.savez(file, **arrays)

    @staticmethod
    def load(file: Path) -> Policy:
        with np.load(file) as arrays:
            weights = {name: arrays[name] for name in arrays.files if name != "features"}
            return Policy([str(name) for name in arrays["features"]], weights)

    @property
    def key(self) -> str:
        digest = hashlib.sha256(f"{VERSION} {self.features}".encode())
        for name in sorted(self.weights):
            digest.update(self.weights[name].tobytes())
        return digest.hexdigest()


def squashed(x: Array) -> Array:
    """Costs and counts are large and small; log(1 + x) rather than log1p, which TFLite lacks."""
    values: Array = np.sign(x) * np.log(np.abs(x) + np.ones_like(x))
    return values


def fit(features: list[str], x: Array, decisions: Array) -> Policy:
    """x: a row per decision. Ridge regression on what the random layers make of it."""
    random = np.random.default_rng(SEED)
    sizes = [len(features), *HIDDEN]
    seen = squashed(x.astype(np.float64))
    # The first layer sees features of one scale: mean and deviation are part of its weights.
    mean, deviation = seen.mean(0), seen.std(0) + 1e-3
    weights: dict[str, Array] = {}
    h = (seen - mean) / deviation
    for i, (rows, columns) in enumerate(pairwise(sizes)):
        w = random.standard_normal((rows, columns)) * np.sqrt(2 / rows)
        b = random.standard_normal(columns) * 0.1
        h = np.maximum(h @ w + b, 0)
        if i == 0:
            w, b = w / deviation[:, None], b - (mean / deviation) @ w
        weights |= {f"w{i}": w, f"b{i}": b}
    seen = np.hstack([h, np.ones((len(h), 1))])
    penalty = RIDGE * np.diag([1.0] * h.shape[1] + [0.0])
    target = 2.0 * decisions - 1
    solution = np.linalg.solve(seen.T @ seen + penalty, seen.T @ target)
    last = len(HIDDEN)
    weights |= {f"w{last}": solution[:-1, None], f"b{last}": solution[-1:]}
    policy = Policy(features, {name: w.astype(np.float32) for name, w in weights.items()})
    policy.weights[f"b{last}"] -= np.float32(widest_gap(policy.exact().logits(x)))
    return policy


def widest_gap(logits: Array) -> float:
    """A border near zero where there are the fewest: engines round differently, and a decision
    must not depend on that."""
    distinct = np.unique(logits)
    middle = int(np.searchsorted(distinct, 0.0))
    reach = max(2, int(len(distinct) * CENTRAL / 2))
    near = distinct[max(0, middle - reach) : middle + reach]
    if len(near) < 2:
        return 0.0
    widest = int(np.argmax(np.diff(near)))
    return float((near[widest] + near[widest + 1]) / 2)


def write_onnx(policy: Policy, equal: bool, path: Path) -> None:
    from onnx import TensorProto, checker, helper, numpy_helper, save

    inputs = [*policy.features, *([DEFAULT] if equal else [])]
    constants = dict(policy.weights)
    constants |= {
        "one": np.ones(1, np.float32),
        "bound": np.full(1, UNREACHED if equal else 0, np.float32),
        "zero": np.zeros(1, np.int64),
        "column": np.array([1], np.int64),
    }
    node = helper.make_node
    nodes = [
        node("Concat", policy.features, ["all"], axis=0),
        node("Cast", ["all"], ["x"], to=TensorProto.FLOAT),
        node("Abs", ["x"], ["size"]),
        node("Add", ["size", "one"], ["more"]),
        node("Log", ["more"], ["log"]),
        node("Sign", ["x"], ["sign"]),
        node("Mul", ["sign", "log"], ["squashed"]),
        node("Unsqueeze", ["squashed", "zero"], ["h0"]),
    ]
    for i in range(len(HIDDEN)):
        nodes.append(node("Gemm", [f"h{i}", f"w{i}", f"b{i}"], [f"s{i}"]))
        nodes.append(node("Relu", [f"s{i}"], [f"h{i + 1}"]))
    last = len(HIDDEN)
    nodes += [
        node("Gemm", [f"h{last}", f"w{last}", f"b{last}"], ["row"]),
        node("Squeeze", ["row", "column"], ["logit"]),
        node("Greater", ["logit", "bound"], ["above"]),
    ]
    if equal:
        nodes.append(node("Greater", [DEFAULT, "zero"], ["default"]))
        nodes.append(node("Or", ["default", "above"], ["yes"]))
    answer = "yes" if equal else "above"
    nodes.append(node("Cast", [answer], [DECISION], to=TensorProto.INT64))

    def value(name: str) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.INT64, [1])

    used = {name for each in nodes for name in each.input}
    graph = helper.make_graph(
        nodes,
        NAMES[equal],
        [value(name) for name in inputs],
        [value(DECISION)],
        [numpy_helper.from_array(a, name) for name, a in constants.items() if name in used],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def spec(name: str) -> dict[str, Any]:
        return {"name": name, "type": "int64_t", "shape": [1]}

    signature = {"inputs": [spec(n) for n in inputs], "outputs": [spec(DECISION)]}
    helper.set_model_props(
        proto,
        {
            "cbridge.format": "1",
            "cbridge.name": NAMES[equal],
            "cbridge.version": VERSION,
            "cbridge.signature": json.dumps(signature),
        },
    )
    checker.check_model(proto)
    save(proto, str(path))


def write_tensorflow(policy: Policy, equal: bool, folder: Path) -> None:
    """saved/ with one signature `action`, as MLGO's models have it, and tflite/."""
    import tensorflow as tf

    from compiler_bridge import TensorSpec
    from compiler_bridge.export import saved_model_to_tflite

    module = tf.Module()
    module.weights = {name: tf.constant(value) for name, value in policy.weights.items()}
    inputs = [*policy.features, *([DEFAULT] if equal else [])]

    def action(**given: Any) -> dict[str, Any]:
        w = module.weights
        x = tf.cast(tf.concat([given[name] for name in policy.features], 0), tf.float32)
        h = (tf.sign(x) * tf.math.log(tf.abs(x) + 1.0))[None, :]
        for i in range(len(HIDDEN)):
            h = tf.nn.relu(h @ w[f"w{i}"] + w[f"b{i}"])
        logit = (h @ w[f"w{len(HIDDEN)}"] + w[f"b{len(HIDDEN)}"])[:, 0]
        yes = logit > (UNREACHED if equal else 0.0)
        if equal:
            yes = tf.logical_or(given[DEFAULT] > 0, yes)
        return {DECISION: tf.cast(yes, tf.int64)}

    concrete = tf.function(action, input_signature=None).get_concrete_function(
        **{name: tf.TensorSpec([1], tf.int64, name) for name in inputs}
    )
    saved = folder / "saved"
    tf.saved_model.save(module, str(saved), signatures={"action": concrete})
    decision = TensorSpec(DECISION, "int64", [1])
    saved_model_to_tflite(saved, folder / "tflite", [decision], signature="action")


def weights_file() -> Path:
    return MODELS / NAMES[False] / "weights.npz"


def write(policy: Policy, tensorflow: bool) -> None:
    """All formats below build/bench/models, those that are not there yet; the stamp says of which
    weights a folder is made."""
    for equal, name in NAMES.items():
        folder = MODELS / name
        stamp = folder / "stamp"
        if not stamp.exists() or stamp.read_text() != policy.key:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            policy.save(folder / "weights.npz")
            write_onnx(policy, equal, folder / "model.onnx")
            stamp.write_text(policy.key)
        if tensorflow and not (folder / "tflite/output_spec.json").exists():
            command = [sys.executable, str(ROOT / "bench/_inline_policy.py"), str(folder)]
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode:
                sys.exit(f"{result.stderr}\nthe saved model {folder} could not be made")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    write_tensorflow(Policy.load(target / "weights.npz"), target.name == NAMES[True], target)
