"""Decisions per second with several compilers at once: `./dev bench workers [--quick]`.

N compilers that do nothing but ask, on `shm:`, and one trainer with a 64-64-64-8 network in NumPy.
`unbatched` answers one question after the other (CompilerInterface), `batched` all that wait
(CompilerPool). Fields of build/bench/workers.json: docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from compiler_bridge import CompilerInterface, CompilerPool

ROOT = Path(__file__).resolve().parent.parent
HOST = ROOT / "build/release/bench/WorkerHost"
OUT = ROOT / "build/bench"
Row = dict[str, Any]

LINGER = 100e-6  # seconds that a batch waits for those who have not asked yet

RANDOM = np.random.default_rng(1)
LAYERS = [
    (RANDOM.normal(size=shape).astype(np.float32) / 8, np.zeros(shape[1], np.float32))
    for shape in ((64, 64), (64, 64), (64, 8))
]


def network(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Which of 8 actions, for one row or for many."""
    (w1, b1), (w2, b2), (w3, b3) = LAYERS
    h = np.maximum(x @ w1 + b1, 0)
    h = np.maximum(h @ w2 + b2, 0)
    action: np.ndarray[Any, Any] = np.argmax(h @ w3 + b3, axis=-1)
    return action


def serve_unbatched(address: str, workers: int) -> float:
    with CompilerInterface(address, sessions=workers) as compiler:
        for request in compiler:
            if not request.done:
                x = request["x"]
                compiler.reply(int(network(x)) + 8 * int(x[0]))
    return 1.0


def serve_batched(address: str, workers: int) -> float:
    questions = batches = 0
    with CompilerPool([address], sessions=workers, linger=LINGER) as pool:
        for batch in pool:
            x = batch["x"]
            batch.reply(network(x) + 8 * x[:, 0].astype(np.int64))
            questions += len(batch)
            batches += len(batch) > 0
    return questions / batches


def serve(mode: str, address: str, workers: int, mean_batch: Any) -> None:
    serving = serve_batched if mode == "batched" else serve_unbatched
    mean_batch.value = serving(address, workers)


def measure(mode: str, workers: int, decisions: int) -> Row:
    """`decisions` by all workers together."""
    each = decisions // workers
    with tempfile.TemporaryDirectory() as folder:
        address = f"shm:{folder}/trainer"
        mean_batch = multiprocessing.Value("d", 0.0)
        trainer = multiprocessing.Process(target=serve, args=(mode, address, workers, mean_batch))
        trainer.start()
        hosts = [
            subprocess.Popen(
                [HOST, f"{address}?connect=10s", str(number), str(each)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(workers)
        ]
        for host in hosts:
            assert host.stdin
            assert host.stdout
            if host.stdout.readline().strip() != "ready":
                raise SystemExit("a compiler did not start")
        begin = time.perf_counter()
        for host in hosts:
            assert host.stdin
            host.stdin.write("go\n")
            host.stdin.flush()
        wrong = sum(int(host.communicate()[0]) for host in hosts)
        seconds = time.perf_counter() - begin
        trainer.join()
    return {
        "workers": workers,
        "mode": mode,
        "decisions_per_s": each * workers / seconds,
        "mean_batch": mean_batch.value,
        "wrong": wrong,
    }


def draw(rows: list[Row], path: Path) -> None:
    figure, axis = plt.subplots(figsize=(7, 4.5))
    for mode in ("unbatched", "batched"):
        own = [row for row in rows if row["mode"] == mode]
        axis.plot(
            [row["workers"] for row in own],
            [row["decisions_per_s"] / 1e3 for row in own],
            marker="o",
            label=mode,
        )
    axis.set_xscale("log", base=2)
    axis.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
    axis.set_ylim(bottom=0)
    axis.set_xlabel("compilers")
    axis.set_ylabel("thousand decisions per second")
    axis.set_title("One trainer in Python, compilers on shm:")
    axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer decisions, for a first look")
    quick = parser.parse_args().quick
    decisions, repetitions = (20_000, 1) if quick else (80_000, 5)
    rows: list[Row] = []
    print(f"{'compilers':>9} {'mode':10} {'decisions/s':>12} {'mean batch':>11} {'wrong':>6}")
    for workers in (1, 2, 4, 8):
        for mode in ("unbatched", "batched"):
            runs = [measure(mode, workers, decisions) for _ in range(repetitions)]
            runs.sort(key=lambda row: row["decisions_per_s"])
            row = runs[len(runs) // 2] | {"wrong": sum(run["wrong"] for run in runs)}
            rows.append(row)
            print(
                f"{workers:9} {mode:10} {row['decisions_per_s']:12.0f} {row['mean_batch']:11.2f}"
                f" {row['wrong']:6}",
                flush=True,
            )
    speed = {(row["workers"], row["mode"]): row["decisions_per_s"] for row in rows}
    print(f"8 compilers, batched / unbatched: {speed[8, 'batched'] / speed[8, 'unbatched']:.2f}x")
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "workers.json").write_text(json.dumps(rows, indent=1) + "\n")
    draw(rows, OUT / "workers.png")
    print(f"written: {OUT / 'workers.json'}, workers.png")


if __name__ == "__main__":
    main()
