"""Models evaluated in the compiler's own process: `./dev bench infer [--quick]`.

`native-generic`, `native-v3` and `native-fast` are models that `cbridge compile` has made, `hand`
is vector code written by hand, `onnx`, `tf`, `tflite` our other runners, `bare-ort` ONNX Runtime's
C API by hand with bound buffers and the options of `onnx`: all in one process, in turn.
`python-ort` is Python's onnxruntime. Every evaluation gets other features, which are written in
the time that is measured (`copy` does nothing else), and every answer is compared with NumPy's.
Then: two threads on one model compared with one, and with two threads of mere arithmetic; the time
to open a model. Fields of build/bench/infer.json, infer_goals.json and infer_open.json:
docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

from _infer_models import find_library
from _infer_report import SCALED, Row, draw, judge, print_goals, print_opening, print_table
from _make import MODELS, OUT, ROOT, make_models, make_tf
from _native import CompileError, compile_model

BUILD = ROOT / "build/release"
NAMES = ["mlp", "fc500", "fc50000", "lstm16", "ggnn128"]
Missing = dict[tuple[str, str], list[str]]  # engine and reason: models


class NoRowError(Exception):
    """Why there is no row."""


@contextlib.contextmanager
def noting(missing: Missing, engine: str, model: str) -> Iterator[None]:
    try:
        yield
    except (CompileError, NoRowError) as why:
        missing.setdefault((engine, str(why)), []).append(model)


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


def bare_string(name: str) -> str:
    return f"bare-ort:{MODELS / name / 'model.onnx'}"


def python(*arguments: object) -> list[object]:
    return ["taskset", "-c", min(os.sched_getaffinity(0)), sys.executable, *arguments]


def row(engine: str, model: str, threads: int, measured: Row, **more: object) -> Row:
    return {"engine": engine, "model": model, "threads": threads, **measured, **more}


def native_strings(name: str) -> dict[str, Callable[[], str]]:
    """How to compile a model and ask it: by the name of the row."""

    def exact(level: str) -> str:
        made = compile_model(MODELS / name / "model.onnx", name.capitalize())
        return f"native:{made}?level={level}&on_error=fail"

    def fast() -> str:
        made = compile_model(MODELS / name / "model.onnx", f"{name.capitalize()}Fast", "--fast")
        return f"native:{made}?level=v3&on_error=fail"

    return {
        "native-generic": partial(exact, "baseline"),
        "native-v3": partial(exact, "v3"),
        "native-fast": fast,
    }


def ways(name: str, tensorflow: bool, missing: Missing) -> dict[str, str]:
    """What answers, of all that can be asked in C++, and how it is asked."""
    wanted: dict[str, Callable[[], str]] = {
        "onnx": lambda: onnx_string(name),
        "bare-ort": lambda: bare_string(name),
        **native_strings(name),
        "hand": lambda: f"hand:{MODELS / name}",
        "copy": lambda: "copy:",
    }
    if tensorflow:
        wanted["tf"] = lambda: f"tf:{OUT / 'tf' / name}.so?on_error=fail"
        wanted["tflite"] = lambda: f"tflite:{MODELS / name / 'tflite'}?on_error=fail"
    found = {}
    for engine, way in wanted.items():
        with noting(missing, engine, name):
            string = way()
            host("check", MODELS / name, string)
            found[engine] = string
    return found


def sides(strings: dict[str, str]) -> list[str]:
    return [f"{engine}={string}" for engine, string in strings.items()]


def measure_in_turn(
    name: str, strings: dict[str, str], seconds: float, processes: int
) -> tuple[list[Row], list[Row]]:
    """One thread: a row of each, and what each process measured. Where things lie in memory differs
    from process to process, and matters."""
    share = seconds * len(strings) / processes
    measured = [host("latency", MODELS / name, 1, share, *sides(strings)) for _ in range(processes)]
    rows = []
    for engine in strings:
        of_engine = [each[engine] for each in measured]
        middle: Row = {
            field: statistics.median(each[field] for each in of_engine)
            for field in ("median_us", "p99_us")
        }
        sums = {field: sum(each[field] for each in of_engine) for field in ("wrong", "evaluations")}
        middle["undisturbed"] = statistics.mean(each["undisturbed"] for each in of_engine)
        rows.append(row(engine, name, 1, middle | sums))
    return rows, measured


def measure_two_threads(name: str, strings: dict[str, str], seconds: float) -> list[Row]:
    if len(os.sched_getaffinity(0)) < 2:
        raise NoRowError("there is one core")
    strings = {engine: string for engine, string in strings.items() if engine in SCALED}
    measured = host("latency", MODELS / name, 2, seconds * len(strings) / 2, *sides(strings))
    scalings = [host("scaling", MODELS / name, seconds, *sides(strings)) for _ in range(3)]

    def middle(side: str, field: str) -> float:
        return float(statistics.median(each[side][field] for each in scalings))

    rows = []
    for engine in strings:
        measured[engine]["wrong"] += sum(each["wrong"] for each in scalings)
        more = {
            "scaling": middle(engine, "scaling"),
            "spin_scaling": middle("spin", "scaling"),
            "scaling_of_spin": middle(engine, "of_spin"),
            "undisturbed": statistics.mean(each["undisturbed"] for each in scalings),
        }
        rows.append(row(engine, name, 2, measured[engine], **more))
    return rows


def measure_python(name: str, seconds: float) -> Row:
    measured = run(*python(ROOT / "bench/_infer_python.py", MODELS / name, seconds))
    return row("python-ort", name, 1, measured)


def measure_opening(repetitions: int, native: str | None) -> Row:
    """Fresh processes, in turn: the library is loaded in the first opening."""
    times: dict[str, list[float]] = {}
    folder = MODELS / "mlp"
    for _ in range(repetitions + 1):
        for side, way in (
            ("onnx", onnx_string("mlp")),
            ("bare", bare_string("mlp")),
            *((("native", native),) if native else ()),
        ):
            for kind, value in host("open", folder, way).items():
                times.setdefault(f"{side}_{kind}", []).append(value)
    return {
        "model": "mlp",
        "processes": repetitions,
        # The very first process reads the library from disk.
        **{field: statistics.median(values[1:]) for field, values in times.items()},
    }


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
    seconds, openings, repeats = (0.5, 5, 1) if given.quick else (3.0, 15, 3)
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
    missing: Missing = {}
    processes: dict[str, list[Row]] = {}
    for name in names:
        strings = ways(name, tensorflow, missing)
        done(f"{name}: {', '.join(strings)}")
        with noting(missing, "all in turn", name):
            made, processes[name] = measure_in_turn(name, strings, seconds, repeats)
            rows += made
        with noting(missing, "two threads", name):
            rows += measure_two_threads(name, strings, seconds)
        with noting(missing, "python-ort", name):
            rows.append(measure_python(name, seconds))
        done(name)
    native: str | None = None
    with contextlib.suppress(CompileError):
        native = native_strings("mlp")["native-v3"]()
    opening = measure_opening(openings, native)
    maps = host("maps", MODELS / "mlp", onnx_string("mlp"))
    done("opening")

    goals = judge(processes)
    for file, content in (
        ("infer.json", rows),
        ("infer_goals.json", goals),
        ("infer_open.json", [opening | {"maps": maps}]),
    ):
        (OUT / file).write_text(json.dumps(content, indent=1) + "\n")
    draw(rows, names, OUT / "infer.png")
    print_table(rows)
    print_opening(opening, maps)
    print_goals(goals)
    for (engine, why), models in missing.items():
        print(f"infer: no row for {engine} ({', '.join(models)}): {why}", file=sys.stderr)
    print(f"\nwritten: {OUT / 'infer.json'}, infer_goals.json, infer_open.json, infer.png")


if __name__ == "__main__":
    main()
