"""Three agents with models out of PyTorch: C++, Python and PyTorch decide alike."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "examples/agents"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("three_agents", ROOT / "examples/three_agents.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # which it looks itself up in
    spec.loader.exec_module(module)
    return module


example = load()


@pytest.fixture(scope="module")
def program() -> Path:
    """./dev names the folder of the compiled examples; else it is looked for."""
    if given := os.environ.get("CBRIDGE_EXAMPLES"):
        return Path(given) / "three_agents"
    built = sorted(
        ROOT.glob("build/*/examples/three_agents"), key=lambda file: file.stat().st_mtime
    )
    if not built:
        pytest.skip("examples/ThreeAgents.cpp is not compiled")
    return built[-1]


class Trained(NamedTuple):
    modules: dict[str, Any]
    folder: Path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    made = Trained(example.train(), tmp_path_factory.mktemp("agents"))
    example.write_models(made.modules, made.folder)
    return made


def test_a_thousand_episodes(
    program: Path, trained: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = example.decisions_of(program, trained.folder, 1000)
    found = example.compare(theirs, trained.folder, trained.modules, 1000)
    with capsys.disabled():
        print(f"\nthree agents: {found.summary()}")
    assert found.decisions > 30_000
    assert found.unlike_program == []
    assert found.unlike_torch == []
    assert found.ties > 0


class Nudged(torch.nn.Module):  # type: ignore[misc]
    """Prefers the later ranges."""

    def __init__(self, inner: Any, by: float) -> None:
        super().__init__()
        self.inner, self.by = inner, by

    def forward(self, *features: Any) -> Any:
        return self.inner(*features) + self.by * (torch.arange(example.RANGES) > 5)


def test_pytorch_may_differ_at_ties_only(program: Path, trained: Trained) -> None:
    theirs = example.decisions_of(program, trained.folder, 30)

    def nudged(by: float) -> Any:
        modules = trained.modules | {"select": Nudged(trained.modules["select"], by)}
        return example.compare(theirs, trained.folder, modules, 30)

    a_little = nudged(0.4 * example.TOLERANCE)
    assert 0 < a_little.other_at_ties <= a_little.ties
    assert a_little.unlike_torch == []
    much = nudged(50.0)
    assert len(much.unlike_torch) > 30
    assert much.unlike_program == []


def test_a_difference_of_the_program_is_noticed(program: Path, trained: Trained) -> None:
    theirs = example.decisions_of(program, trained.folder, 2)

    def unlike(lines: list[Any]) -> int:
        return len(example.compare(lines, trained.folder, trained.modules, 2).unlike_program)

    one = theirs[5]
    next_score = np.nextafter(np.float32(one.scores[0]), np.float32(np.inf)).item()
    assert unlike(theirs) == 0
    assert unlike(theirs[:-1]) == 1
    assert unlike([*theirs, one]) == 1
    assert unlike([*theirs[:5], one._replace(action=one.action + 1), *theirs[6:]]) == 1
    changed = one._replace(scores=(next_score, *one.scores[1:]))
    assert unlike([*theirs[:5], changed, *theirs[6:]]) == 1


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["three_agents.py", *map(str, words)])
    return int(example.main())


def test_mistakes_are_told_before_the_training(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(example, "train", lambda: pytest.fail("it trains"))
    (tmp_path / "file").touch()
    for command, where, why in [
        ("compare", tmp_path / "none", "is no program; './dev build dev' makes one"),
        ("compare", tmp_path, "is no program"),
        ("compare", tmp_path / "file", "is no program"),
        ("train", tmp_path / "file", "is no folder"),
        ("play", tmp_path, "there is no select.onnx"),
    ]:
        assert run(monkeypatch, command, where) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"three_agents.py: {where}: {why}")
        assert said.count("\n") == 1


def test_a_program_that_fails(tmp_path: Path) -> None:
    failing = tmp_path / "program"
    failing.write_text("#!/bin/sh\necho 'I have no models' >&2\nexit 3\n")
    failing.chmod(0o755)
    with pytest.raises(example.Trouble, match=r"program: I have no models$"):
        example.decisions_of(failing, MODELS, 1)


def test_the_program_gets_the_onnx_runtime_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CBRIDGE_ONNXRUNTIME", "/of/the/user")
    assert example.environment()["CBRIDGE_ONNXRUNTIME"] == "/of/the/user"
    monkeypatch.delenv("CBRIDGE_ONNXRUNTIME")
    library = Path(example.environment()["CBRIDGE_ONNXRUNTIME"])
    assert library.is_file()
    assert library.parts[-3:-1] == ("onnxruntime", "capi")


def test_the_models_that_come_with_the_example(program: Path, tmp_path: Path) -> None:
    worlds: list[Any] = []
    words = [program, "--greedy", "--episodes", "20", "--log", tmp_path / "log"]
    output = subprocess.run(
        words + example.runner_strings(MODELS), check=True, capture_output=True, text=True
    ).stdout.splitlines()
    policy = example.runner_policy(MODELS)
    played = [moment.decision for moment in example.play(policy, range(20), worlds.append)]
    lines = (tmp_path / "log").read_text().splitlines()
    assert played == [example.Decision.parse(line) for line in lines]
    for world, line in zip(worlds, output, strict=True):
        assert f"reward {world.reward:+.0f}, valid" in line
        assert " 0 by fallback" in line
    # They have learnt something: a random policy spills about half.
    random = np.random.default_rng(0)
    guesses: list[Any] = []
    sizes = {label: outputs.shape[0] for label, (_, outputs) in example.SIGNATURES.items()}
    list(example.play(lambda a, _: random.normal(size=sizes[a]), range(20), guesses.append))
    assert sum(w.reward for w in worlds) > 2 * sum(w.reward for w in guesses)
