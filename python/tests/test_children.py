"""Processes with a deadline, that can be stopped."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from compiler_bridge._children import Children, Stopped

PATIENCE = 20.0


def test_how_a_process_ends(tmp_path):
    children = Children()
    assert children.run(["true"], PATIENCE).status == 0
    done = children.run(["sh", "-c", "echo note >&2; echo 'error: no' >&2; exit 3"], PATIENCE)
    assert done.status == 3
    assert done.why == "exit status 3: error: no"
    assert children.run(["sh", "-c", "kill -SEGV $$"], PATIENCE).why == "ended by SIGSEGV"
    (tmp_path / "in").write_text("some text")
    children.run(["cat"], PATIENCE, stdin=tmp_path / "in", stdout=tmp_path / "out")
    assert (tmp_path / "out").read_text() == "some text"
    with pytest.raises(FileNotFoundError):
        children.run(["/nonexistent"], PATIENCE)


def test_processor_time_is_that_of_the_process():
    children = Children()
    busy = children.run(["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"], PATIENCE)
    idle = children.run(["sh", "-c", "read x < /dev/null"], PATIENCE)
    assert busy.seconds > 0.05
    assert idle.seconds < busy.seconds


def test_what_takes_too_long_is_ended(tmp_path, process_state):
    """With all that it has started."""
    script = f"sleep 1000 & echo $! > {tmp_path}/pid; wait"
    done = Children().run(["sh", "-c", script], 0.5)
    assert done.status is None
    assert done.why == "took too long"
    pid = int((tmp_path / "pid").read_text())
    end = time.monotonic() + PATIENCE
    while process_state(pid) is not None:
        assert time.monotonic() < end, "a process was left behind"


def test_stopping(tmp_path):
    children = Children()
    ended = []

    def wait_for_ever() -> None:
        with pytest.raises(Stopped):
            children.run(["sh", "-c", f": > {tmp_path}/started; sleep 1000"], 1000)
        ended.append(True)

    thread = threading.Thread(target=wait_for_ever)
    thread.start()
    end = time.monotonic() + PATIENCE
    while not Path(tmp_path / "started").exists():
        assert time.monotonic() < end
    children.stop()
    thread.join(PATIENCE)
    assert ended == [True]
    with pytest.raises(Stopped):
        children.run(["true"], PATIENCE)
