"""Folders that outlive a killed process, but not the next one."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys

import pytest

from compiler_bridge._scratch import Scratch


@pytest.fixture
def gone():
    """The id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


@pytest.fixture
def left(tmp_path, gone):
    """What a killed process has left."""
    folder = tmp_path / f"cbridge-x-{gone}-abc_1"
    (folder / "inside").mkdir(parents=True)
    (folder / "inside" / "file").write_text("x")
    return folder


def test_a_folder_until_it_is_closed(tmp_path):
    made = Scratch("cbridge-x-", str(tmp_path))
    assert made.path.name.startswith(f"cbridge-x-{os.getpid()}-")
    (made.path / "file").write_text("x")
    other = Scratch("cbridge-x-", str(tmp_path))  # leaves the first alone
    assert (made.path / "file").exists()
    made.close()
    made.close()
    assert list(tmp_path.iterdir()) == [other.path]
    other.close()


FORKS = """
import os
import sys
from compiler_bridge._scratch import Scratch

made = Scratch("cbridge-x-", sys.argv[1])
copy = os.fork()
if copy:
    assert os.waitpid(copy, 0)[1] == 0
    assert made.path.exists()
made.close()
"""


def test_a_forked_copy_leaves_it(tmp_path):
    """In a process of its own: in that of the tests are threads of other libraries."""
    subprocess.run([sys.executable, "-c", FORKS, tmp_path], check=True, timeout=60)
    assert list(tmp_path.iterdir()) == []


def test_the_next_one_removes_what_is_left(tmp_path, left):
    Scratch("cbridge-y-", str(tmp_path)).close()
    assert left.exists()
    Scratch("cbridge-x-", str(tmp_path)).close()
    assert list(tmp_path.iterdir()) == []


def test_links_are_not_followed(tmp_path, left, gone):
    target = left.rename(tmp_path / "mine")
    (tmp_path / f"cbridge-x-{gone}-link").symlink_to(target)
    (tmp_path / f"cbridge-x-{gone}-file").write_text("x")
    Scratch("cbridge-x-", str(tmp_path)).close()
    assert len(list(tmp_path.iterdir())) == 3
    assert (target / "inside" / "file").exists()


def test_those_of_others_stay(tmp_path, left, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    Scratch("cbridge-x-", str(tmp_path)).close()
    assert left.exists()


def test_those_of_another_container_stay(tmp_path, left):
    """Its processes cannot be seen."""
    lock = os.open(left, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    Scratch("cbridge-x-", str(tmp_path)).close()
    assert left.exists()
    os.close(lock)
    Scratch("cbridge-x-", str(tmp_path)).close()
    assert not left.exists()
