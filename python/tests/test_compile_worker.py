"""The compile worker: a clang that is ready to compile, and forks a child per task."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import compiler_bridge
from compiler_bridge import _compile_worker
from compiler_bridge._children import Stopped
from compiler_bridge._compile_worker import CompileWorker, CompileWorkers, WorkerError
from compiler_bridge.scoring import _elf

PATIENCE = 20.0
SOURCE = """
int weigh(int);
int table[] = {1, 2, 3};
static int add(int a, int b) { return weigh(a) + weigh(b); }
int first(int x) { return add(x, 1) + add(x, 2); }
int second(int x) { return add(x, 3); }
"""
# Each macro is thirty of the next: takes longer than anybody waits.
ENDLESS = (
    "".join(
        f"#define {name}(x) {' '.join([f'{following}(x)'] * 30)}\n"
        for name, following in zip("ABCDEFG", "BCDEFGH", strict=True)
    )
    + "#define H(x) x\nA(1)\n"
)


@pytest.fixture(autouse=True)
def worker_there():
    try:
        _compile_worker.find()
    except WorkerError as why:
        pytest.skip(str(why))


@pytest.fixture
def worker():
    made = CompileWorker()
    yield made
    made.close()


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "x.c"
    file.write_text(SOURCE)
    return str(file)


@pytest.fixture
def endless(tmp_path):
    file = tmp_path / "endless.c"
    file.write_text(ENDLESS)
    return str(file)


def cc1(source, *more):
    return ["-cc1", "-triple", "x86_64-pc-linux-gnu", "-emit-obj", "-Oz", *more, source]


def children_of(pid):
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(each) for each in found]


def test_the_object_is_clangs(worker, source, tmp_path):
    mine, clangs = tmp_path / "mine.o", tmp_path / "clangs.o"
    done = worker.compile(cc1(source), object_file=mine)
    subprocess.run(["clang-19", *cc1(source), "-o", str(clangs)], check=True, timeout=60)
    assert mine.read_bytes() == clangs.read_bytes()
    assert done.failure == ""
    assert not done.timeout
    sizes = _elf.sizes(clangs)
    assert (done.text, done.total) == (sizes.text, sizes.total)
    assert set(done.functions) >= {"first", "second"}
    assert sum(done.functions.values()) <= done.text
    assert done.seconds > 0


def test_compiles_do_not_know_of_each_other(worker, source, tmp_path):
    """Options of LLVM are global variables, and would stay in one process."""
    plain = worker.compile(cc1(source))
    much = worker.compile(cc1(source, "-mllvm", "-inline-threshold=1000"))
    assert much.text != plain.text
    assert worker.compile(cc1(source)).functions == plain.functions
    # Without -o the object is nowhere, whatever the arguments say.
    output = tmp_path / "not.o"
    assert worker.compile(cc1(source, "-o", str(output))).text == plain.text
    assert not output.exists()


def test_what_fails_is_told(worker, source, tmp_path):
    wrong = tmp_path / "wrong.c"
    wrong.write_text("int x = ;\n")
    done = worker.compile(cc1(str(wrong)))
    assert done.failure == "exit status 1"
    assert "expected expression" in done.why
    assert not done.timeout
    done = worker.compile(cc1(source, "-mllvm", "-no-such-option"))
    assert done.failure
    assert "no-such-option" in done.printed
    assert worker.compile(cc1(str(tmp_path / "none.c"))).failure
    done = worker.compile(cc1(source), object_file=tmp_path / "no" / "folder.o")
    assert "folder.o" in done.failure
    assert worker.compile(cc1(source)).failure == ""


def test_a_crash_is_the_childs(worker, tmp_path, source):
    crashing = tmp_path / "crash.c"
    crashing.write_text("#pragma clang __debug llvm_fatal_error\n")
    done = worker.compile(cc1(str(crashing)))
    assert done.failure
    trap = tmp_path / "trap.c"
    trap.write_text("#pragma clang __debug llvm_unreachable\n#pragma clang __debug crash\n")
    assert "signal" in worker.compile(cc1(str(trap))).failure
    process = worker._process
    assert worker.compile(cc1(source)).text
    assert worker._process is process


def test_what_takes_too_long_is_ended(worker, endless, source):
    done = worker.compile(cc1(endless), timeout=0.3)
    assert done.timeout
    assert done.failure == "took too long"
    assert worker.compile(cc1(source)).failure == ""
    assert children_of(worker._process.pid) == []


def test_a_child_that_is_killed(worker, endless, until):
    results = []
    thread = threading.Thread(target=lambda: results.append(worker.compile(cc1(endless))))
    thread.start()
    (child,) = until(lambda: worker._process and children_of(worker._process.pid))
    os.kill(child, signal.SIGKILL)
    thread.join(PATIENCE)
    assert results[0].failure.startswith("ended by signal 9")
    assert results[0].was_ended


def test_a_worker_that_is_killed_is_replaced(worker, source):
    assert worker.compile(cc1(source)).text
    os.kill(worker._process.pid, signal.SIGKILL)
    ended = worker.compile(cc1(source))
    assert (ended.failure, ended.was_ended) == ("the compile worker ended", True)
    assert worker.compile(cc1(source)).text


def test_closing_ends_what_is_compiled(worker, endless, until, process_state):
    errors = []

    def work():
        try:
            worker.compile(cc1(endless))
        except Stopped as stopped:
            errors.append(stopped)

    thread = threading.Thread(target=work)
    thread.start()
    (child,) = until(lambda: worker._process and children_of(worker._process.pid))
    worker.close()
    thread.join(PATIENCE)
    assert errors
    until(lambda: process_state(child) is None)
    with pytest.raises(Stopped):
        worker.compile(cc1(endless))


OWNER = """
import sys
from compiler_bridge._compile_worker import CompileWorker
worker = CompileWorker()
worker._running()
print(worker._process.pid, flush=True)
worker.compile(sys.argv[1:])
"""


def test_without_its_owner_nothing_is_left(start, endless, until, process_state):
    owner = start(OWNER, *cc1(endless))
    worker = int(owner.line())
    (child,) = until(lambda: children_of(worker))
    owner.kill()
    until(lambda: process_state(child) is None, "the compile goes on")
    until(lambda: process_state(worker) is None, "the worker goes on")


def test_the_environment_of_a_task(source, monkeypatch):
    """Seen by way of the pass plugin."""
    tool = Path(compiler_bridge.__file__).parent / "bin" / "cbridge"
    told = subprocess.run([tool, "plugin-path", "llvm"], capture_output=True, text=True, timeout=20)
    if told.returncode:
        pytest.skip("the pass plugin was not built")
    plugin = told.stdout.strip()
    monkeypatch.setenv("CBRIDGE_INLINE_MODEL", "constant:1")
    worker = CompileWorker([plugin])

    def functions(**environment):
        done = worker.compile(cc1(source, f"-fpass-plugin={plugin}"), environment=environment)
        assert not done.failure
        return set(done.functions)

    try:
        assert functions() == {"first", "second"}
        assert functions(CBRIDGE_INLINE_MODEL="constant:0") == {"add", "first", "second"}
        assert functions(CBRIDGE_INLINE_MODEL=None) == {"add", "first", "second"}
        assert functions() == {"first", "second"}  # each was for one task
    finally:
        worker.close()


def test_lines_that_are_no_tasks(source, until, process_state):
    good = json.dumps({"arguments": cc1(source)[1:], "seconds": 60})
    lines = ["moon", "[]", "{}", '{"arguments": 1}', '{"arguments": [1]}', "", good]
    process = subprocess.Popen(
        [_compile_worker.find()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        for line in lines:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            if line is good:
                assert answer["text"] > 0
            else:
                assert answer["failure"].startswith("wrong task: "), line
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


def test_a_plugin_that_cannot_be_loaded(tmp_path, source, capfd):
    (tmp_path / "bad.so").write_text("no library")
    worker = CompileWorker([tmp_path / "bad.so"])
    with pytest.raises(WorkerError, match="cannot start"):
        worker.compile(cc1(source))
    worker.close()
    assert "bad.so" in capfd.readouterr().err


def test_several(source):
    with CompileWorkers(2) as workers:
        assert len(workers) == 2
        with workers.one() as a, workers.one() as b:
            assert a is not b
            assert a.compile(cc1(source)).functions == b.compile(cc1(source)).functions
        with workers.stopping(), workers.one() as a, pytest.raises(Stopped):
            a.compile(cc1(source))


def test_help_and_the_variable(monkeypatch):
    told = subprocess.run(
        [_compile_worker.find(), "--help"], capture_output=True, text=True, timeout=20, check=True
    )
    assert told.stdout.startswith("usage: cbridge-compile-worker")
    monkeypatch.setenv("CBRIDGE_COMPILE_WORKER", sys.executable)
    assert _compile_worker.find() == Path(sys.executable)
