"""The models of tests/golden are what the scripts in tests/models write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2] / "tests"


def contents(folder: Path) -> dict[Path, bytes]:
    return {f.relative_to(folder): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


@pytest.mark.parametrize(
    ("script", "folder"), [("make_onnx.py", "onnx"), ("make_op_models.py", "onnx_ops")]
)
def test_models_are_what_the_script_writes(script: str, folder: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, TESTS / "models" / script, tmp_path], check=True)
    written, committed = contents(tmp_path), contents(TESTS / "golden" / folder)
    assert sorted(written) == sorted(committed)
    assert [f for f in written if written[f] != committed[f]] == []
    assert max(map(len, committed.values())) < 10_000
