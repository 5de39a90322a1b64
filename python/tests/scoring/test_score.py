"""`cbridge score` over a small corpus, with clang."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from compiler_bridge import CompilerInterface, TensorSpec, scoring
from compiler_bridge.corpus import Corpus, CorpusWriter
from compiler_bridge.log import LogWriter
from compiler_bridge.scoring import Cache, Children, Compiler, Policy, Settings, _elf

from .conftest import MUCH, NEVER, ORDERED, add_module

PATIENCE = 30.0


def test_a_policy_that_makes_code_larger(modules, score, tmp_path):
    files = {kind: tmp_path / f"x.{kind}" for kind in ("json", "csv", "html")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", path)]
    done = score(modules, MUCH, *options)
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1].startswith("Worse: text +")
    result = json.loads(files["json"].read_text())
    assert result["verdict"] == "worse"
    text = result["metrics"]["text"]
    assert text["pairs"] == len(result["modules"]) == 6
    assert text["total"]["low"] > 0
    assert text["more"] == 5, "main.c does not grow"
    for key in ("total", "instructions", "seconds"):
        assert result["metrics"][key]["baseline"] > 0
    rows = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    assert [row["name"] for row in rows] == [each["module"] for each in result["modules"]]
    sums = [sum(int(row[f"text_{side}"]) for row in rows) for side in ("baseline", "policy")]
    assert sums == [text["baseline"], text["policy"]]
    assert files["html"].read_text().startswith("<!DOCTYPE html>")


def test_the_object_is_that_of_one_compile(modules, tmp_path):
    """Optimized and compiled in two steps, so that the IR can be counted."""
    compiler = Compiler.find("clang-19", Children(), 60)
    with CorpusWriter(tmp_path / "corpus") as writer:
        add_module(writer, tmp_path, "ordered.c", ORDERED)
    ordered = Corpus.open(tmp_path / "corpus").module("ordered.c.o")
    step = Corpus.open(modules).module("step3.c.o")
    for module, text in ((ordered, "heuristic:"), (step, "heuristic:"), (step, MUCH)):
        policy = Policy.parse(text)
        command = module.compile_command("clang-19", tmp_path / "one.o", policy.arguments)
        subprocess.run(command, check=True, timeout=60)
        measured = compiler.measure(module, policy, tmp_path)
        assert (tmp_path / "object.o").read_bytes() == (tmp_path / "one.o").read_bytes()
        sizes = _elf.sizes(tmp_path / "one.o")
        assert (measured.text, measured.total) == (sizes.text, sizes.total)


def test_instructions_are_those_of_the_optimized_ir(modules, tmp_path):
    module = Corpus.open(modules).module("step3.c.o")
    compiler = Compiler.find("clang-19", Children(), 60)
    for policy in (Policy.parse("heuristic:"), Policy.parse(MUCH)):
        command = module.compile_command("clang-19", tmp_path / "one.ll", policy.arguments)
        command[command.index("-emit-obj")] = "-emit-llvm"
        subprocess.run(command, check=True, timeout=60)
        # An instruction is a line, in these functions.
        lines = (tmp_path / "one.ll").read_text().splitlines()
        count = sum(line.startswith("  ") for line in lines)
        assert compiler.measure(module, policy, tmp_path).instructions == count


def test_plain_clang_is_identical(modules, score):
    done = score(modules, "heuristic:")
    assert done.status == 0
    assert done.out.splitlines()[-1] == "Identical: text is the same, over 6 modules."


def test_the_baseline_is_kept(modules, score, cache, tmp_path):
    file = tmp_path / "x.json"

    def run(*words):
        assert score(modules, *words, "--json", file).status == 0
        return json.loads(file.read_text())

    first = run(MUCH)
    assert first["baselines_from_cache"] == 0
    again = run(MUCH)
    assert again["baselines_from_cache"] == 6
    # Times of another run are not compared.
    assert "seconds" not in again["metrics"]
    for key in ("text", "total", "instructions"):
        assert again["metrics"][key] == first["metrics"][key]
    assert run(NEVER, "--no-cache")["baselines_from_cache"] == 0
    assert run(NEVER, "--cache", tmp_path / "other")["baselines_from_cache"] == 0
    assert run(NEVER, "--baseline", MUCH)["baselines_from_cache"] == 0
    assert run(NEVER, "--baseline", MUCH)["baselines_from_cache"] == 6
    entries = list(cache.rglob("*.json"))
    assert len(entries) == 12
    for entry in entries:
        entry.write_text("{")
    assert run(MUCH)["metrics"]["text"] == first["metrics"]["text"]


def test_a_module_that_changes_is_measured_again(corpus, score, tmp_path):
    file = tmp_path / "x.json"
    score(corpus, MUCH)
    (corpus / "step1.c.o.bc").write_bytes((corpus / "step2.c.o.bc").read_bytes())
    command = (corpus / "step3.c.o.cmd").read_bytes()
    (corpus / "step3.c.o.cmd").write_bytes(command.replace(b"-Oz", b"-O2"))
    score(corpus, MUCH, "--json", file)
    assert json.loads(file.read_text())["baselines_from_cache"] == 4


def test_broken_modules_are_left_out(corpus, score, tmp_path):
    (corpus / "step1.c.o.bc").write_bytes(b"BC no bitcode")
    (corpus / "step2.c.o.bc").unlink()
    (corpus / "step3.c.o.cmd").unlink()
    file = tmp_path / "x.json"
    done = score(corpus, MUCH, "--json", file, "--html", tmp_path / "x.html")
    assert done.status == 0
    assert "left out: module step1.c.o: by the baseline: exit status 1: " in done.out
    assert f"left out: module step2.c.o: there is no file {corpus}/step2.c.o.bc" in done.out
    assert f"left out: module step3.c.o: {corpus}/step3.c.o.cmd: there is no such file" in done.out
    result = json.loads(file.read_text())
    assert len(result["modules"]) == 3
    assert "3 modules left out" in (tmp_path / "x.html").read_text()


def test_modules_that_cannot_be_read(corpus, score):
    for name in ("step0.c.o.bc", "step1.c.o.bc", "step2.c.o.cmd", "step3.c.o.bc", "step4.c.o.cmd"):
        (corpus / name).unlink()
    (corpus / "step0.c.o.bc").symlink_to("step0.c.o.bc")
    (corpus / "step1.c.o.bc").mkdir()
    (corpus / "step2.c.o.cmd").mkdir()
    os.mkfifo(corpus / "step3.c.o.bc")
    os.mkfifo(corpus / "step4.c.o.cmd")
    done = score(corpus, MUCH)
    assert done.status == 0, done.err
    assert [line for line in done.out.splitlines() if line.startswith("left out: ")] == [
        f"left out: module step0.c.o: {corpus}/step0.c.o.bc: Too many levels of symbolic links",
        f"left out: module step1.c.o: {corpus}/step1.c.o.bc: is no regular file",
        f"left out: module step2.c.o: {corpus}/step2.c.o.cmd: is no regular file",
        f"left out: module step3.c.o: {corpus}/step3.c.o.bc: is no regular file",
        f"left out: module step4.c.o: {corpus}/step4.c.o.cmd: is no regular file",
    ]


def test_modules_of_names_that_no_file_has(modules):
    corpus = Corpus.open(modules)
    names = ("nul\0.o", "lone\ud800.o", "x" * 300)
    result = scoring.score(
        dataclasses.replace(corpus, names=(*names, "main.c.o")),
        Policy.parse(MUCH),
        Policy.parse("heuristic:"),
        Compiler.find("clang-19", Children(), 60),
        Settings(jobs=1, cache=Cache(None)),
    )
    assert [failure.name for failure in result.broken] == list(names)
    assert [pair.module for pair in result.pairs] == ["main.c.o"]


def test_what_only_the_baseline_compiles_is_a_warning(corpus, score):
    command = (corpus / "step1.c.o.cmd").read_bytes()
    (corpus / "step1.c.o.cmd").write_bytes(command + b"\0-mframe-pointer=all")
    done = score(corpus, "flags:-mllvm -inline-threshold=1000", "--clang", failing(corpus))
    assert done.status == 0, done.err
    assert (
        "warning: 1 module left out that only the baseline compiles: step1.c.o: by the policy"
        in (done.out)
    )


def failing(folder: Path) -> Path:
    """A clang that crashes for one module if it is to inline much."""
    return wrapper(
        folder,
        'case "$*" in *frame-pointer=all*inline-threshold=1000*) kill -SEGV $$;; esac\n'
        'exec clang-19 "$@"\n',
    )


def wrapper(folder: Path, script: str) -> Path:
    path = folder / "my-clang"
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)
    return path


def test_what_cannot_be_scored(modules, score, tmp_path):
    def told(*words):
        done = score(*words)
        assert done.status == 2
        assert done.out == ""
        return done.err

    assert told(tmp_path, MUCH) == f"cbridge: {tmp_path}: has no corpus_description.json\n"
    assert "cbridge: 'x' is no policy; expected a runner string such as " in told(modules, "x")
    assert "cbridge: no module can be compiled; " in told(modules, "flags:-nonsense")
    assert "unknown argument: '-nonsense'" in told(modules, "flags:-nonsense")
    assert "there is no compiler 'none'" in told(modules, MUCH, "--clang", "none")
    assert "is it clang?" in told(modules, MUCH, "--clang", "false")
    assert "there is no folder" in told(modules, MUCH, "--html", tmp_path / "none" / "x.html")
    assert "--seed: -1 is below 0" in told(modules, MUCH, "--seed", "-1")
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "corpus_description.json").write_text('{"modules": []}')
    assert told(empty, MUCH) == f"cbridge: {empty}: the corpus has no modules\n"


def test_outputs_are_tried_before_anything_is_compiled(modules, score, tmp_path):
    kept, new = tmp_path / "kept.json", tmp_path / "new.html"
    kept.write_text("old")
    (tmp_path / "link.csv").symlink_to("elsewhere.csv")
    (tmp_path / "loop").symlink_to("loop")
    files = ["--json", kept, "--csv", tmp_path / "link.csv", "--html"]
    for wrong, why in (
        (tmp_path, "Is a directory"),
        (tmp_path / "loop", "Too many levels of symbolic links"),
        (tmp_path / ("x" * 300), "File name too long"),
        ("/proc/new.html", ""),  # nobody can, and why depends on who tries
    ):
        done = score(modules, MUCH, *files, wrong)
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith(f"cbridge: {wrong}: cannot be written: {why}")
    assert kept.read_text() == "old"
    assert score(modules, "flags:-nonsense", *files, new).status == 2
    assert kept.read_text() == "old"
    assert not new.exists()
    assert not (tmp_path / "elsewhere.csv").exists()
    assert score(modules, "heuristic:", *files, new).status == 0
    assert kept.read_text().startswith("{")
    assert (tmp_path / "elsewhere.csv").read_text().startswith("kind,")


def test_what_was_measured_is_told_even_if_it_cannot_be_written(modules, score, tmp_path):
    files = ["--json", "/dev/full", "--csv", tmp_path / "x.csv"]
    done = score(modules, "heuristic:", *files)
    assert done.status == 2
    assert done.out.endswith("Identical: text is the same, over 6 modules.\n")
    assert done.err == "cbridge: /dev/full: cannot be written: No space left on device\n"
    assert (tmp_path / "x.csv").read_text().startswith("kind,")


# A clang with a plugin that says what happens to a model, or asks it once per module.
PLUGIN = """\
for word do
  shift
  case $word in -fpass-plugin=*) ;; *) set -- "$@" "$word" ;; esac
done
case $CBRIDGE_INLINE_MODEL in
  '') ;;
  constant:*)
    set -- "$@" -mllvm -inline-threshold=1000
    record=${CBRIDGE_INLINE_MODEL#*record=}
    if [ "$record" != "$CBRIDGE_INLINE_MODEL" ]; then
      mkdir -p "$record" && cp LOGS/x.log "$record"
    fi ;;
  *) echo "cbridge: inlining by $CBRIDGE_INLINE_MODEL: there is no such model" >&2 ;;
esac
exec clang-19 "$@"
"""


@pytest.fixture
def with_plugin(tmp_path):
    """Options that make clang have a plugin."""
    logs = tmp_path / "logs"
    logs.mkdir()
    size, default = (TensorSpec(name, "int64", [1]) for name in ("size", "inlining_default"))
    with LogWriter(logs / "x.log", [size, default], TensorSpec("inline", "int64", [1])) as log:
        for value in range(4):
            log.write("m", {"size": [value], "inlining_default": [value % 2]}, {"inline": [1]})
    (tmp_path / "plugin.so").write_bytes(b"")
    clang = wrapper(tmp_path, PLUGIN.replace("LOGS", str(logs)))
    return "--clang", clang, "--plugin", tmp_path / "plugin.so"


def test_a_model_that_cannot_be_opened_is_no_tie(modules, score, with_plugin, tmp_path):
    html = tmp_path / "x.html"
    done = score(modules, "native:none.so", *with_plugin, "--html", html)
    assert done.status == 1
    verdict = done.out.splitlines()[-1]
    assert verdict.startswith("The policy did not decide: in all of 6 modules the heuristic did; ")
    assert "inlining by native:none.so: there is no such model" in verdict
    assert "Did not decide" in html.read_text()


def test_a_model_that_fails_in_some_modules(modules, score, with_plugin):
    clang = with_plugin[1]
    text = clang.read_text().replace("'') ;;", "'') ;;\n  x*) ;;", 1)
    text = text.replace(
        "  constant:*)", '  constant:*) case "$*" in *step1*) echo "cbridge: no" >&2;; esac'
    )
    clang.write_text(text)
    done = score(modules, "constant:1", *with_plugin)
    assert done.status == 0
    assert "warning: the policy fell back to the heuristic in 1 of 6 modules: no\n" in done.out


def test_a_model_that_is_never_asked(modules, score, with_plugin):
    clang = with_plugin[1]
    clang.write_text(clang.read_text().replace('"$record" != "$CBRIDGE', '"" != "'))
    clang.write_text(clang.read_text().replace("mkdir -p", "false && mkdir -p"))
    done = score(modules, "constant:1", *with_plugin)
    assert done.status == 1
    assert "The policy did not decide: it was not asked once." in done.out
    done = score(modules, "constant:1", *with_plugin, "--no-decisions")
    assert done.status == 0


def test_decisions_that_differ(modules, score, with_plugin, tmp_path):
    html, file = tmp_path / "x.html", tmp_path / "x.json"
    done = score(modules, "constant:1", *with_plugin, "--html", html, "--json", file)
    assert done.status == 0, done.err
    assert (
        "decisions: 12 of 24 differ from the baseline's (the policy was asked 24 times)" in done.out
    )
    found = json.loads(file.read_text())["decisions"]
    assert (found["asked_policy"], found["compared"], found["different"]) == (24, 24, 12)
    first = found["differences"][0]
    assert (first["baseline"], first["policy"], first["ordinal"]) == ([0.0], [1.0], 0)
    assert "Decisions that differ" in html.read_text()


@pytest.mark.usefixtures("plugin")
def test_the_plugin(modules, score, tmp_path):
    """The real one, where it was built."""
    file = tmp_path / "x.json"
    done = score(modules, "constant:1", "--json", file)
    assert done.status == 0, done.out + done.err
    assert "Worse: text" in done.out
    found = json.loads(file.read_text())["decisions"]
    assert found["compared"] == found["asked_policy"] >= 6
    sites = {(each["labels"]["caller"], each["labels"]["callee"]) for each in found["differences"]}
    assert {(f"outer{i}", f"step{i}") for i in range(5)} <= sites


@contextmanager
def answering(address, answer):
    """A peer that answers the n-th question of a session by answer(n)."""
    with CompilerInterface(address) as peer:

        def serve():
            asked = 0
            for request in peer:
                asked = 0 if request.done else asked + 1
                peer.reply({"inlining_decision": answer(asked)})

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            peer.close()
            thread.join(PATIENCE)


@pytest.mark.usefixtures("plugin")
def test_a_policy_that_is_wrong_once_per_module(modules, score, tmp_path):
    address, file = f"shm:{tmp_path}/peer", tmp_path / "x.json"
    with answering(address, lambda asked: 7 if asked == 1 else 0):
        done = score(modules, address, "-j1", "--json", file)
    assert done.status == 0, done.out + done.err
    found = json.loads(file.read_text())["decisions"]
    asked = found["asked_policy"]
    assert found["compared"] == asked > 6
    assert found["fallbacks_policy"] == 6
    why = "decision 'inlining_decision': 7 is out of range"
    assert f"warning: 6 of {asked} decisions were LLVM's, since {why}\n" in done.out
    assert done.out.count("warning: ") == 1
    with answering(address, lambda _: 7):
        done = score(modules, address, "-j1")
    assert done.status == 1
    assert "The policy did not decide: in all of 6 modules the heuristic did; " in done.out
    assert why in done.out


def test_ctrl_c_leaves_nothing_behind(modules, tmp_path, start, process_state):
    clang = wrapper(
        tmp_path,
        'case "$1" in -cc1) echo $$ >> "$TMPDIR/../started"; exec sleep 1000;; esac\n'
        'exec clang-19 "$@"\n',
    )
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    process = start(
        "import sys; from compiler_bridge.__main__ import main; sys.exit(main(sys.argv[1:]))",
        *["score", "--corpus", str(modules), "--policy", MUCH, "--clang", str(clang)],
        *["--no-cache", "-j2"],
        TMPDIR=str(scratch),
    )
    end = time.monotonic() + PATIENCE
    while not (tmp_path / "started").exists():
        assert time.monotonic() < end, process.finish()
    process.interrupt()
    status, out, err = process.finish()
    assert (status, out) == (130, "")
    assert err == "cbridge: interrupted; what was measured of the baseline is kept\n"
    assert list(scratch.iterdir()) == []
    for pid in pids(tmp_path / "started"):
        assert process_state(pid) is None, "a compiler was left behind"


def pids(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()]
