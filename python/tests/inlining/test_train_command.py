"""`cbridge train inline`, from a corpus to a policy."""

import os
import signal
import subprocess
import sys

import numpy as np
import onnx
import pytest

from compiler_bridge.__main__ import main
from compiler_bridge.training._network import Network

pytest.importorskip("torch")

SMALL = ["--every", "1", "--epochs", "3", "--batch", "4", "--pairs", "1", "-j", "2"]


@pytest.fixture
def train(modules, plugin, tmp_path):
    """Runs the command; its exit status, and the policy."""

    def run(name, *words):
        output = tmp_path / f"{name}.onnx"
        words = ["--corpus", str(modules), "-o", str(output), *SMALL, *words]
        return main(["train", "inline", *words]), output

    return run


@pytest.mark.parametrize("method", ["ppo", "es"])
def test_a_policy_comes_out(train, method, capsys, tmp_path):
    status, output = train("policy", "--method", method, "--steps", "2")
    told = capsys.readouterr()
    assert status == 0, told.err
    assert "step 2 of 2: text" in told.err
    assert f"wrote {output}: text" in told.out
    assert "agree" in told.out  # `cbridge verify`
    assert list((tmp_path / "policy.training" / "events").iterdir())
    picture = (tmp_path / "policy.training" / "curve.svg").read_text(encoding="utf-8")
    assert f"text by {method}, on " in picture
    model = onnx.load(output)
    properties = {each.key: each.value for each in model.metadata_props}
    assert properties["cbridge.name"] == "policy"
    # Fine-tuning begins there.
    status, tuned = train("tuned", "--from", str(output), "--steps", "1")
    assert status == 0
    old, new = (Network.from_onnx(onnx.load(each)) for each in (output, tuned))
    np.testing.assert_array_equal(old.mean, new.mean)


def test_what_a_search_has_found_is_imitated(train, modules, plugin, tmp_path, capsys):
    best = tmp_path / "best"
    words = ["--corpus", str(modules), "-o", str(best), "--budget", "8", "-j", "2"]
    assert main(["search", "inline", *words]) == 0
    status, _ = train("policy", "--search", str(best), "--steps", "1", "--epochs", "60")
    told = capsys.readouterr()
    assert status == 0, told.err
    first = next(line for line in told.err.splitlines() if line.startswith("step 0 of"))
    assert "text −" in first  # noqa: RUF001 - less than LLVM's, before any step


def lines_until(process, start):
    for line in process.stderr:
        if line.startswith(start):
            return
    raise AssertionError(f"no line begins with {start!r}")


def test_a_killed_training_goes_on_to_the_same_policy(train, modules, plugin, tmp_path):
    status, whole = train("whole", "--steps", "4", "--seed", "3")
    assert status == 0
    cut = tmp_path / "cut" / "whole.onnx"  # the name is in the file
    cut.parent.mkdir()
    words = ["--corpus", str(modules), "-o", str(cut), *SMALL, "--steps", "4", "--seed", "3"]
    command = [sys.executable, "-m", "compiler_bridge", "train", "inline", *words]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    with process:
        lines_until(process, "step 2 of 4")
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not cut.exists()
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "step 0 of 4" not in done.stderr  # it went on
    assert cut.read_bytes() == whole.read_bytes()


def test_one_seed_gives_one_policy(train, tmp_path):
    (tmp_path / "again").mkdir()
    files = []
    for place in ("policy", "again/policy"):
        status, output = train(place, "--method", "es", "--steps", "2", "--seed", "5")
        assert status == 0
        files.append(output.read_bytes())
    assert files[0] == files[1]


def test_another_plan_does_not_go_on(train, capsys):
    assert train("policy", "--steps", "1")[0] == 0
    status, _ = train("policy", "--steps", "1", "--seed", "1")
    assert status == 2
    assert "was made with seed 0, now it is 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (["--from", "nowhere.onnx"], "nowhere.onnx"),
        (["--search", "."], "has no training logs"),
        (["--seed", "-1"], "--seed"),
        (["--validation", "nowhere"], "nowhere"),
        (["--steps", "0"], "--steps"),
        (["--method", "magic"], "magic"),
    ],
)
def test_mistakes_are_named(train, words, culprit, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    status, output = train("policy", *words)
    assert status == 2
    assert culprit in capsys.readouterr().err
    assert not output.exists()


def test_help(capsys):
    assert main(["train", "--help"]) == 0
    assert "inline" in capsys.readouterr().out
    assert main(["train", "inline", "--help"]) == 0
    assert "--resume" in capsys.readouterr().out
    assert main(["train", "magic"]) == 2
