"""`./dev demo`: its table, and what README.md says of it."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from compiler_bridge.scoring._elf import Sizes
from compiler_bridge.scoring._words import MINUS

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples/demo.py"
PROGRAMS = Path(sys.executable).parent  # of the package, where pip puts them


@pytest.fixture(name="demo")
def _demo(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "demo", module)  # where its dataclasses look
    spec.loader.exec_module(module)
    return module


def test_a_row_has_text_and_all_loaded_bytes(demo: ModuleType) -> None:
    line = demo.row("all", 3, [Sizes(1000, 20000), Sizes(1000, 19000)])
    text, total = ["1,000", "1,000", "0.00", "%"], ["20,000", "19,000", f"{MINUS}5.00", "%"]
    assert line.split() == ["all", *text, *total]
    assert len(demo.head(3, ["clang", "cbridge-clang"]).splitlines()[0]) == len(line)


@pytest.mark.skipif(not (PROGRAMS / "cbridge-clang").exists(), reason="needs cbridge-clang")
def test_the_readme_says_what_the_demo_prints(tmp_path: Path) -> None:
    """Half a minute: the only test that compiles the demo's programs by cbridge-clang."""
    found = re.search(
        r"get ([\d.]+) % less code and ([\d.]+) % fewer loaded bytes",
        (ROOT / "README.md").read_text(),
    )
    assert found
    printed = subprocess.run(
        [sys.executable, DEMO, "--out", tmp_path, "--no-report"],
        env=os.environ | {"PATH": f"{PROGRAMS}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    ).stdout
    changes = re.findall(r"(\S+) %", printed.splitlines()[-1])
    said = [-float(figure) for figure in found.groups()]
    assert [float(c.replace(MINUS, "-")) for c in changes] == pytest.approx(said, abs=0.1)
