"""A pass of one's own, built with nothing but the package."""

from __future__ import annotations

import subprocess
from pathlib import Path

import compiler_bridge

TOOL = str(Path(compiler_bridge.__file__).parent / "bin" / "cbridge")


def run(*command, **options):
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=True, **options
    ).stdout


def test_a_new_pass_builds_and_asks(tmp_path, monkeypatch):
    run(TOOL, "new-pass", "Shrink", cwd=tmp_path)
    folder = tmp_path / "Shrink"
    assert "CompilerBridge_DIR=$(cbridge cmake-path)" in (folder / "README.md").read_text()
    package = run(TOOL, "cmake-path").strip()
    run("cmake", "-B", "build", f"-DCompilerBridge_DIR={package}", cwd=folder)
    run("cmake", "--build", "build", cwd=folder)
    plugin = "-fpass-plugin=build/Shrink.so"
    compile_it = ["clang-19", "-O2", plugin, "-S", "-emit-llvm", "example.c", "-o", "-"]
    assert " optsize" not in run(*compile_it, cwd=folder)
    monkeypatch.setenv("SHRINK_MODEL", "constant:1")
    assert " optsize" in run(*compile_it, cwd=folder)
