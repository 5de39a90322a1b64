"""`cbridge train inline`, from a corpus to a policy."""

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from compiler_bridge.__main__ import main
from compiler_bridge._alone import alone
from compiler_bridge.corpus import Corpus
from compiler_bridge.inlining._evaluate import Evaluator
from compiler_bridge.training._features import FEATURES
from compiler_bridge.training._network import Network
from compiler_bridge.training._rollout import Rollouts

from .conftest import EMPTY, NAMES

pytest.importorskip("torch")

SMALL = [("--every", "1"), ("--epochs", "3"), ("--batch", "4"), ("--pairs", "1"), ("-j", "2")]


@pytest.fixture
def train(modules, plugin, tmp_path):
    """Runs the command; its exit status, and the policy."""

    def run(name, *words, without=()):
        output = tmp_path / f"{name}.onnx"
        small = [word for pair in SMALL if pair[0] not in without for word in pair]
        words = ["--corpus", str(modules), "-o", str(output), *small, *words]
        return main(["train", "inline", *words]), output

    return run


@pytest.mark.parametrize("method", ["ppo", "es"])
def test_a_policy_comes_out(train, method, capsys, tmp_path):
    status, output = train("policy", "--method", method, "--steps", "2")
    told = capsys.readouterr()
    assert status == 0, told.err
    percent = r"(0.00|[+−]\d+\.\d\d) %"  # noqa: RUF001 - as the line has it
    line = f"step 2 of 2: text {percent} training, {percent} validation, best {percent} at step"
    assert re.search(line, told.err)
    assert f"wrote {output}: text" in told.out
    assert "agree" in told.out  # `cbridge verify`
    (events,) = (tmp_path / "policy.training" / "events").iterdir()
    numbers = events.read_bytes()
    # After imitation, and after each step.
    assert numbers.count(b"text/training") == numbers.count(b"text/validation") == 3
    picture = (tmp_path / "policy.training" / "curve.svg").read_text(encoding="utf-8")
    assert f"text by {method}, on " in picture
    model = onnx.load(output)
    properties = {each.key: each.value for each in model.metadata_props}
    assert properties["cbridge.name"] == "policy"
    data = properties["cbridge.training_data"]
    assert " modules of pack0, pack1" in data
    # Fine-tuning begins there.
    status, tuned = train("tuned", "--from", str(output), "--steps", "1")
    assert status == 0
    old = Network.from_onnx(onnx.load(output))
    properties = {each.key: each.value for each in onnx.load(tuned).metadata_props}
    assert properties["cbridge.training_data"].endswith(f"; before, policy: {data}")
    arrays, *_ = checkpoint(tuned.with_suffix(".training"))
    np.testing.assert_array_equal(arrays["mean"], old.mean)
    np.testing.assert_array_equal(arrays["start0w"], old.layers[0][0])


def test_what_a_search_has_found_is_imitated(train, modules, plugin, tmp_path, capsys):
    best = tmp_path / "best"
    words = ["--corpus", str(modules), "-o", str(best), "--budget", "8", "-j", "2"]
    assert main(["search", "inline", *words]) == 0
    status, _ = train("policy", "--search", str(best), "--steps", "1", "--epochs", "60")
    told = capsys.readouterr()
    assert status == 0, told.err
    first = next(line for line in told.err.splitlines() if line.startswith("step 0 of"))
    assert "text −" in first  # noqa: RUF001 - less than LLVM's, before any step
    assert "are compiled at -O2: what is learned there is for that level" in told.err
    assert "against its start: text " in told.out
    assert ", over only 2 modules\n" in told.out
    damaged = next(best.iterdir())
    damaged.write_bytes(damaged.read_bytes()[:-20])
    assert train("other", "--search", str(best))[0] == 2
    assert f"{damaged}: is cut off" in capsys.readouterr().err


def checkpoint(folder):
    """Its networks and what else is an array, the step, and the learning curve."""
    with np.load(folder / "checkpoint.npz") as stored:
        arrays = {name: stored[name] for name in stored.files}
    about = json.loads(str(arrays.pop("about")))
    curve = [(each["step"], each["training"], each["validation"]) for each in about["history"]]
    return arrays, about["step"], curve


def assert_same_training(folder, other):
    (arrays, *rest), (others, *other_rest) = map(checkpoint, (folder, other))
    assert rest == other_rest
    assert arrays.keys() == others.keys()
    assert all(np.array_equal(arrays[name], others[name]) for name in arrays)


def has_learned(folder):
    arrays, *_ = checkpoint(folder)
    return not np.array_equal(arrays["network0w"], arrays["start0w"])


def lines_until(process, start):
    for line in process.stderr:
        if line.startswith(start):
            return
    raise AssertionError(f"no line begins with {start!r}")


@pytest.fixture(scope="session")
def unsure(modules, plugin, tmp_path_factory):
    """A policy whose scores are around 0: small changes of its weights change decisions."""
    with Evaluator(plugin, 2) as evaluator:
        every = [each for each in Corpus.open(modules).modules if each.name != EMPTY]
        rollouts = Rollouts(evaluator, every)
        rows = np.concatenate([rollouts.baseline(each).rows for each in every])
        rollouts.close()
    fresh = Network.fresh(rows, (8,), [1])
    weights, bias = fresh.layers[-1]
    bias = bias - np.median(fresh.scores(fresh.standardized(rows)))
    network = dataclasses.replace(fresh, layers=(*fresh.layers[:-1], (weights, bias)))
    file = tmp_path_factory.mktemp("unsure") / "unsure.onnx"
    onnx.save(network.as_onnx(), file)
    return file


@pytest.fixture(params=["ppo", "es"])
def method(request, unsure):
    """Options that name it; where all changes of weights come to the same, `es` stays."""
    return ["--method", request.param, *(["--from", str(unsure)] if request.param == "es" else [])]


def test_a_killed_training_goes_on_to_the_same_policy(
    train, modules, plugin, tmp_path, monkeypatch, method
):
    plan = [*method, "--steps", "4", "--seed", "3"]
    status, whole = train("whole", *plan)
    assert status == 0
    cut = tmp_path / "cut" / "whole.onnx"  # the name is in the file
    cut.parent.mkdir()
    named = tmp_path / "named"
    words = [*plan, *(word for pair in SMALL for word in pair), "--resume", str(named)]
    words += ["--corpus", str(modules), "-o", str(cut)]
    command = [sys.executable, "-m", "compiler_bridge", "train", "inline", *words]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    with process:
        lines_until(process, "step 2 of 4")
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not cut.exists()
    assert list(scratch.glob("cbridge-rollouts-*"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "cbridge: going on from step " in done.stderr
    assert "step 0 of 4" not in done.stderr
    assert cut.read_bytes() == whole.read_bytes()
    assert_same_training(named, whole.with_suffix(".training"))
    assert has_learned(named)
    assert not list(scratch.glob("cbridge-rollouts-*"))


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("_warm_start", "begins anew: there is no checkpoint yet"),
        ("_step", "goes on from the checkpoint"),
    ],
)
def test_interrupted(train, monkeypatch, capsys, place, told):
    def interrupt(*_):
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(f"compiler_bridge.training._train.Training.{place}", interrupt)
    assert train("policy")[0] == 130
    assert capsys.readouterr().err.endswith(f"cbridge: interrupted; the same command {told}\n")


def test_steps_can_be_added(train, tmp_path, capsys):
    """All is as if they had been there from the beginning; fewer end at once."""

    def run(place, steps):
        (tmp_path / place).mkdir(exist_ok=True)
        words = ["--method", "es", "--steps", steps, "--every", "2"]
        status, output = train(f"{place}/policy", *words)
        told = capsys.readouterr()
        assert status == 0, told.err
        return output.read_bytes(), told

    _, told = run("added", "1")
    assert "step 1 of 1" in told.err  # the last one is validated
    added, told = run("added", "3")
    assert "step 1 of 3" not in told.err  # and is not, if it is not the last
    assert "step 3 of 3" in told.err
    whole, _ = run("whole", "3")
    assert added == whole
    folders = [tmp_path / place / "policy.training" for place in ("added", "whole")]
    assert_same_training(*folders)
    _, step, curve = checkpoint(folders[0])
    assert step == 3
    assert [point[0] for point in curve] == [0, 2]
    _, told = run("added", "2")
    assert "after step" in told.out
    assert checkpoint(folders[0])[1] == 3


def test_one_seed_gives_one_policy(train, tmp_path, method):
    """With any number of workers."""
    files = []
    for jobs in ("1", "3", "3"):
        place = f"{len(files)}/policy"
        (tmp_path / place).parent.mkdir()
        words = [*method, "--steps", "2", "--seed", "5", "-j", jobs]
        status, output = train(place, *words)
        assert status == 0
        files.append(output.read_bytes())
        assert_same_training(output.with_suffix(".training"), tmp_path / "0" / "policy.training")
    assert files[0] == files[1] == files[2]
    assert has_learned(tmp_path / "0" / "policy.training")


def test_it_stops_where_nothing_gets_better(train, monkeypatch, capsys):
    monkeypatch.setattr("compiler_bridge.training._train.Training._saving", lambda *_: 0.01)
    words = ["--method", "es", "--steps", "50", "--patience", "2"]
    assert train("policy", *words)[0] == 0
    told = capsys.readouterr()
    assert "step 2 of 50: text" in told.err
    assert "step 3 of 50" not in told.err
    assert "cbridge: nothing better in 2 validations: stopped at step 2 of 50\n" in told.err
    assert ", after step 0\n" in told.out
    assert "cbridge: no step was better than its start, which this policy is\n" in told.err


def test_few_modules_are_enough_to_do_as_llvm(train, capsys):
    """Few examples are few steps per epoch."""
    status, _ = train("policy", "--steps", "1", "--method", "es", without=("--epochs",))
    told = capsys.readouterr()
    assert status == 0, told.err
    first = next(line for line in told.err.splitlines() if line.startswith("step 0 of"))
    assert first.startswith("step 0 of 1: text 0.00 % training, 0.00 % validation")


def test_validation_modules_that_are_trained_on(train, modules, capsys):
    assert train("policy", "--steps", "1", "--validation", str(modules))[0] == 0
    told = capsys.readouterr().err
    assert "cbridge: 8 of 8 validation modules are in the corpus, too" in told
    assert train("other", "--steps", "1")[0] == 0
    assert "in the corpus, too" not in capsys.readouterr().err


def test_another_plan_does_not_go_on(train, capsys):
    assert train("policy", "--steps", "1")[0] == 0
    status, _ = train("policy", "--steps", "1", "--seed", "1")
    assert status == 2
    assert "was made with seed 0, now it is 1" in capsys.readouterr().err


def test_two_at_once(train, tmp_path, capsys):
    (tmp_path / "policy.training").mkdir()
    with alone(tmp_path / "policy.training", ValueError):
        assert train("policy")[0] == 2
    assert "policy.training: another process is at work there" in capsys.readouterr().err


def test_other_corpora_do_not_go_on(train, modules, tmp_path, capsys):
    other = tmp_path / "other"
    shutil.copytree(modules, other)
    words = ["--steps", "1", "--method", "es", "--validation", str(other)]
    status, policy = train("policy", *words)
    assert status == 0
    assert train("policy", *words, "--from", str(policy))[0] == 2
    assert "was made without --from" in capsys.readouterr().err
    assert train("policy", *words[:-2])[0] == 2
    assert "was made with --validation;" in capsys.readouterr().err
    with open(other / f"{NAMES[0]}.cmd", "ab") as file:
        file.write(b"\0-g0")
    assert train("policy", *words)[0] == 2
    assert "was made with another --validation" in capsys.readouterr().err


def test_other_compilers_do_not_go_on(train, plugin, tmp_path, capsys):
    words = ["--steps", "1", "--method", "es"]
    other = shutil.copy(plugin, tmp_path / "other.so")
    assert train("policy", *words, "--plugin", str(other))[0] == 0
    assert train("policy", *words)[0] == 0  # the same, elsewhere
    with open(other, "ab") as file:
        file.write(b"changed")
    capsys.readouterr()
    assert train("policy", *words, "--plugin", str(other))[0] == 2
    assert "was made with another --plugin" in capsys.readouterr().err
    clang = tmp_path / "clang"
    clang.write_text("#!/bin/sh\necho clang version 20\n")
    clang.chmod(0o755)
    assert train("policy", *words, "--clang", str(clang))[0] == 2
    assert "was made with another --clang" in capsys.readouterr().err


def same_everywhere(file, score):
    """A policy that inlines all calls, or none."""
    zeros = np.zeros(len(FEATURES), np.float32)
    layers = ((np.zeros((len(FEATURES), 1), np.float32), np.full(1, score, np.float32)),)
    onnx.save(Network(zeros, zeros, layers).as_onnx(), file)
    return file


def test_a_policy_that_is_worse_than_llvm_is_told_as_such(train, modules, tmp_path, capsys):
    """One that inlines all calls, where LLVM thinks that this is too much."""
    corpus = tmp_path / "corpus"
    shutil.copytree(modules, corpus)
    for name in NAMES:
        with open(corpus / f"{name}.cmd", "ab") as file:
            file.write(b"\0-mllvm\0-inline-threshold=0")
    always = same_everywhere(tmp_path / "always.onnx", 5)
    words = ["--corpus", str(corpus), "--from", str(always), "--method", "es", "--steps", "1"]
    status, _ = train("policy", *words)
    told = capsys.readouterr()
    assert status == 0, told.err
    line = told.err.splitlines()[-1]
    assert line.startswith("cbridge: this policy makes the validation modules larger than LLVM's")
    assert ": text +" in line


def test_a_policy_that_does_not_decide_ends_it(train, monkeypatch, tmp_path, capsys):
    never = same_everywhere(tmp_path / "never.onnx", -5)
    monkeypatch.setattr(
        "compiler_bridge.training._rollout.Rollouts._runner", lambda *_: "native:/nowhere.so"
    )
    status, output = train("policy", "--from", str(never))
    assert status == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("cbridge: pack")
    assert "/nowhere.so" in line
    assert not output.exists()


def test_validation_modules_must_count(train, modules, tmp_path, capsys):
    """What cannot be compiled does not; nor is a policy chosen by modules that ask nothing."""
    other = tmp_path / "other"
    shutil.copytree(modules, other)
    words = ["--steps", "1", "--method", "es", "--validation", str(other)]
    for name in [EMPTY, *NAMES[1:]]:
        (other / f"{name}.bc").write_text("no bitcode")
    status, output = train("policy", *words)
    told = capsys.readouterr()
    assert status == 0, told.err
    assert f"cbridge: {other / NAMES[1]}.bc: left out, cannot be compiled: exit st" in told.err
    assert " on 1 validation module, " in told.out
    output.unlink()
    for content, why in [
        ((modules / f"{EMPTY}.bc").read_bytes(), "no validation module has a call to decide on"),
        (b"no bitcode", "no validation module can be compiled"),
    ]:
        (other / f"{NAMES[0]}.bc").write_bytes(content)
        status, _ = train("policy", *words, "--resume", str(tmp_path / "another"))
        assert status == 2
        told = capsys.readouterr().err
        assert f"cbridge: {why}\n" in told
        assert f"{other / NAMES[1]}.bc: left out" in told
        assert not output.exists()


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (["--from", "nowhere.onnx"], "nowhere.onnx"),
        (["--search", "."], "has no training logs"),
        (["--seed", "-1"], "--seed"),
        (["--seed", str(2**64)], "--seed: 18446744073709551616 is not between 0 and"),
        (["--device", "cuda"], "--device: PyTorch finds no GPU"),
        (["--validation", "nowhere"], "nowhere"),
        (["--validation", ""], "--validation: expected a name"),
        (["--resume", ""], "--resume: expected a name"),
        (["--steps", "0"], "--steps"),
        (["--method", "magic"], "magic"),
    ],
)
def test_mistakes_are_named(train, words, culprit, capsys, monkeypatch, tmp_path):
    """In one line, before anything is compiled."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("compiler_bridge.commands.train.Evaluator", None)
    status, output = train("policy", *words)
    assert status == 2
    told = capsys.readouterr().err
    assert culprit in told
    assert told.count("\n") == 1
    assert not output.exists()


def test_a_bad_start_is_named_once(train, capsys, tmp_path):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"no model")
    assert train("policy", "--from", str(bad))[0] == 2
    assert capsys.readouterr().err == f"cbridge: {bad}: is no ONNX model, or not all of one\n"
    other = Path(__file__).parents[3] / "tests" / "golden" / "onnx" / "affine.onnx"
    assert train("policy", "--from", str(other))[0] == 2
    told = capsys.readouterr().err
    assert "only models that `cbridge train inline` has written" in told
    assert told.count(str(other)) == 1


def test_help(capsys):
    assert main(["train", "--help"]) == 0
    assert "inline" in capsys.readouterr().out
    assert main(["train", "inline", "--help"]) == 0
    assert "--resume" in capsys.readouterr().out
    assert main(["train", "magic"]) == 2
