"""`cbridge corpus replay`, `list`, `info`, and the help of all commands."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import time

import pytest

from compiler_bridge import _progress
from compiler_bridge.corpus import Corpus, CorpusWriter

PATIENCE = 30.0


@pytest.fixture
def corpus(project, tmp_path, clang):
    """Two modules, a duplicate, and one that was broken."""
    with CorpusWriter(tmp_path / "c") as writer:
        for name in ("helper", "again", "shape"):
            source = f"{name}.cpp" if name == "shape" else "helper.c"
            bitcode = project / f"{name}.bc"
            words = ("-Oz", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", source)
            clang(project, *words, "-o", bitcode.name)
            command = ["-cc1", "-triple", "x86_64-pc-linux-gnu", "-Oz"]
            writer.add(f"{name}.o", bitcode, command)
        writer.skip("bad.o", "is broken")
    return tmp_path / "c"


def test_replay(corpus, tmp_path, cbridge):
    said = cbridge("replay", corpus, "-o", tmp_path / "out", "-j2")
    assert said.status == 0
    assert said.out.startswith("2 compiled in ")
    symbols = subprocess.run(
        ["llvm-nm-19", tmp_path / "out/helper.o.o"], capture_output=True, text=True, check=True
    )
    assert " T helper" in symbols.stdout


def test_replay_compiles_what_is_missing(corpus, tmp_path, cbridge):
    out = tmp_path / "out"
    cbridge("replay", corpus, "-o", out)
    (out / "helper.o.o").unlink()
    assert cbridge("replay", corpus, "-o", out).out.startswith("1 compiled in ")
    assert ", 2 were there, " in cbridge("replay", corpus, "-o", out).out
    # Others, if they are compiled otherwise.
    said = cbridge("replay", corpus, "-o", out, "--clang-arg=-mllvm", "--clang-arg=-stats")
    assert said.out.startswith("2 compiled in ")


def test_replay_takes_further_arguments(corpus, tmp_path, cbridge):
    sizes = []
    for threshold in (-1000, 1000):
        option = f"--clang-arg=-inline-threshold={threshold}"
        words = ("-o", tmp_path / str(threshold), "--clang-arg=-mllvm", option)
        assert cbridge("replay", corpus, *words).status == 0
        sizes.append((tmp_path / str(threshold) / "helper.o.o").stat().st_size)
    assert sizes[0] > sizes[1]  # `square` is called, or gone


def test_replay_tells_what_fails(corpus, tmp_path, cbridge):
    (corpus / "helper.o.bc").write_bytes(b"no bitcode")
    (corpus / "shape.o.bc").unlink()
    said = cbridge("replay", corpus, "-o", tmp_path / "out")
    assert said.status == 1
    assert said.out.startswith("0 compiled in ")
    assert "2 modules failed:\n  helper.o: clang-19: " in said.err
    assert f"shape.o: {corpus}/shape.o.bc: there is no such file" in said.err
    assert not [name for name in os.listdir(tmp_path / "out") if name.endswith(".tmp")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_replay_leaves_nothing_behind(
    corpus, tmp_path, start, process_state, number
):
    """Not even a compiler that does not listen, or what that has started."""
    clang = tmp_path / "deaf-clang"
    started = tmp_path / "started"
    clang.write_text(
        "#!/bin/sh\ntrap '' INT TERM\nsleep 1000 &\n"
        f"echo $$ $! >> {started}\nwhile :; do wait; done\n"
    )
    clang.chmod(0o755)
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    process = start(
        "import sys; from compiler_bridge.__main__ import main; sys.exit(main(sys.argv[1:]))",
        *["corpus", "replay", str(corpus), "--clang", str(clang), "-j2"],
        TMPDIR=str(scratch),
    )
    end = time.monotonic() + PATIENCE
    while not started.exists() or len(started.read_text().split()) < 4:
        assert time.monotonic() < end, process.finish()
    os.kill(process.pid, number)
    status, out, err = process.finish()
    assert (status, out) == (130, "")
    assert err == "cbridge: interrupted; the same command goes on from here\n"
    assert list(scratch.iterdir()) == []
    for pid in map(int, started.read_text().split()):
        while process_state(pid) is not None:
            assert time.monotonic() < end, "a compiler was left behind"


def test_list(corpus, cbridge):
    assert cbridge("list", corpus).out == "helper.o\nshape.o\n"
    assert cbridge("list", "--skipped", corpus).out == "bad.o: is broken\n"
    assert cbridge("list", "--duplicates", corpus).out == "again.o: is helper.o\n"


def test_info(corpus, cbridge):
    said = cbridge("info", corpus)
    assert said.out.startswith("2 modules, bitcode of ")
    last = "compiled at -Oz: 2\n1 duplicate left out\n1 skipped:\n  bad.o: is broken\n"
    assert said.out.endswith(last)
    facts = json.loads(cbridge("info", "--json", corpus).out)
    assert facts["bitcode_bytes"] == sum(
        module.bitcode.stat().st_size for module in Corpus.open(corpus)
    )
    assert (facts["modules"], facts["duplicates"]) == (2, 1)
    assert facts["levels"] == {"-Oz": 2}
    assert facts["skipped"] == {"bad.o": "is broken"}


def test_what_is_no_corpus_is_told(tmp_path, cbridge):
    for command in ("replay", "list", "info"):
        said = cbridge(command, tmp_path)
        message = f"cbridge: {tmp_path}: has no corpus_description.json\n"
        assert said == (2, "", message)


@pytest.mark.parametrize("command", ["extract", "build", "fetch", "replay", "list", "info"])
def test_every_command_has_help(cbridge, command):
    said = cbridge(command, "--help")
    assert said.status == 0
    assert said.out.startswith(f"usage: cbridge corpus {command} ")
    assert f"  {command} " in cbridge("--help").out


def test_wrong_words(cbridge):
    said = cbridge("nonesuch")
    assert said == (2, "", "cbridge: corpus has no command 'nonesuch'; see --help\n")
    assert cbridge().status == 2
    assert "-j: 'x': expected a number" in cbridge("replay", "c", "-j", "x").err.replace(
        "/--jobs", ""
    )


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_a_bar_on_a_terminal_only(monkeypatch):
    monkeypatch.setattr(_progress, "_REDRAW", 0)
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        progress = _progress.Progress("compiling", 4, stream)
        for _ in range(4):
            progress.advance()
        progress.close()
    assert "[##########..........] compiling: 2 of 4" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert file.getvalue() == ""


def test_progress_is_sparse_lines_elsewhere(monkeypatch):
    monkeypatch.setattr(_progress, "_LINE_EVERY", 0)
    file = io.StringIO()
    progress = _progress.Progress("compiling", 3, file)
    progress.advance()
    progress.advance("dash")
    progress.advance()
    assert file.getvalue().splitlines() == [
        "compiling: 1 of 3",
        "compiling: 2 of 3, dash",
        "compiling: 3 of 3",
    ]


def test_notes_follow_the_time_that_is_left(monkeypatch):
    monkeypatch.setattr(_progress, "_LINE_EVERY", 0)
    file = io.StringIO()
    progress = _progress.Progress("searching", 2, file)
    progress._start -= 60
    progress.advance("text -0.75 %")
    assert file.getvalue() == "searching: 1 of 2, 60 s left, text -0.75 %\n"
