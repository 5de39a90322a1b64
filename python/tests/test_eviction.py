"""examples/eviction, in small: one program, a few steps, and what comes out is used by clang."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples/eviction"
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
int main(void) { printf("%ld\n", hash("registers are few", 1, 2, 3, 4, 5, 6)); }
"""
SMALL = ["--train", "tiny", "--steps", "2", "--pairs", "1", "--every", "1", "--epochs", "50"]


def run(script: str, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, FOLDER / script, *words]
    variables = {**os.environ, **environment}
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list with one program, twice."""
    folder = tmp_path_factory.mktemp("programs")
    entries = []
    for name in ("tiny", "other"):
        place = folder / name
        place.mkdir()
        (place / "a.c").write_text(SOURCE)
        subprocess.run(["clang-19", "-O0", place / "a.c", "-o", folder / "plain"], check=True)
        (place / "expected.txt").write_bytes(subprocess.check_output([folder / "plain"]))
        entry = {"name": name, "language": "c", "sources": ["a.c"], "arguments": []}
        entries.append({**entry, "stdin": None, "expected": "expected.txt"})
    file = folder / "programs.json"
    file.write_text(json.dumps({"programs": entries}))
    return file


@pytest.fixture(scope="module")
def policy(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("policy") / "evict.onnx"
    done = run("train.py", "-o", file, "--programs", programs, "--counter", "valgrind", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "step 2 of 2: executed" in done.stderr
    assert "agree" in done.stdout
    return file


def test_measured_by_cbridge_clang(programs, policy):
    options = ["--programs", programs, "--train", "tiny", "--counter", "valgrind"]
    done = run("measure.py", f"onnx:{policy}", *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("| trained on |") < done.stdout.index("| tiny |")
    assert done.stdout.index("| held out |") < done.stdout.index("| other |")


def test_goes_on_to_the_same_policy(programs, policy, tmp_path):
    again = tmp_path / "evict.onnx"
    words = ["-o", again, "--programs", programs, "--counter", "valgrind", *SMALL]
    command = [sys.executable, FOLDER / "train.py", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as interrupted:
        assert interrupted.stderr
        for line in interrupted.stderr:
            if line.startswith("step 1 of 2"):
                interrupted.send_signal(signal.SIGINT)
    assert interrupted.returncode == 130
    assert not again.exists()
    assert run("train.py", *words).returncode == 0
    assert again.read_bytes() == policy.read_bytes()
    assert run("train.py", *words).returncode == 0  # has nothing left to do
    assert again.read_bytes() == policy.read_bytes()
    words[words.index("--steps") + 1] = "3"
    refused = run("train.py", *words)
    assert refused.returncode == 2
    assert "was made with steps 2, now it is 3" in refused.stderr


def test_the_model_decides_as_the_network(policy, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import onnxruntime
    from policy import FEATURES, POSITIONS, as_onnx, choose, heuristic, rows_of

    from compiler_bridge.training import Network

    chance = np.random.default_rng(3)
    rows = chance.random((200, len(FEATURES))).astype(np.float32)
    network = Network.fresh(rows, (16, 8), 1, FEATURES)
    session = onnxruntime.InferenceSession(as_onnx(network).SerializeToString())
    for number in range(50):
        request = {
            each.name: chance.random(each.shape).astype(np.float32)
            if each.type == "tensor(float)"
            else chance.integers(0, 2, each.shape)
            for each in session.get_inputs()
        }
        if number % 2:
            request["use_def_density"][0, :4] = np.nan
        request["mask"][0, -1] = 1
        asked, allowed = rows_of(request)
        assert asked.shape == (POSITIONS, len(FEATURES))
        assert np.isfinite(asked).all()
        decision = choose(network, asked, allowed)
        assert allowed[decision]
        assert session.run(None, request)[0].tolist() == [decision]
        assert allowed[heuristic(asked, allowed)]


def test_the_heuristic(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    from policy import FEATURES, POSITIONS, heuristic

    rows = np.zeros((POSITIONS, len(FEATURES)), np.float32)
    hints, weights = (FEATURES.index(name) for name in ("nr_broken_hints", "use_def_density"))
    allowed = np.zeros(POSITIONS, bool)
    allowed[[2, 5, 32]] = True
    rows[[2, 5, 32], weights] = 0.4, 0.2, 0.3
    assert heuristic(rows, allowed) == 5
    rows[5, hints] = 1  # 2 breaks none, but weighs more
    assert heuristic(rows, allowed) == 32
    allowed[32] = False  # something must go
    assert heuristic(rows, allowed) == 2


def test_what_counts(programs, tmp_path):
    """perf where it works, else valgrind, else an error that says what to do."""
    tools = tmp_path / "tools"
    tools.mkdir()
    words = ["-o", tmp_path / "a.onnx", "--programs", programs, *SMALL]
    nothing = run("train.py", *words, PATH=str(tools))
    assert nothing.returncode == 2
    assert "Install the Debian package valgrind" in nothing.stderr
    wrong = run("train.py", *words, "--train", "nobody")
    assert wrong.returncode == 2
    assert "there is no program 'nobody'; there are tiny, other" in wrong.stderr


def test_perf(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FOLDER))
    import programs

    report = tmp_path / "report"
    report.write_text("# started\n\n1234,,instructions:u,100,100.00,,\n")
    assert programs._counted("perf", report) == 1234
    report.write_text("<not supported>,,instructions:u,0,100.00,,\n")
    with pytest.raises(programs.ExampleError, match="not supported"):
        programs._counted("perf", report)


@pytest.mark.parametrize("script", ["train.py", "measure.py"])
def test_help(script):
    assert "--counter {auto,perf,valgrind}" in run(script, "--help").stdout
