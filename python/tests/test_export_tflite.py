"""Saved models for `tflite:`, tested in isolated/export_tflite.py.

In a process of its own: TensorFlow and PyTorch's exporter both bring an LLVM, and whoever comes
second ends the process.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent / "isolated" / "export_tflite.py"


def test_saved_models_become_tflite():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(TESTS)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout, done.stdout
