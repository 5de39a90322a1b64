"""Writes the demo's policy as ONNX: unroll_policy.json -> unroll_policy.onnx, beside this file.

The same network as in unroll_peer.py, with the choice of the best legal factor inside.
"""

import json
from pathlib import Path

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

HERE = Path(__file__).parent
policy = json.loads((HERE / "unroll_policy.json").read_text())
weights = {name: np.array(values, np.float32) for name, values in policy.items()}
weights |= {
    "one": np.float32(1),
    "never": np.float32(-np.inf),
    "factors": np.array([1, 2, 4, 8, 16], np.float32),
    "trip": np.int64([0]),
}
nodes = [
    helper.make_node("Add", ["loop", "one"], ["more"]),
    helper.make_node("Log", ["more"], ["logs"]),
    helper.make_node("Sub", ["logs", "mean"], ["centred"]),
    helper.make_node("Div", ["centred", "scale"], ["x"]),
    helper.make_node("MatMul", ["x", "w1"], ["sums"]),
    helper.make_node("Add", ["sums", "b1"], ["biased"]),
    helper.make_node("Relu", ["biased"], ["hidden"]),
    helper.make_node("MatMul", ["hidden", "w2"], ["values"]),
    helper.make_node("Add", ["values", "b2"], ["scores"]),
    # Factors do not exceed the trip count.
    helper.make_node("Gather", ["loop", "trip"], ["count"]),
    helper.make_node("LessOrEqual", ["factors", "count"], ["legal"]),
    helper.make_node("Where", ["legal", "scores", "never"], ["allowed"]),
    helper.make_node("ArgMax", ["allowed"], ["factor"], axis=0, keepdims=0),
]
graph = helper.make_graph(
    nodes,
    "unroll",
    [helper.make_tensor_value_info("loop", TensorProto.FLOAT, [6])],
    [helper.make_tensor_value_info("factor", TensorProto.INT64, [])],
    [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
signature = {
    "inputs": [{"name": "loop", "type": "float", "shape": [6]}],
    "outputs": [{"name": "factor", "type": "int64_t", "shape": []}],
}
helper.set_model_props(
    model,
    {
        "cbridge.format": "1",
        "cbridge.name": "unroll",
        "cbridge.version": "1",
        "cbridge.training_data": "random loops of the demo's toy machine (demo --sample 8000)",
        "cbridge.signature": json.dumps(signature),
    },
)
checker.check_model(model)
save(model, str(HERE / "unroll_policy.onnx"))
