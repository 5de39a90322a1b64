"""The models of tests/golden/onnx are what tests/models/make_onnx.py writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2] / "tests"


def contents(folder: Path) -> dict[Path, bytes]:
    return {f.relative_to(folder): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def test_models_are_what_the_script_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, TESTS / "models" / "make_onnx.py", tmp_path], check=True)
    written, committed = contents(tmp_path), contents(TESTS / "golden" / "onnx")
    assert sorted(written) == sorted(committed)
    assert [f for f in written if written[f] != committed[f]] == []
    assert max(map(len, committed.values())) < 10_000
