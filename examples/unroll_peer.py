"""The demo's model: a small network in NumPy that picks an unroll factor.

Started by the runner (`spawn=`), which tells it where to serve.
"""

import json
from pathlib import Path

import numpy as np

from compiler_bridge import CompilerInterface

policy = json.loads((Path(__file__).parent / "unroll_policy.json").read_text())
weights = {name: np.array(values, np.float32) for name, values in policy.items()}


def scores(loop: np.ndarray) -> np.ndarray:
    x = (np.log1p(loop) - weights["mean"]) / weights["scale"]
    hidden = np.maximum(x @ weights["w1"] + weights["b1"], 0)
    return hidden @ weights["w2"] + weights["b2"]


with CompilerInterface() as compiler:
    for request in compiler:
        loop = request["loop"]
        legal = 2 ** np.arange(5) <= loop[0]
        compiler.reply({"factor": np.argmax(np.where(legal, scores(loop), -np.inf))})
