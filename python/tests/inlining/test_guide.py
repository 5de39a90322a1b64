"""Every command of the guide about training, at a small scale."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from source_packages import make_repository, needs_apt

pytest.importorskip("torch")

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "train-inlining.md"
# What makes a command small; all else is as in the guide, but for the packages.
SCALE = {
    "cbridge corpus fetch": "--sources {sources}",
    "cbridge search inline": "--budget 6",
    "cbridge train inline": "--steps 1 --batch 4 --epochs 2",
    "cbridge score": "",
    "cbridge compile": "",
    "CBRIDGE_INLINE_MODEL=": "",
}
MAKEFILE = "all: $(patsubst %.c,%.o,$(wildcard *.c))\n"


def commands():
    """Those of its blocks."""
    return [line.strip() for line in GUIDE.read_text().splitlines() if line.startswith("    ")]


@needs_apt
def test_every_command(tmp_path, tmp_path_factory, plugin, source):
    def program(seed, count):
        files = {f"part{i}.c": source.format(i=seed + i) for i in range(count)}
        return {"Makefile": MAKEFILE, **files}

    lines = [line for line in commands() if not line.startswith("step ")]
    packages = {}

    def small(match):
        """Packages that take no time, in place of those of a command."""
        names = [f"tiny-{len(packages) + i}" for i in range(2)]
        packages.update(
            {name: program(8 * len(packages) + 4 * i, 3) for i, name in enumerate(names)}
        )
        return f"{match[1]} {' '.join(names)} -o"

    lines = [re.sub(r"(cbridge corpus fetch) .* -o", small, line) for line in lines]
    sources = make_repository(tmp_path_factory.mktemp("repository"), packages)
    for path, text in program(0, 2).items():
        (tmp_path / path).write_text(text)
    used = set()
    for line in lines:
        kind = next(kind for kind in SCALE if line.startswith(kind))
        used.add(kind)
        more = SCALE[kind].format(sources=shlex.quote(str(sources)))
        scripts = Path(sys.executable).parent
        done = subprocess.run(
            ["bash", "-c", f"{line} {more}"],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{line}:\n{done.stdout}{done.stderr}"
        assert "heuristic decides" not in done.stderr, line
        assert "cbridge-clang: " not in done.stderr, line
    assert used == set(SCALE)
    for made in ("policy.onnx", "policy.training/events", "report.html", "Policy.so", "part1.o"):
        assert (tmp_path / made).exists(), made
