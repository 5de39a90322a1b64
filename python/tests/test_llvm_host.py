"""compiler_bridge.llvm.InteractiveHost with the compilers of Debian."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from compiler_bridge import BridgeError, BridgeTimeout
from compiler_bridge.llvm import InteractiveHost

pytestmark = pytest.mark.skipif(not shutil.which("clang-19"), reason="needs clang-19")

SOURCE = r"""
#include <stdio.h>
__attribute__((noinline)) long hash(const char *s, long a, long b, long c, long d, long e, long f) {
  long g = a ^ b, h = c ^ d, i = e ^ f, j = a + c, k = b + d, l = e + a, m = f + b;
  for (; *s; s++) {
    a = a * 31 + *s + g; b ^= a >> 3; c += b * h; d ^= c << 1; e += d * i; f ^= e >> 2;
    g += f * j; h ^= g << 2; i += h * k; j ^= i >> 1; k += j * l; l ^= k; m += l * a;
  }
  return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l ^ m;
}
static int twice(int x) { return 2 * x; }
static int thrice(int x) { return 3 * x + twice(x); }
int main(int argc, char **argv) {
  (void)argv;
  printf("%ld %d\n", hash("registers", 1, 2, 3, 4, 5, argc), thrice(argc) + twice(argc + 1));
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "a.c"
    file.write_text(SOURCE)
    return file


@pytest.fixture
def expected(tmp_path: Path, source: Path) -> str:
    subprocess.run(["clang-19", "-O0", source, "-o", tmp_path / "plain"], check=True)
    return subprocess.check_output([tmp_path / "plain"], text=True)


def test_evictions(tmp_path, source, expected):
    random = np.random.default_rng(1)
    contexts = set()
    with InteractiveHost(decisions="evict") as host:
        program = tmp_path / "program"
        for request in host.run(["clang-19", *host.flags(), "-O2", source, "-o", program]):
            contexts.add(request.context)
            assert request["mask"].shape == (1, 33)
            assert request["progress"].dtype == np.float32
            assert host.decision_of(request) == "evict"
            legal = np.flatnonzero(request["mask"])
            assert host.reply({"index_to_evict": random.choice(legal)}) is True
        assert host.returncode == 0
        counts = host.counts["evict"]
        assert counts.compilers == 1
        assert counts.questions > 5
        assert counts.replaced == 0
    assert subprocess.check_output([program], text=True) == expected
    assert "hash" in contexts


def test_illegal_replies_are_replaced(tmp_path, source, expected):
    with InteractiveHost(decisions="evict") as host:
        program = tmp_path / "program"
        for request in host.run(["clang-19", *host.flags(), "-O2", source, "-o", program]):
            assert request["mask"][0].sum() > 0
            assert host.reply(33) is False
            assert host.reply(0) is False  # it has its answer
        counts = host.counts["evict"]
        assert counts.replaced == counts.questions > 0
    assert subprocess.check_output([program], text=True) == expected


def test_several_decisions_at_once(tmp_path, source, expected):
    asked = set()
    with InteractiveHost(tmp_path / "base", decisions=["evict", "priority", "inline"]) as host:
        assert host.bases["priority"] == f"{tmp_path}/base-priority"
        program = tmp_path / "program"
        for request in host.run(["clang-19", *host.flags(), "-O2", source, "-o", program]):
            decision = host.decision_of(request)
            asked.add(decision)
            if decision == "evict":
                host.reply(int(np.flatnonzero(request["mask"])[-1]))
            elif decision == "priority":
                assert list(request) == ["li_size", "stage", "weight"]
                host.reply(float(request["li_size"][0]))
            else:
                assert "callee_basic_block_count" in request
                host.reply({"inlining_decision": 1})
        assert host.returncode == 0
    assert asked == {"evict", "priority", "inline"}
    assert subprocess.check_output([program], text=True) == expected
    assert sorted(os.listdir(tmp_path)) == ["a.c", "plain", "program"]


@pytest.mark.skipif(
    not shutil.which("opt-19") or not shutil.which("llc-19"), reason="needs llvm-19"
)
def test_opt_and_llc(tmp_path, source):
    raw, optimized = tmp_path / "a.bc", tmp_path / "a.opt.bc"
    unoptimized = ["-O2", "-Xclang", "-disable-llvm-passes", "-emit-llvm"]
    subprocess.run(["clang-19", *unoptimized, "-c", source, "-o", raw], check=True)
    with InteractiveHost(decisions="inline") as host:
        command = ["opt-19", *host.flags("opt"), "-passes=default<O2>", raw, "-o", optimized]
        for _request in host.run(command):
            host.reply(0)
        assert host.returncode == 0
        assert host.counts["inline"].questions > 0
    assert b"twice" in optimized.read_bytes()
    with InteractiveHost(decisions="evict") as host:
        for request in host.run(["llc-19", *host.flags("llc"), optimized, "-o", tmp_path / "a.s"]):
            host.reply(int(np.flatnonzero(request["mask"])[0]))
        assert host.returncode == 0
        assert host.counts["evict"].questions > 0


def test_a_compile_that_never_asks(tmp_path, source):
    with InteractiveHost() as host:
        for command in (["clang-19", *host.flags(), "-O0", "-c", source], ["true"], ["false"]):
            assert list(host.run(command, cwd=tmp_path)) == []
        assert host.returncode == 1
        with pytest.raises(FileNotFoundError):
            list(host.run(["no-such-compiler"]))


def test_one_compiler_after_the_other(tmp_path, source):
    with InteractiveHost() as host:
        sessions = set()
        for _ in range(3):
            command = ["clang-19", *host.flags(), "-O2", "-c", source]
            for request in host.run(command, cwd=tmp_path):
                sessions.add(request.session)
                host.reply(32)
            assert host.returncode == 0
        assert len(sessions) == host.counts["evict"].compilers == 3


def test_a_question_without_reply_gets_the_default(tmp_path, source, expected):
    with InteractiveHost() as host:
        program = tmp_path / "program"
        for _request in host.run(["clang-19", *host.flags(), "-O2", source, "-o", program]):
            pass
        assert host.returncode == 0
        assert host.counts["evict"].replaced == host.counts["evict"].questions > 0
    assert subprocess.check_output([program], text=True) == expected


def test_requests_may_be_kept(tmp_path, source):
    with InteractiveHost() as host:
        command = ["clang-19", *host.flags(), "-O2", "-c", source]
        kept = []
        for request in host.run(command, cwd=tmp_path):
            kept.append((request, request["mask"].copy()))
            host.reply(32)
    assert len(kept) > 1
    for request, mask in kept:
        assert (request["mask"] == mask).all()


def compilers_of(host: InteractiveHost) -> list[int]:
    """Processes that were told to ask at this host."""
    base = host.bases["evict"].encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if base in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            pass
    return found


@pytest.mark.parametrize("extra", [[], ["-save-temps"]])  # one process, or one below clang
def test_leaving_the_loop_ends_the_compiler(tmp_path, source, extra):
    with InteractiveHost() as host:
        command = ["clang-19", *host.flags(), *extra, "-O2", "-c", source]
        requests = host.run(command, cwd=tmp_path)
        next(requests)
        assert compilers_of(host)
        requests.close()
        assert compilers_of(host) == []
    assert not list(tmp_path.glob("*.tmp"))


def test_an_exception_ends_the_compiler(tmp_path, source):
    with pytest.raises(ZeroDivisionError) as caught, InteractiveHost() as host:  # noqa: PT012
        for _request in host.run(["clang-19", *host.flags(), "-O2", "-c", source], cwd=tmp_path):
            1 / 0  # noqa: B018
    assert caught.tb is not None  # which still holds the loop
    assert compilers_of(host) == []


def test_wrong_replies_raise_and_the_compile_goes_on(tmp_path, source):
    with InteractiveHost() as host:
        first = True
        for _request in host.run(["clang-19", *host.flags(), "-O2", "-c", source], cwd=tmp_path):
            if first:
                with pytest.raises(ValueError, match="index_to_evict"):
                    host.reply({"wrong": 1})
                with pytest.raises((TypeError, ValueError)):
                    host.reply(0.5)
                first = False
            host.reply(32)
        assert host.returncode == 0


def test_compilers_that_others_start(tmp_path, source):
    with InteractiveHost(tmp_path / "base") as host:
        with pytest.raises(BridgeTimeout):
            host.next(timeout=0.01)
        process = subprocess.Popen(
            ["clang-19", *host.flags(), "-O2", "-c", str(source)], cwd=tmp_path
        )
        closer = threading.Thread(target=lambda: (process.wait(), host.close()))
        closer.start()
        count = 0
        for _request in host:
            count += 1
            host.reply(32)
        closer.join()
        assert count > 0
        assert process.returncode == 0
        assert host.next() is None
        assert host.reply(1) is False


def test_interrupted():
    with InteractiveHost() as host:
        script = f"kill -INT {os.getpid()}; exec cat"
        with pytest.raises(KeyboardInterrupt):
            list(host.run(["sh", "-c", script], stdin=subprocess.PIPE))


def test_bases(tmp_path):
    with InteractiveHost(tmp_path / "base") as host:
        assert host.bases == {"evict": f"{tmp_path}/base"}
        assert sorted(os.listdir(tmp_path)) == ["base.in", "base.out"]
        with pytest.raises(BridgeError, match="is in use by another host"):
            InteractiveHost(tmp_path / "base")
    assert os.listdir(tmp_path) == []
    for wrong in ("evcit", [], ["evict", "evict"]):
        with pytest.raises(ValueError, match="decision"):
            InteractiveHost(decisions=wrong)
    with pytest.raises(BridgeError, match="nowhere"):
        InteractiveHost("/nowhere/base")


def test_flags():
    with InteractiveHost(decisions="priority") as host:
        base = host.bases["priority"]
        assert host.flags("llc") == [
            "-regalloc-enable-priority-advisor=release",
            f"-regalloc-priority-interactive-channel-base={base}",
        ]
        assert host.flags("clang++-19")[::2] == ["-mllvm", "-mllvm"]


# A compiler that tells whether an answer is there before it has asked, and does not ask at all.
EARLY = """
import os, select, sys
answers = os.open(sys.argv[1] + ".in", os.O_RDONLY | os.O_NONBLOCK)
sys.exit(bool(select.select([answers], [], [], 0)[0]))
"""


@pytest.mark.parametrize("replies", [True, False])
def test_answers_that_a_killed_compiler_left(tmp_path, source, replies):
    with InteractiveHost() as host:
        command = ["clang-19", *host.flags(), "-O2", "-c", source]
        for _ in range(3):
            requests = host.run(command, cwd=tmp_path)
            next(requests)
            requests.close()  # which ends the compiler, and its question is still open
            if replies:
                host.reply(32)
            assert not list(host.run([sys.executable, "-c", EARLY, host.bases["evict"]]))
            assert host.returncode == 0
        for request in host.run(command, cwd=tmp_path):
            host.reply(int(np.flatnonzero(request["mask"])[-1]))
        assert host.returncode == 0
