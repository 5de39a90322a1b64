"""The model's end for many compilers at once: signals, forks, load."""

from __future__ import annotations

import gc
import os
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from pools import X, Y

from compiler_bridge import CompilerPool

pytestmark = pytest.mark.usefixtures("temporary")

# The interpreter


WAITING = """
import sys
from compiler_bridge import CompilerPool
with CompilerPool(2, linger=float(sys.argv[1])) as pool:
    print(*pool.addresses, flush=True)
    try:
        pool.next()
    except KeyboardInterrupt:
        if len(sys.argv) < 3:
            raise
        print("interrupted", flush=True)
        pool._linger = 0
        print(pool.next(timeout=5).reply([7]), flush=True)
        pool.next()
"""


def test_control_c_while_waiting(start, until, temporary):
    process = start(WAITING, "0")
    process.line()
    until(process.is_waiting)
    begin = time.monotonic()
    process.interrupt()
    assert "KeyboardInterrupt" in process.finish()[2]
    assert time.monotonic() - begin < 2
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("goes_on", [False, True])
def test_control_c_while_lingering(start, until, temporary, compiler_process, goes_on):
    process = start(WAITING, "1000", *["goes on"] * goes_on)
    addresses = process.line().split()
    idle, asking = [compiler_process(f"{address}?timeout=20s") for address in addresses]
    assert [idle.line(), asking.line()] == ["open", "open"]
    asking.ask(1)
    until(asking.is_waiting)
    begin = time.monotonic()
    process.interrupt()
    if goes_on:
        assert [process.line(), process.line()] == ["interrupted", "1"]
        assert asking.line() == "7"  # what had come was not lost
        process.interrupt()
    assert "KeyboardInterrupt" in process.finish()[2]
    assert time.monotonic() - begin < 4
    assert list(temporary.iterdir()) == []


KILLED = """
import sys
from compiler_bridge import CompilerPool
pool = CompilerPool(1, scheme=sys.argv[1])
print("ready", flush=True)
pool.next()
"""


def test_the_next_pool_removes_what_a_killed_one_left(channel, start, temporary):
    killed = start(KILLED, channel)
    assert killed.line() == "ready"
    killed.kill()
    killed.end()
    assert len(list(temporary.iterdir())) == 1
    following = start(KILLED, channel)
    assert following.line() == "ready"
    assert len(list(temporary.iterdir())) == 1
    following.interrupt()
    following.finish()
    assert list(temporary.iterdir()) == []


FORKING = """
import multiprocessing, os, sys
from compiler_bridge import CompilerPool
pool = CompilerPool(1, scheme=sys.argv[1])
kept = []
while not (kept and len(kept[-1])):
    if not kept:
        print(pool.addresses[0], flush=True)
    kept.append(pool.next())
def child():
    assert pool.next() is None
    assert kept[-1].reply([1]) == 0
    pool.close()
worker = multiprocessing.get_context("fork").Process(target=child)
worker.start()
worker.join()
assert worker.exitcode == 0
pid = os.fork()
if pid == 0:
    sys.exit(0)  # runs what is registered to run at the end
assert os.waitpid(pid, 0)[1] == 0
folder = os.path.dirname(pool.addresses[0].partition(":")[2])
from urllib.parse import unquote
assert os.path.isdir(unquote(folder)), "a child removed our files"
print(kept[-1].reply([2]), flush=True)
if os.fork() == 0:
    print(os.getpid(), flush=True)
    os.read(0, 1)  # until the test closes the other end
    os._exit(0)
pool.next()
"""


def test_forked_children_leave_the_pool_alone(
    channel, start, compiler_process, process_state, temporary
):
    trainer = start(FORKING, channel)
    address = trainer.line()
    compiler = compiler_process(f"{address}?timeout=20s")
    compiler.ask(1)
    assert trainer.line() == "1"
    assert [compiler.line(), compiler.line()] == ["open", "2"]
    worker = int(trainer.line())
    begin = time.monotonic()
    trainer.kill()
    compiler.ask(2)
    status, _, errors = compiler.finish()  # at once, though a child of the trainer lives
    assert process_state(worker) is not None
    assert time.monotonic() - begin < 5
    assert status != 0
    assert "peer_closed" in errors
    trainer.end()


EXITING = """
import sys, threading
from compiler_bridge import CompilerPool, Runner, TensorSpec
pool = CompilerPool(2, linger=1000)
x, y = TensorSpec("x", "int64"), TensorSpec("y", "int64")
def ask(address):
    with Runner(address, [x], y) as runner:
        assert runner.evaluate({"x": 3})["y"].item() == 3
threads = [threading.Thread(target=ask, args=[address]) for address in pool.addresses]
for thread in threads:
    thread.start()
left = 2
while left:
    batch = pool.next()
    left -= batch.reply(batch["x"])
for thread in threads:
    thread.join()
kept = batch.requests
print("end")
"""


def test_nothing_leaks_at_the_end(start, temporary):
    assert start(EXITING).finish() == (0, "end\n", "")
    assert list(temporary.iterdir()) == []


def test_a_forgotten_pool_is_collected(crew, temporary):
    pool = CompilerPool(1)
    crew.open(pool, (pool.addresses[0], [X], Y, [{"x": 1}]))
    crew.go()
    batch = pool.next(timeout=20)
    assert len(list(temporary.iterdir())) == 1
    del pool, batch
    gc.collect()
    assert list(temporary.iterdir()) == []
    ((error,),) = crew.results()
    assert error.code == "peer_closed"


# Under load

BUSY = """
import sys
import numpy as np
from compiler_bridge import Runner, TensorSpec
worker, count = int(sys.argv[2]), int(sys.argv[3])
inputs = [TensorSpec("id", "int64", [2]), TensorSpec("v", "float32", [16]),
          TensorSpec("d", "int32", [-1])]
outputs = [TensorSpec("y", "int64"), TensorSpec("w", "float32", [-1])]
with Runner(sys.argv[1] + "?on_error=fail&timeout=30s", inputs, outputs) as runner:
    for i in range(count):
        v = np.full(16, worker + i / 1024, np.float32)
        d = np.full(i % 50, worker * 1000 + i, np.int32)
        answer = runner.evaluate({"id": [worker, i], "v": v, "d": d})
        assert answer["y"].item() == worker * 1_000_003 + i, (worker, i, answer)
        assert answer["w"].shape == d.shape and (answer["w"] == d).all(), (worker, i, answer)
        runner.reward(worker + i)
print("right")
"""


@pytest.mark.parametrize("options", [{}, {"copy": False, "linger": 0.001, "max_batch": 3}])
def test_each_compiler_gets_its_own_answers(start, tmp_path, options):
    count = 300
    addresses = [f"{'pipe' if i in (3, 5) else 'shm'}:{tmp_path}/{i % 7}" for i in range(8)]
    with CompilerPool(sorted(set(addresses)), sessions=8, **options) as pool:
        processes = [
            start(BUSY, address, str(worker), str(count))
            for worker, address in enumerate(addresses)
        ]
        answered, rewards = 0, 0.0
        for batch in pool:
            ids = batch["id"]
            if len(batch):
                assert (batch["v"][:, 0] == ids[:, 0] + ids[:, 1] / np.float32(1024)).all()
            answered += batch.reply({"y": ids[:, 0] * 1_000_003 + ids[:, 1], "w": batch["d"]})
            rewards += np.nansum(batch.rewards) + sum(end.reward for end in batch.ended)
        for process in processes:
            assert process.finish() == (0, "right\n", "")
    assert answered == 8 * count
    assert rewards == sum(worker + i for worker in range(8) for i in range(count))


# The guide

MYCC = """#!{python}
import sys
import numpy as np
from compiler_bridge import Runner, TensorSpec
worker = int(sys.argv[1].rpartition("/")[2])
address = sys.argv[1].partition("=")[2]
inputs, output = [TensorSpec("features", "float32", [8])], TensorSpec("unroll", "int64")
with Runner(address + "?on_error=fail", inputs, output) as runner:
    for i in range(20):
        assert runner.evaluate({{"features": np.full(8, i)}})["unroll"].item() in (0, 1, 2)
    runner.reward(worker / 2)
"""


def test_the_example_of_the_guide_runs(start, tmp_path, monkeypatch):
    guide = Path(__file__).parents[2] / "docs/guide/answer-from-python.md"
    section = guide.read_text().partition("## Many compilers at once")[2]
    example = re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1)
    compiler = tmp_path / "mycc"
    compiler.write_text(MYCC.format(python=sys.executable))
    compiler.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    status, out, errors = start(example).finish()
    assert (status, errors) == (0, "")
    assert sorted(out.splitlines()) == [f"compiler {i}: reward {i / 2}" for i in range(4)]
