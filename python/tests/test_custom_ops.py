"""compiler_bridge::Bucketize: out of PyTorch, in every engine."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler_bridge import BridgeError, Runner, TensorSpec, export
from compiler_bridge.commands import verify
from compiler_bridge.export import ModelError, _operators

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")

SIZE = 32
BOUNDARIES = [-1.5, -0.25, 0.0, 0.0, 0.1, 0.5, 2.0, 7.0]
INPUTS = [TensorSpec("x", "float32", [SIZE])]
OUTPUTS = [TensorSpec("left", "int64", [SIZE]), TensorSpec("right", "int64", [SIZE])]


class Buckets(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.boundaries = torch.nn.Buffer(torch.tensor(BOUNDARIES))

    def forward(self, x: Any) -> tuple[Any, Any]:
        left = torch.bucketize(x, self.boundaries)
        return left, torch.bucketize(x, self.boundaries, right=True)


def written(path: Path, *, ours: bool) -> str:
    export.from_torch(
        Buckets(), path, INPUTS, OUTPUTS, name="buckets", version="1", custom_ops=ours
    )
    return str(path)


@pytest.fixture(scope="module", params=[True, False], ids=["ours", "standard"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("ops") / "buckets.onnx", ours=request.param)


def operators(path: str) -> set[str]:
    return {f"{node.domain}::{node.op_type}" for node in onnx.load(path).graph.node}


def test_what_is_written(model: str, request: pytest.FixtureRequest) -> None:
    if "ours" in request.node.name:
        assert operators(model) == {"compiler_bridge::Bucketize"}
    else:  # a binary search, which needs no library
        assert "::GatherND" in operators(model)
        assert "compiler_bridge::Bucketize" not in operators(model)


def test_a_thousand_inputs(model: str) -> None:
    module, random = Buckets(), np.random.default_rng(11)
    boundaries = np.array(BOUNDARIES, np.float32)
    runner = Runner(f"onnx:{model}?on_error=fail", INPUTS, OUTPUTS)
    for _ in range(1000):
        x = random.normal(scale=3, size=SIZE).astype(np.float32)
        # As many that are boundaries, or the next number beside one.
        x[:8] = random.choice(boundaries, 8)
        x[8:16] = np.nextafter(random.choice(boundaries, 8), random.choice([-9.0, 9.0], 8))
        x[16:18] = random.choice([np.nan, np.inf, -np.inf, -0.0], 2)
        got = runner.evaluate({"x": x})
        left, right = module(torch.from_numpy(x))
        np.testing.assert_array_equal(got["left"], left.numpy())
        np.testing.assert_array_equal(got["right"], right.numpy())


def test_engines_agree(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify.main([model]) == 0
    assert "all 4 agree" in capsys.readouterr().out


class Mixed(torch.nn.Module):  # type: ignore[misc]
    """Types that differ, and types that the operator has not."""

    def forward(self, floats: Any, doubles: Any, whole: Any, small: Any) -> tuple[Any, ...]:
        return (
            torch.bucketize(floats, doubles),
            torch.bucketize(whole, floats.sort().values, out_int32=True),
            torch.bucketize(whole, doubles.to(torch.int64)),
            torch.bucketize(small, small.sort().values, right=True),
        )


def test_types_that_differ(tmp_path: Path) -> None:
    kinds = {"floats": "float32", "doubles": "float64", "whole": "int64", "small": "int8"}
    inputs = [TensorSpec(name, kind, [4]) for name, kind in kinds.items()]
    outputs = [TensorSpec(f"y{i}", "int32" if i == 1 else "int64", [4]) for i in range(4)]
    # 16777217 is no float32, so that it matters in which type they are compared.
    samples = [
        {
            "floats": [1.5, 0.25, 16777216.0, 3.0],
            "doubles": [1.5, 2.0, 3.0, 16777217.0],
            "whole": [1, 16777217, 16777216, -5],
            "small": [3, -128, 127, 3],
        }
    ]
    path = tmp_path / "mixed.onnx"
    export.from_torch(
        Mixed(), path, inputs, outputs, name="m", version="1", samples=samples, custom_ops=True
    )
    given = {name: np.array(samples[0][name], kind) for name, kind in kinds.items()}
    got = Runner(f"onnx:{path}?on_error=fail", inputs, outputs).evaluate(given)
    want = Mixed()(*(torch.from_numpy(value) for value in given.values()))
    for spec, value in zip(outputs, want, strict=True):
        np.testing.assert_array_equal(got[spec.name], value.numpy(), spec.name)


def test_boundaries_that_are_not_sorted() -> None:
    golden = Path(__file__).parents[2] / "tests/golden/onnx_ops/bucketize_float.onnx"
    runner = Runner(
        f"onnx:{golden}?on_error=fail",
        [TensorSpec("x", "float32", [-1]), TensorSpec("boundaries", "float32", [-1])],
        TensorSpec("left", "int64", [-1]),
    )
    wrong = {"x": np.ones(1, np.float32), "boundaries": np.array([2, 1], np.float32)}
    with pytest.raises(BridgeError, match=r"bucketize_float\.onnx.*not sorted: \[0\] is 2"):
        runner.evaluate(wrong)
    assert runner.evaluate({"boundaries": np.array([0, 1], np.float32)})["left"] == [1]
    reference = pytest.importorskip("onnx.reference").ReferenceEvaluator(
        onnx.load(str(golden)), new_ops=export.reference_operators()
    )
    for boundaries in ([2, 1], [0, np.nan], [[0, 1]]):
        with pytest.raises(ValueError, match="Bucketize: "):
            reference.run(None, wrong | {"boundaries": np.array(boundaries, np.float32)})


def test_a_library_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_operators, "LIBRARY", "cbridge-nothing.so")
    monkeypatch.setenv("CBRIDGE_MODULE_PATH", f"relative:{tmp_path}")
    with pytest.raises(ModelError, match=r"cbridge-nothing\.so is not in .*lib, /"):
        export.custom_ops_library()
    with pytest.raises(ModelError, match="is not in"):
        written(tmp_path / "m.onnx", ours=True)
    assert not (tmp_path / "m.onnx").exists()
    (tmp_path / "cbridge-nothing.so").touch()
    assert export.custom_ops_library() == str(tmp_path / "cbridge-nothing.so")


GUIDE = Path(__file__).parents[2] / "docs/guide/custom-operators.md"


def test_the_example_with_our_operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)[0]
    exec(compile(example, str(GUIDE), "exec"), {})
    assert operators("bucket.onnx") == {"compiler_bridge::Bucketize"}


@pytest.fixture(scope="module")
def header() -> Path:
    """The folder of ONNX Runtime's headers; ./dev has them and says where."""
    root = os.environ.get("ONNXRUNTIME_ROOT")
    found = sorted(Path(root).rglob("onnxruntime_c_api.h")) if root else []
    if not root:
        pytest.skip("ONNXRUNTIME_ROOT does not name ONNX Runtime's headers")
    assert found, root
    return found[0].parent


def test_an_operator_of_ones_own(
    header: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The guide from its command to its last line, in the folder of the files."""
    monkeypatch.chdir(tmp_path)
    (command,) = re.findall(r"^    (c\+\+ .*)$", GUIDE.read_text(), re.MULTILINE)
    assert "-I ONNXRUNTIME/include examples/" in command
    words = command.replace("ONNXRUNTIME/include", str(header)).split()
    words[words.index("examples/custom-op/my_ops.cpp")] = str(
        GUIDE.parents[2] / "examples/custom-op/my_ops.cpp"
    )
    subprocess.run([*words, "-Wall", "-Wextra", "-Werror"], check=True)
    example = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)[1]
    exec(compile(example, str(GUIDE), "exec"), {})
    assert "my_ops::BitLength" in operators("own.onnx")
    runner = Runner("onnx:own.onnx?custom_ops=my-ops.so&on_error=fail")
    got = runner.evaluate({"x": [0, 1, 255, 2**62]})["bits"]
    assert got.tolist() == [1, 2, 9, 64]
    with pytest.raises(BridgeError, match="BitLength: a number is negative"):
        runner.evaluate({"x": [1, -1, 1, 1]})
    assert verify.main(["own.onnx", "--custom-ops", "my-ops.so"]) == 0
    assert "all 2 agree" in capsys.readouterr().out
    # Only values are a matter of ranges: here the operator is to blame.
    assert verify.main(["own.onnx", "--custom-ops", "my-ops.so", "--range", "x=-9:-1"]) == 2
    said = capsys.readouterr().err
    assert "a number is negative" in said
    assert "if the model takes only some" not in said
