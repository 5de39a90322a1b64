"""The guide's programs run as they stand, only on another corpus."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "gymnasium.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_guide(program, corpus, tmp_path, monkeypatch, capsys):
    (tmp_path / "training").symlink_to(corpus)
    monkeypatch.chdir(tmp_path)
    exec(program, {})
    said = capsys.readouterr().out
    assert not said or re.search(r"\.o \d+ bytes of code instead of \d+ reward -?\d", said)


def test_there_are_programs():
    assert len(PROGRAMS) == 2
