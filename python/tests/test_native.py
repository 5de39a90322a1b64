"""`native:` from Python, and the files beside a compiled model: its adapter and its library."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from compiler_bridge import BridgeError, Runner, TensorSpec
from compiler_bridge.codegen import Description, Generated, Port, Symbol, generate, weights_file
from compiler_bridge.codegen._adapter import adapter, quoted, table_symbol
from compiler_bridge.codegen._toolchain import build_so
from compiler_bridge.export import ModelError

ROOT = Path(__file__).parents[2]
AFFINE = ROOT / "tests" / "golden" / "onnx" / "affine.onnx"
FIXTURES = ROOT / "tests" / "native" / "fixture"
LEVELS = ("baseline", "v3")
X = [1, 2, 3, 4]


def described(name: str, inputs: list[Port], outputs: list[Port], *symbols: Symbol) -> Description:
    return Description(
        name=name,
        namespace="cbridge_models",
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        symbols=symbols,
        fingerprint="00" * 32,
        weights_size=8,
        embedded=True,
        levels=LEVELS,
    )


@pytest.mark.parametrize(
    "model",
    [
        described(
            "Affine",
            [Port("x", "x", "float", (1, 4), 4), Port("fail", "fail", "bool", (), 1)],
            [Port("y", "y", "float", (1, 4), 4), Port("level", "level", "int32_t", (), 1)],
        ),
        described(
            "Rows",
            [
                Port("rows", "rows", "float", ("N", 3), 384),
                Port("factor", "factor", "int64_t", ("N",), 128),
            ],
            [
                Port("sum", "sum", "float", (3,), 3),
                Port("twice", "twice", "float", ("2 * extents.N", 3), 768),
            ],
            Symbol("N", "N", 128),
        ),
    ],
    ids=lambda model: model.name,
)
def test_adapters_are_those_of_the_fixtures(model: Description):
    fixture = (FIXTURES / f"{model.name}Native.cpp").read_text()
    _, _, fixture = fixture.partition("===//\n//\n")  # the banner
    _, _, fixture = fixture.partition("===//\n")
    assert "".join(adapter(model, f"{model.name}.h").split()) == "".join(fixture.split())


def test_any_name_is_a_literal():
    assert quoted('a"b\\c') == r'"a\"b\\c"'
    assert quoted("??/\n7\u00fc") == r'"\?\?/\0127\303\274"'
    assert table_symbol("a::b", "Model") == "cbridge_model_a_b_Model"


@pytest.fixture(scope="module")
def made() -> Generated:
    return generate(onnx.load(AFFINE), "Affine")


@pytest.fixture(scope="module")
def library(made: Generated, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("native") / "Affine.so"
    path.write_bytes(build_so(made))
    return path


def test_a_library_exports_one_function_and_stays(library: Path):
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True
    )
    assert [line.split()[-1] for line in symbols.stdout.splitlines()] == ["cbridge_module_v1"]
    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True).stdout
    assert "NODELETE" in dynamic
    assert "libcbridge" not in dynamic


def test_a_library_decides(library: Path):
    answers = []
    for level in LEVELS:
        with Runner(f"native:{library}?level={level}&on_error=fail") as runner:
            assert runner.inputs == [TensorSpec("x", "float32", [4])]
            assert runner.outputs == [TensorSpec("y", "float32", [3])]
            answers.append(runner.evaluate({"x": X})["y"])
    np.testing.assert_array_equal(answers, [[40, 22, -37]] * len(LEVELS))


def test_other_weights(library: Path, made: Generated, tmp_path: Path):
    model = onnx.load(AFFINE)
    for weight in model.graph.initializer:
        weight.CopyFrom(numpy_helper.from_array(-numpy_helper.to_array(weight), weight.name))
    other = generate(model, "Other")
    assert other.description.fingerprint == made.description.fingerprint
    file = tmp_path / "other.weights"
    file.write_bytes(weights_file(other.description, other.weights))
    with Runner(f"native:{library}?weights={file}&on_error=fail") as runner:
        np.testing.assert_array_equal(runner.evaluate({"x": X})["y"], [-40, -22, 37])
    damaged = bytearray(file.read_bytes())
    damaged[-64] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(BridgeError, match="damaged"):
        Runner(f"native:{library}?weights={file}&on_error=fail")
    strange = generate(onnx.load(AFFINE.with_name("identity.onnx")), "Identity")
    file.write_bytes(weights_file(strange.description, strange.weights))
    with pytest.raises(BridgeError, match="made for another architecture"):
        Runner(f"native:{library}?weights={file}&on_error=fail")


def test_weights_are_written_as_the_golden_ones():
    fingerprint = bytes(range(31)).hex() + "ff"
    about = replace(described("Affine", [], []), fingerprint=fingerprint)
    golden = (ROOT / "tests" / "golden" / "weights.bin").read_bytes()
    assert weights_file(about, np.array([10, 5], "<f4").tobytes()) == golden


def test_compilers_that_fail_are_named(made: Generated, tmp_path: Path, monkeypatch):
    with pytest.raises(ModelError, match="cannot run nowhere/c\\+\\+"):
        build_so(made, "nowhere/c++")
    broken = tmp_path / "broken c++"
    broken.write_text("#!/bin/sh\necho 'In file included'\necho 'a.cpp:1: error: no' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(ModelError, match=r"broken c\+\+: a.cpp:1: error: no$"):
        build_so(made, f"'{broken}' -x")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ModelError, match="there is no C\\+\\+ compiler"):
        build_so(made)
