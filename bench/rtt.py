"""Round trips between a compiler and its model: `./dev bench rtt [--quick]`.

The published study: random float vectors of 500 to 50,000 elements in steps of 500, one fully
connected layer, one float back; `total_ms` is the sum of the 100 round trips. `median_us` and
`p99_us` are of 2,000 round trips of 64 floats. Each row has its floor from the same run: the same
floats over bare FIFOs, bare shared memory or bare gRPC to the same model, or, for what runs in
process (`onnx`, `native`, `tf`), by ONNX Runtime's C API, alternating with ours.
`cores` 1: both ends on one core; 2: one each. Fields of build/bench/rtt.json: docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from _infer_models import find_library, make_rtt
from _make import MODELS, OUT, ROOT, make_models, make_tf
from _native import CompileError, compile_model

BUILD = ROOT / "build/release/bench"
RUNNERS = ["onnx", "native", "tf", "pipe", "shm", "grpc-unary", "grpc-stream"]
Row = dict[str, Any]


def pinned(core: int) -> list[str]:
    return ["taskset", "-c", str(core)]


class Peer:
    """A peer process that has said it is ready."""

    def __init__(self, peer: str, core: int, *arguments: str) -> None:
        program = {
            "python": [sys.executable, str(ROOT / "bench/_rtt_peer.py")],
            "c++": [str(BUILD / "RttPeer")],
        }[peer]
        self.process = subprocess.Popen(
            [*pinned(core), *program, *arguments], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        if self.process.stdout.readline().strip() != "ready":
            sys.exit(f"the {peer} peer did not start")

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


def host(core: int, *arguments: str) -> Row:
    program = "RttHostGrpc" if any("grpc" in each for each in arguments) else "RttHost"
    result = subprocess.run(
        [*pinned(core), str(BUILD / program), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    row: Row = json.loads(result.stdout)
    return row


def make_floor(runner: str, folder: str, cores: list[int]) -> tuple[str, str]:
    """The floor of a runner as bench/Floor.h names it, and its name in the table."""
    if runner == "pipe":
        os.mkfifo(f"{folder}/floor.out")
        os.mkfifo(f"{folder}/floor.in")
        return f"fifo:{folder}/floor", "raw-fifo"
    if runner.startswith("grpc"):
        return f"{runner}:unix:{folder}/floor", f"raw-{runner}"
    kind = "segment" if len(cores) > 1 else "segment-yield"
    with open(f"/dev/shm/{Path(folder).name}", "wb") as file:
        file.truncate(256 + 50_000 * 4)
    return f"{kind}:{file.name}", f"raw-{kind}"


def ends(runner: str, serdes: str, folder: str) -> tuple[str, str]:
    """What the peer serves and what the compiler opens."""
    if runner.startswith("grpc"):
        address = f"grpc:unix:{folder}/bridge"
        mode = runner.removeprefix("grpc-")
        return address, f"{address}?serdes={serdes}&mode={mode}"
    address = f"{runner}:{folder}/bridge"
    return address, f"{address}?serdes={serdes}"


def measure(runner: str, serdes: str, peer: str, cores: list[int], repetitions: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        address, opened = ends(runner, serdes, folder)
        floor, name = make_floor(runner, folder, cores)
        try:
            with (
                Peer(peer, cores[-1], "floor", floor),
                Peer(peer, cores[-1], "bridge", address),
            ):
                measured = host(cores[0], "measure", opened, floor, str(repetitions))
        finally:
            Path(f"/dev/shm/{Path(folder).name}").unlink(missing_ok=True)
    return {
        "runner": runner,
        "serdes": serdes,
        "peer": peer,
        "host": "c++",
        "cores": len(cores),
        **measured,
        "floor": name,
    }


def measure_constant(core: int) -> Row:
    return {
        "runner": "constant",
        "serdes": "none",
        "peer": "none",
        "host": "c++",
        "cores": 1,
        **host(core, "in-process", "constant:4"),
        "floor": "none",
        "floor_total_ms": None,
        "floor_median_us": None,
    }


def in_process_runners(tensorflow: bool) -> dict[str, Callable[[], tuple[str, str]]]:
    """What the study and what the small trips open."""
    large, small = make_rtt(MODELS / "rtt")

    def native() -> tuple[str, str]:
        options = "--max", "n=50000"
        made = compile_model(large, "RttAny", *options), compile_model(small, "RttSmall")
        return f"native:{made[0]}?on_error=fail", f"native:{made[1]}?on_error=fail"

    def tf() -> tuple[str, str]:
        if not tensorflow:
            raise CompileError("--no-tensorflow")
        names = ["rtt50000", "rtt64"]
        make_models(names, tensorflow=True)
        make_tf(names)
        return (
            f"tf:{OUT / 'tf/rtt50000.so'}?on_error=fail",
            f"tf:{OUT / 'tf/rtt64.so'}?on_error=fail",
        )

    def onnx() -> tuple[str, str]:
        return f"onnx:{large}?on_error=fail", f"onnx:{small}?on_error=fail"

    return {"onnx": onnx, "native": native, "tf": tf}


def measure_in_process(runner: str, strings: tuple[str, str], core: int, repetitions: int) -> Row:
    """Measured in turn with the C API by hand on the same two models."""
    floor = "ort:" + ",".join(str(path) for path in make_rtt(MODELS / "rtt"))
    mode = "measure-padded" if runner == "tf" else "measure"
    measured = host(core, mode, strings[0], floor, str(repetitions), strings[1])
    return {
        "runner": runner,
        "serdes": "none",
        "peer": "none",
        "host": "c++",
        "cores": 1,
        **measured,
        "floor": "bare-ort",
    }


def print_goals(rows: list[Row]) -> None:
    """What a compiled model must be."""
    totals = {row["runner"]: row["total_ms"] for row in rows if row["peer"] == "none"}
    if "native" not in totals:
        return
    print(f"\n{'goal of native':32} {'measured':>9}")
    for other in ("onnx", "tf"):
        if other in totals:
            share = totals["native"] / totals[other]
            said = "met" if share < 1 else "MISSED"
            print(f"{f'total below that of {other}':32} {share:8.3f}x  {said}")
    row = next(row for row in rows if row["runner"] == "native")
    count = row["allocs_per_decision"] + row["study_allocs"]
    print(f"{'no allocations':32} {count:9g}  {'MISSED' if count else 'met'}")


def measure_memory(runner: str, serdes: str, cores: list[int], messages: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        address, opened = ends(runner, serdes, folder)
        with Peer("python", cores[-1], "bridge", address) as peer:
            measured = host(cores[0], "memory", opened, str(messages), str(peer.process.pid))
    return {"runner": runner, "serdes": serdes, **measured}


def ratio(row: Row, field: str) -> str:
    floor = row[f"floor_{field}"]
    return f"{row[field] / floor:5.2f}x" if floor else "     -"


def print_table(rows: list[Row], memory: list[Row]) -> None:
    print(
        f"\n{'runner':11} {'serdes':10} {'peer':7} {'cores':>5} {'total ms':>10} {'/floor':>7}"
        f" {'median us':>10} {'/floor':>7} {'p99 us':>9} {'allocs':>7} {'wrong':>6}"
    )
    for row in rows:
        print(
            f"{row['runner']:11} {row['serdes']:10} {row['peer']:7} {row['cores']:5}"
            f" {row['total_ms']:10.3f} {ratio(row, 'total_ms'):>7}"
            f" {row['median_us']:10.3f} {ratio(row, 'median_us'):>7} {row['p99_us']:9.3f}"
            f" {row['allocs_per_decision']:7.3f} {row['wrong']:6}"
        )
    for row in memory:
        print(
            f"memory: {row['runner']}+{row['serdes']}, {row['messages']} messages of 200 KB:"
            f" host grew {row['host_growth_kb']} KB, peer {row['peer_growth_kb']} KB"
        )


def draw(rows: list[Row], path: Path) -> None:
    rows = [row for row in rows if row["floor_median_us"]]
    labels = [f"{r['runner']}+{r['serdes']}\n{r['peer']}, {r['cores']} core(s)" for r in rows]
    figure, axes = plt.subplots(1, 2, figsize=(13, 5))
    for axis, field, title in (
        (axes[0], "total_ms", "100 vectors of 500 to 50,000 floats, total (ms)"),
        (axes[1], "median_us", "64 floats, median round trip (us)"),
    ):
        place = range(len(rows))
        axis.barh([p + 0.2 for p in place], [r[field] for r in rows], 0.4, label="CompilerBridge")
        axis.barh(
            [p - 0.2 for p in place],
            [r[f"floor_{field}"] for r in rows],
            0.4,
            label="floor",
            color="0.7",
        )
        for p, row in zip(place, rows, strict=True):
            axis.text(row[field], p + 0.2, f" {ratio(row, field).strip()}", va="center")
        axis.set_yticks(list(place), labels)
        axis.set_xscale("log")
        axis.set_xlim(right=axis.get_xlim()[1] * 2)
        axis.set_title(title)
        axis.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, for a first look")
    parser.add_argument(
        "--only", action="append", choices=RUNNERS, help="these runners (default: all)"
    )
    parser.add_argument(
        "--no-tensorflow", action="store_true", help="leave out tf, which needs TensorFlow"
    )
    given = parser.parse_args()
    quick, only = given.quick, given.only or RUNNERS
    repetitions, messages = (2, 1_000) if quick else (9, 10_000)
    os.environ["CBRIDGE_MODULE_PATH"] = str(ROOT / "build/release/lib/compiler-bridge")
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    if library := os.environ.get("CBRIDGE_ONNXRUNTIME") or find_library():
        os.environ["CBRIDGE_ONNXRUNTIME"] = library
    free = sorted(os.sched_getaffinity(0))
    placements = [free[:1]] + ([free[:2]] if len(free) > 1 else [])

    rows: list[Row] = []
    memory: list[Row] = []
    begin = time.monotonic()

    def done(what: str) -> None:
        print(f"[{time.monotonic() - begin:6.1f}s] {what}", flush=True)

    rows.append(measure_constant(free[0]))
    done("constant")
    for runner, strings in in_process_runners(not given.no_tensorflow).items():
        if runner in only:
            try:
                rows.append(measure_in_process(runner, strings(), free[0], repetitions))
            except (CompileError, subprocess.CalledProcessError) as why:
                print(f"rtt: no row for {runner}: {why}", file=sys.stderr)
            done(runner)
    for peer in ("python", "c++"):
        for cores in placements:
            for runner, serdes in (
                ("pipe", "bitstream"),
                ("pipe", "json"),
                ("pipe", "protobuf"),
                ("shm", "bitstream"),
                ("grpc-unary", "protobuf"),
                ("grpc-stream", "protobuf"),
            ):
                # The floor of gRPC is grpcio.
                if runner in only and (peer == "python" or "grpc" not in runner):
                    rows.append(measure(runner, serdes, peer, cores, repetitions))
                    done(f"{runner}+{serdes}, {peer} peer, {len(cores)} core(s)")
    for runner, serdes, count in (
        ("pipe", "bitstream", messages),
        ("pipe", "json", messages // 10),
        ("shm", "bitstream", messages),
        ("grpc-stream", "protobuf", messages // 10),
    ):
        if runner in only:
            memory.append(measure_memory(runner, serdes, placements[-1], count))
            done(f"memory, {runner}+{serdes}")

    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "rtt.json").write_text(json.dumps(rows, indent=1) + "\n")
    (OUT / "rtt_memory.json").write_text(json.dumps(memory, indent=1) + "\n")
    draw(rows, OUT / "rtt.png")
    print_table(rows, memory)
    print_goals(rows)
    print(f"\nwritten: {OUT / 'rtt.json'}, rtt_memory.json, rtt.png")


if __name__ == "__main__":
    main()
