"""Many pieces of work at once."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from compiler_bridge._children import Children
from compiler_bridge._workers import for_each

PATIENCE = 20.0


def test_results_are_in_order():
    turn = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert turn.wait(PATIENCE)
        elif item == 5:
            turn.set()
        return item * item

    assert list(for_each(range(20), work, 3, Children())) == [item * item for item in range(20)]
    assert list(for_each([], work, 3, Children())) == []


def sleepers(children: Children, folder: object):
    def work(item: int) -> None:
        children.run(["sh", "-c", f"echo $$ >> {folder}/started; exec sleep 1000"], 1000)

    return work


def wait_for(file) -> list[int]:
    end = time.monotonic() + PATIENCE
    while not file.exists() or not file.read_text().endswith("\n"):
        assert time.monotonic() < end
    return [int(word) for word in file.read_text().split()]


def test_what_fails_ends_the_others(tmp_path, process_state):
    children = Children()
    sleep = sleepers(children, tmp_path)

    def work(item: int) -> None:
        if item == 1:
            wait_for(tmp_path / "started")
            raise ValueError("one")
        sleep(item)

    threads = threading.active_count()
    with pytest.raises(ValueError, match="one"):
        list(for_each(range(9), work, 2, children))
    assert threading.active_count() == threads
    assert all(process_state(pid) is None for pid in wait_for(tmp_path / "started"))
    # Not for ever.
    assert children.run(["true"], PATIENCE).status == 0


def test_a_loop_that_is_left_ends_what_runs(tmp_path):
    children = Children()
    sleep = sleepers(children, tmp_path)
    threads = threading.active_count()
    results = for_each(range(9), lambda item: sleep(item) if item else None, 2, children)
    assert next(results) is None
    results.close()
    assert threading.active_count() == threads


def test_ctrl_c_is_an_exception_once_all_has_ended(tmp_path, process_state):
    children = Children()
    sleep = sleepers(children, tmp_path)
    before = signal.getsignal(signal.SIGINT)

    def work(item: int) -> None:
        if item == 1:
            wait_for(tmp_path / "started")
            os.kill(os.getpid(), signal.SIGINT)
        sleep(item)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threads = threading.active_count()
        with pytest.raises(KeyboardInterrupt):
            list(for_each(range(9), work, 2, children))
        assert threading.active_count() == threads
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert all(process_state(pid) is None for pid in wait_for(tmp_path / "started"))
