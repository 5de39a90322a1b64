"""Fits the demo's policy: `build/release/examples/demo --sample 8000 | fit_unroll_policy.py`.

Standard input: six features and five costs per line. Writes unroll_policy.json beside this file.
The network learns to give each factor its relative cost, negated; the best score wins.
"""

import json
import sys
from pathlib import Path

import numpy as np

data = np.loadtxt(sys.stdin)
features, costs = np.log1p(data[:, :6]), data[:, 6:]
legal = 2 ** np.arange(5) <= data[:, :1]
target = -np.log(costs / np.where(legal, costs, np.inf).min(1, keepdims=True)).clip(None, 1.5)
mean, scale = features.mean(0), features.std(0)
x = (features - mean) / scale

rng = np.random.default_rng(1)
hidden = 24
params = {
    "w1": rng.normal(0, 0.5, (6, hidden)),
    "b1": np.zeros(hidden),
    "w2": rng.normal(0, 0.2, (hidden, 5)),
    "b2": np.zeros(5),
}
first = {name: np.zeros_like(value) for name, value in params.items()}
second = {name: np.zeros_like(value) for name, value in params.items()}
for step in range(1, 4001):
    rows = rng.integers(0, len(x), 256)
    h = x[rows] @ params["w1"] + params["b1"]
    a = np.maximum(h, 0)
    error = (a @ params["w2"] + params["b2"] - target[rows]) * legal[rows] / len(rows)
    back = (error @ params["w2"].T) * (h > 0)
    gradients = {"w2": a.T @ error, "b2": error.sum(0), "w1": x[rows].T @ back, "b1": back.sum(0)}
    for name, gradient in gradients.items():  # Adam
        first[name] += 0.1 * (gradient - first[name])
        second[name] += 0.001 * (gradient**2 - second[name])
        rate = 0.01 * (1 - step / 4001) * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        params[name] -= rate * first[name] / (np.sqrt(second[name]) + 1e-9)

score = np.where(
    legal, np.maximum(x @ params["w1"] + params["b1"], 0) @ params["w2"] + params["b2"], -np.inf
)
chosen = np.take_along_axis(costs, score.argmax(1)[:, None], 1).sum()
print(f"cycles over the best possible: {chosen / np.where(legal, costs, np.inf).min(1).sum():.4f}")
policy = {"mean": mean, "scale": scale, **params}
path = Path(__file__).parent / "unroll_policy.json"
path.write_text(
    json.dumps({name: np.round(value, 4).tolist() for name, value in policy.items()}) + "\n"
)
