"""Models evaluated in the compiler's own process: `./dev bench infer [--quick]`.

`onnx` is our runner, `bare-ort` ONNX Runtime's C API by hand with bound buffers and the same
options, in the same process and in turn with ours; `tf`, `tflite` our other runners, `python-ort`
Python's onnxruntime. Every evaluation gets other features, which are written in the time that is
measured, and every answer is compared with NumPy's. Then: two threads on one model compared with
one, and with two threads of mere arithmetic; the time to open a model. Fields of
build/bench/infer.json and infer_open.json: docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from _infer_models import find_library
from matplotlib.patches import Patch

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
OUT = ROOT / "build/bench"
MODELS = OUT / "models"
NAMES = ["mlp", "fc500", "fc50000", "lstm16", "ggnn128"]
COLOURS = {
    "bare-ort": "0.75",
    "onnx": "#6baed6",
    "tf": "#fdae6b",
    "tflite": "#74c476",
    "python-ort": "#bcbddc",
}
Row = dict[str, Any]


class NoRowError(Exception):
    """Why there is no row."""


def run(*command: object) -> Row:
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode:
        raise NoRowError((result.stderr.strip().splitlines() or ["no message"])[0])
    measured: Row = json.loads(result.stdout)
    return measured


def host(*arguments: object) -> Row:
    return run(BUILD / "bench/InferHost", *arguments)


def onnx_string(name: str) -> str:
    return f"onnx:{MODELS / name / 'model.onnx'}?on_error=fail"


def python(*arguments: object) -> list[object]:
    return ["taskset", "-c", min(os.sched_getaffinity(0)), sys.executable, *arguments]


def row(engine: str, model: str, threads: int, measured: Row, **more: object) -> Row:
    return {"engine": engine, "model": model, "threads": threads, **measured, **more}


def measure_onnx(name: str, threads: int, seconds: float) -> list[Row]:
    folder = MODELS / name
    arguments = onnx_string(name), folder / "model.onnx", folder
    both = host("latency", *arguments, threads, seconds)
    # Where things lie in memory differs from process to process, and matters.
    scalings = [host("scaling", *arguments, seconds) for _ in range(3)] if threads > 1 else []

    def middle(side: str, field: str) -> float:
        return statistics.median(each[side][field] for each in scalings)

    rows = []
    for engine, side in (("onnx", "ours"), ("bare-ort", "bare")):
        more: Row = {}
        if scalings:
            both[side]["wrong"] += sum(each["wrong"] for each in scalings)
            more["scaling"] = middle(side, "scaling")
            more["spin_scaling"] = middle("spin", "scaling")
            more["scaling_of_spin"] = middle(side, "of_spin")
            more["undisturbed"] = statistics.mean(each["undisturbed"] for each in scalings)
        rows.append(row(engine, name, threads, both[side], **more))
    return rows


def measure_alone(engine: str, string: str, name: str, seconds: float) -> list[Row]:
    measured = host("latency", f"{string}?on_error=fail", "-", MODELS / name, 1, seconds)
    return [row(engine, name, 1, measured["ours"])]


def measure_python(name: str, seconds: float) -> list[Row]:
    measured = run(*python(ROOT / "bench/_infer_python.py", MODELS / name, seconds))
    return [row("python-ort", name, 1, measured)]


def measure_opening(repetitions: int) -> Row:
    """Fresh processes, ours and bare in turn: the library is loaded in the first opening."""
    times: dict[str, list[float]] = {}
    folder = MODELS / "mlp"
    for _ in range(repetitions + 1):
        for side, arguments in (
            ("onnx", ("open", onnx_string("mlp"), folder)),
            ("bare", ("open-bare", folder / "model.onnx", folder)),
        ):
            for kind, value in host(*arguments).items():
                times.setdefault(f"{side}_{kind}", []).append(value)
    return {
        "model": "mlp",
        "processes": repetitions,
        # The very first process reads the library from disk.
        **{field: statistics.median(values[1:]) for field, values in times.items()},
    }


def make_models(names: list[str], tensorflow: bool) -> None:
    command = [sys.executable, str(ROOT / "bench/_infer_models.py"), str(MODELS), *names]
    result = subprocess.run(
        [*command, *(["--tensorflow"] if tensorflow else [])], capture_output=True, text=True
    )
    if result.returncode:
        sys.exit(f"{result.stderr}\ninfer: the models could not be made")


def make_tf(names: list[str]) -> None:
    """Compiles the saved models; one that cannot be has no row, and the runner says so."""
    if not (ROOT / "cmake/CBridgeTf.cmake").exists():
        return
    folder = OUT / "tf"
    configure = ["cmake", "-S", ROOT / "bench/tf", "-B", folder, "-G", "Ninja"]
    options = [f"-DMODELS={MODELS}", f"-DCBRIDGE_TF_PYTHON={sys.executable}"]
    with open(OUT / "tf.log", "w") as log:
        for command in (
            [*configure, "-DCMAKE_BUILD_TYPE=Release", *options],
            ["ninja", "-C", folder, "-k0", *names],
        ):
            if subprocess.run(command, stdout=log, stderr=subprocess.STDOUT).returncode:
                print(f"infer: tf models were not made, log: {log.name}", file=sys.stderr)
                return


def find(rows: list[Row], engine: str, model: str, threads: int) -> Row | None:
    for each in rows:
        if (each["engine"], each["model"], each["threads"]) == (engine, model, threads):
            return each
    return None


def ratio(rows: list[Row], each: Row) -> float | None:
    """To the bare C API in the same conditions."""
    bare = find(rows, "bare-ort", each["model"], each["threads"])
    return each["median_us"] / bare["median_us"] if bare else None


def print_table(rows: list[Row]) -> None:
    print(
        f"\n{'model':8} {'engine':10} {'threads':>7} {'median us':>10} {'/bare-ort':>9}"
        f" {'p99 us':>10} {'scaling':>8} {'/spin':>6} {'quiet':>5} {'wrong':>6}"
    )
    for each in rows:
        of_bare = ratio(rows, each)
        print(
            f"{each['model']:8} {each['engine']:10} {each['threads']:7} {each['median_us']:10.3f}"
            f" {f'{of_bare:8.3f}x' if of_bare else '':>9} {each['p99_us']:10.3f}"
            + (
                f" {each['scaling']:8.3f} {each['scaling_of_spin']:6.3f} {each['undisturbed']:5.0%}"
                if "scaling" in each
                else f" {'':8} {'':6} {'':5}"
            )
            + f" {each['wrong']:6}"
        )


def print_opening(opening: Row, maps: Row) -> None:
    for kind, what in (("cold_us", "library included"), ("warm_us", "library loaded")):
        ours, bare = opening[f"onnx_{kind}"], opening[f"bare_{kind}"]
        print(
            f"opening mlp, {what:16}: onnx {ours / 1e3:7.3f} ms, bare C API {bare / 1e3:7.3f} ms,"
            f" {ours / bare:.3f}x"
        )
    said = {True: "mapped", False: "not mapped"}
    print(
        f"ONNX Runtime's library: {said[maps['constant']]} in a process that opened constant:,"
        f" {said[maps['onnx']]} once it opens onnx:"
    )


def draw(rows: list[Row], names: list[str], path: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(14, 6), width_ratios=(3, 2))
    engines = [e for e in COLOURS if any(r["engine"] == e for r in rows)]
    height = 0.85 / len(engines)
    for i, engine in enumerate(engines):
        for j, name in enumerate(names):
            each = find(rows, engine, name, 1)
            if not each:
                continue
            place = j + (i - (len(engines) - 1) / 2) * height
            left.barh(place, each["median_us"], height, color=COLOURS[engine])
            of_bare = ratio(rows, each)
            digits = 0 if each["median_us"] >= 100 else 1 if each["median_us"] >= 10 else 2
            text = f" {each['median_us']:,.{digits}f}"
            if of_bare and engine != "bare-ort":
                text += f"   {of_bare:.2f}x"
            left.text(each["median_us"], place, text, va="center", fontsize=8)
    left.set_yticks(range(len(names)), names)
    left.invert_yaxis()
    left.set_xscale("log")
    left.set_xlim(left.get_xlim()[0] / 2, left.get_xlim()[1] * 5)
    left.set_xlabel("median time of an evaluation (us), and ratio to bare-ort")
    left.set_title("One thread")
    left.legend([Patch(color=COLOURS[e]) for e in engines], engines, loc="upper right")

    for i, engine in enumerate(("bare-ort", "onnx")):
        values = [(j, find(rows, engine, name, 2)) for j, name in enumerate(names)]
        for j, each in values:
            if each and "scaling" in each:
                place, share = j + (i - 0.5) * 0.4, each["scaling_of_spin"]
                right.barh(place, share, 0.4, color=COLOURS[engine])
                text = (
                    f"{engine}: {share:.3f} ({each['scaling']:.2f} of {each['spin_scaling']:.2f})"
                )
                right.text(0.02, place, text, va="center", fontsize=8)
    right.axvline(1, color="black", linewidth=1)
    right.axvline(0.95, color="tab:red", linewidth=1, linestyle="--")
    right.set_yticks(range(len(names)), names)
    right.set_ylim(left.get_ylim())
    right.set_xlim(0, 1.1)
    right.set_xlabel("scaling / scaling of a spin loop (dashed: 0.95)")
    right.set_title("Two threads on one model")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="shorter, for a first look")
    parser.add_argument("--only", action="append", choices=NAMES, help="these models")
    parser.add_argument(
        "--no-tensorflow",
        action="store_true",
        help="leave out tf and tflite, which need TensorFlow",
    )
    given = parser.parse_args()
    names = [name for name in NAMES if name in (given.only or NAMES)]
    seconds, openings = (0.5, 5) if given.quick else (3.0, 15)
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    if library := os.environ.get("CBRIDGE_ONNXRUNTIME") or find_library():
        os.environ["CBRIDGE_ONNXRUNTIME"] = library
    os.environ["CBRIDGE_MODULE_PATH"] = str(BUILD / "lib/compiler-bridge")

    begin = time.monotonic()

    def done(what: str) -> None:
        print(f"[{time.monotonic() - begin:6.1f}s] {what}", flush=True)

    tensorflow = not given.no_tensorflow
    make_models([*names, "mlp"], tensorflow)
    if tensorflow:
        make_tf(names)
    done("models made")
    rows: list[Row] = []
    missing: dict[tuple[str, str], list[str]] = {}
    for name in names:
        folder = MODELS / name
        wanted: list[tuple[str, Callable[[], list[Row]]]] = [
            ("onnx", partial(measure_onnx, name, 1, 2 * seconds))
        ]
        if len(os.sched_getaffinity(0)) > 1:
            wanted.append(("onnx", partial(measure_onnx, name, 2, seconds)))
        else:
            missing.setdefault(("two threads", "there is one core"), []).append(name)
        if tensorflow:
            for engine, string in (
                ("tf", f"tf:{OUT / 'tf' / name}.so"),
                ("tflite", f"tflite:{folder / 'tflite'}"),
            ):
                wanted.append((engine, partial(measure_alone, engine, string, name, seconds)))
        wanted.append(("python-ort", partial(measure_python, name, seconds)))
        for engine, measure in wanted:
            try:
                rows += measure()
            except NoRowError as why:
                missing.setdefault((engine, str(why)), []).append(name)
        done(name)
    opening, maps = measure_opening(openings), host("maps", onnx_string("mlp"), MODELS / "mlp")
    done("opening")

    (OUT / "infer.json").write_text(json.dumps(rows, indent=1) + "\n")
    (OUT / "infer_open.json").write_text(json.dumps([opening | {"maps": maps}], indent=1) + "\n")
    draw(rows, names, OUT / "infer.png")
    print_table(rows)
    print_opening(opening, maps)
    for (engine, why), models in missing.items():
        print(f"infer: no row for {engine} ({', '.join(models)}): {why}", file=sys.stderr)
    print(f"\nwritten: {OUT / 'infer.json'}, infer_open.json, infer.png")


if __name__ == "__main__":
    main()
