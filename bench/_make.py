"""Makes the models of the benchmarks, those of TensorFlow too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build/bench"
MODELS = OUT / "models"


def make_models(names: list[str], tensorflow: bool) -> None:
    command = [sys.executable, str(ROOT / "bench/_infer_models.py"), str(MODELS), *names]
    result = subprocess.run(
        [*command, *(["--tensorflow"] if tensorflow else [])], capture_output=True, text=True
    )
    if result.returncode:
        sys.exit(f"{result.stderr}\nthe models could not be made")


def make_tf(names: list[str]) -> None:
    """Compiles the saved models; one that cannot be has no row, and the runner says so."""
    folder = OUT / "tf"
    configure = ["cmake", "-S", str(ROOT / "bench/tf"), "-B", str(folder), "-G", "Ninja"]
    options = [f"-DMODELS={MODELS}", f"-DCBRIDGE_TF_PYTHON={sys.executable}"]
    with open(OUT / "tf.log", "w") as log:
        for command in (
            [*configure, "-DCMAKE_BUILD_TYPE=Release", *options],
            ["ninja", "-C", str(folder), "-k0", *names],
        ):
            if subprocess.run(command, stdout=log, stderr=subprocess.STDOUT).returncode:
                print(f"tf models were not made, log: {log.name}", file=sys.stderr)
                return
