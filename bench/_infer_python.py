"""Python's onnxruntime on a model of `./dev bench infer`: _infer_python.py DIR SECONDS."""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime


def main() -> None:
    folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
    spec = [line.split() for line in (folder / "spec.txt").read_text().splitlines()]
    values = {words[0]: words[1] for words in spec}
    inputs = {words[1]: [int(n) for n in words[2:]] for words in spec if words[0] == "input"}
    ring, tolerance = int(values["ring"]), float(values["tolerance"])

    floats = np.fromfile(folder / "inputs.bin", np.float32).reshape(ring, -1)
    answers = np.fromfile(folder / "answers.bin", np.float64).reshape(ring, -1)
    limit = tolerance * np.abs(answers).max()
    feeds: list[dict[str, np.ndarray[Any, Any]]] = []
    for row in floats:
        feed, at = {}, 0
        for name, shape in inputs.items():
            feed[name] = row[at : at + math.prod(shape)].reshape(shape)
            at += math.prod(shape)
        feeds.append(feed)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
    )
    for feed in feeds * 5:
        session.run(None, feed)
    times: list[float] = []
    wrong = turn = 0
    end = time.perf_counter() + seconds
    while (begin := time.perf_counter()) < end:
        (y,) = session.run(None, feeds[turn % ring])
        times.append(time.perf_counter() - begin)
        wrong += not (np.abs(y.ravel() - answers[turn % ring]) <= limit).all()
        turn += 1
    print(
        json.dumps(
            {
                "median_us": round(float(np.median(times)) * 1e6, 4),
                "p99_us": round(float(np.quantile(times, 0.99)) * 1e6, 4),
                "wrong": wrong,
                "evaluations": turn,
            }
        )
    )


if __name__ == "__main__":
    main()
