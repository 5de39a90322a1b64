"""Writes the TFLite models of the engine suite: make_tflite_conformance.py DIR

They are kept in tests/golden/tflite, so that only their maker needs TensorFlow.
"""

from __future__ import annotations

import sys
from pathlib import Path

from engine_models import MODELS, TYPES
from make_tflite import c_name, write

# Types and shapes of decisions, as the pass sees them.
OUTPUTS = {
    "affine": {"y": ("float32", [3])},
    "argmax": {"action": ("int64", [1])},
    "batched": {"y": ("float32", [1, 3])},
    "dynamic": {"sum": ("float32", [3]), "doubled": ("float32", [-1, 3])},
    "identity": {"y": ("float32", [4])},
    "multi": {"scaled": ("float32", [2, 2]), "total": ("int64", [1]), "not_flag": ("bool", [1])},
    "no_inputs": {"y": ("int64", [2])},
    "not_a_number": {"y": ("float32", [1])},
    "rank8": {"y": ("int32", [3, 2, 1, 2, 1, 2, 1, 2])},
    "scalar": {"y": ("float32", [])},
    "symbolic": {"y": ("int64", [-1])},
    **{f"elements_{kind}": {"y": (kind, [3])} for kind in TYPES},
}


def main() -> None:
    root = Path(sys.argv[1])
    for name, (function, inputs) in MODELS.items():
        start, _, kind = name.partition("elements_")
        folder = start or f"elements_{c_name(kind)}"
        write(root / folder, function, inputs, OUTPUTS[name])


if __name__ == "__main__":
    main()
