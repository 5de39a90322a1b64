"""What the model `mlp` adds to a compiler: `./dev bench size [--no-tensorflow]`.

The same small program is linked without a model and with one by cbridge_add_model. `binary`: how
much larger its stripped file is; `memory`: how much larger a process is after its first decision
than before the model was opened, and than one that has opened `constant:`. Fields of
build/bench/size.json: docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _infer_models import find_library
from _make import MODELS, OUT, ROOT, make_models, make_tf
from _native import CompileError, compile_model

BUILD = ROOT / "build/release"
CODE_LIMIT, MEMORY_LIMIT = 40_000, 400  # bytes, KB
PROCESSES = 7
Row = dict[str, Any]


def build() -> None:
    targets = ["SizeHost", "SizeHostMlp"]
    command = ["cmake", "--build", str(BUILD), "--target", *targets]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        sys.exit(f"{result.stdout}\nsize: the programs could not be built")


def stripped_size(file: Path) -> int:
    stripped = OUT / f"{file.name}.stripped"
    subprocess.run(["strip", "-o", str(stripped), str(file)], check=True)
    return stripped.stat().st_size


def weights_size() -> int:
    header = (BUILD / "bench/SizeHostMlp_models/Mlp.h").read_text()
    found = re.search(r"WeightsSize = (\d+)", header)
    assert found
    return int(found[1])


def binary_row() -> Row:
    without, linked = (stripped_size(BUILD / "bench" / n) for n in ("SizeHost", "SizeHostMlp"))
    weights = weights_size()
    code = linked - without - weights
    return {
        "what": "binary",
        "without_bytes": without,
        "with_bytes": linked,
        "weights_bytes": weights,
        "code_bytes": code,
        "goal": f"<= {CODE_LIMIT}",
        "met": code <= CODE_LIMIT,
    }


def memory_row(engine: str, program: str, string: str) -> Row:
    """Medians over fresh processes, after one that has read the files from disk."""
    measured = []
    for _ in range(PROCESSES + 1):
        result = subprocess.run(
            [BUILD / "bench" / program, string], capture_output=True, text=True, check=True
        )
        measured.append(json.loads(result.stdout))
    row: Row = {
        "what": "memory",
        "engine": engine,
        **{
            field: statistics.median(each[field] for each in measured[1:])
            for field in ("start_kb", "growth_kb", "anonymous_kb", "growth_1000_kb")
        },
    }
    return row


def compare(rows: list[Row]) -> None:
    """With the process that has the library, but no model."""

    def whole(row: Row) -> float:
        return float(row["start_kb"] + row["growth_kb"])

    for row in rows:
        row["added_kb"] = whole(row) - whole(rows[0])
        if row["engine"].startswith("native"):
            row |= {"goal": f"<= {MEMORY_LIMIT}", "met": row["added_kb"] <= MEMORY_LIMIT}


def memory_rows(tensorflow: bool) -> list[Row]:
    model = MODELS / "mlp/model.onnx"
    wanted: dict[str, tuple[str, Callable[[], str]]] = {
        "constant": ("SizeHost", lambda: "constant:1"),
        "native": ("SizeHostMlp", lambda: "native:Mlp"),
        "native-file": ("SizeHost", lambda: f"native:{compile_model(model, 'Mlp')}"),
        "onnx": ("SizeHost", lambda: f"onnx:{model}"),
    }
    if tensorflow:
        wanted["tf"] = ("SizeHost", lambda: f"tf:{OUT / 'tf/mlp.so'}")
        wanted["tflite"] = ("SizeHost", lambda: f"tflite:{MODELS / 'mlp/tflite'}")
    rows = []
    for engine, (program, string) in wanted.items():
        try:
            rows.append(memory_row(engine, program, f"{string()}?on_error=fail"))
        except CompileError as why:
            print(f"size: no row for {engine}: {why}", file=sys.stderr)
        except subprocess.CalledProcessError as why:
            print(f"size: no row for {engine}: {why.stderr.strip()}", file=sys.stderr)
    compare(rows)
    return rows


def said(row: Row) -> str:
    return f"  goal {row['goal']}: {'met' if row['met'] else 'MISSED'}" if "goal" in row else ""


def print_table(binary: Row, memory: list[Row]) -> None:
    print(
        f"\nstripped program: {binary['without_bytes']:,} bytes, with the model"
        f" {binary['with_bytes']:,}\n  that is {binary['weights_bytes']:,} bytes of weights and"
        f" {binary['code_bytes']:,} others{said(binary)}"
    )
    print(
        f"\n{'resident KB':12} {'start':>7} {'1 decision':>11} {'anonymous':>10} {'1000':>9}"
        f" {'more than constant':>19}"
    )
    for row in memory:
        first, anonymous, later, added = (
            f"{row[field]:+,.0f}"
            for field in ("growth_kb", "anonymous_kb", "growth_1000_kb", "added_kb")
        )
        print(
            f"{row['engine']:12} {row['start_kb']:7,.0f} {first:>11} {anonymous:>10} {later:>9}"
            f" {added:>19}{said(row)}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-tensorflow", action="store_true", help="leave out tf and tflite")
    tensorflow = not parser.parse_args().no_tensorflow
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    if library := os.environ.get("CBRIDGE_ONNXRUNTIME") or find_library():
        os.environ["CBRIDGE_ONNXRUNTIME"] = library
    OUT.mkdir(parents=True, exist_ok=True)
    build()
    make_models(["mlp"], tensorflow)
    if tensorflow:
        make_tf(["mlp"])
    binary, memory = binary_row(), memory_rows(tensorflow)
    (OUT / "size.json").write_text(json.dumps([binary, *memory], indent=1) + "\n")
    print_table(binary, memory)
    print(f"\nwritten: {OUT / 'size.json'}")


if __name__ == "__main__":
    main()
