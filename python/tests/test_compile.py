"""`cbridge compile`: files, options, and what it refuses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler_bridge import BridgeError, Runner, TensorSpec
from compiler_bridge.__main__ import main

W = np.arange(12, dtype=np.float32).reshape(4, 3) - 5
B = np.float32([0.5, -0.5, 1])


def save(path, nodes, inputs, outputs, weights=None, opset=20):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*each) for each in inputs],
        [helper.make_tensor_value_info(*each) for each in outputs],
        [numpy_helper.from_array(value, name) for name, value in (weights or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return str(path)


@pytest.fixture
def affine(tmp_path):
    def make(name="affine.onnx", rows=1, w=W, b=B):
        return save(
            tmp_path / name,
            [
                helper.make_node("Gemm", ["x", "w", "b"], ["s"], name="layer"),
                helper.make_node("Relu", ["s"], ["y"]),
            ],
            [("x", TensorProto.FLOAT, [rows, 4])],
            [("y", TensorProto.FLOAT, [rows, 3])],
            {"w": w, "b": b},
        )

    return make


@pytest.fixture
def compile_(capfd):
    def run(*words, status=0):
        capfd.readouterr()
        assert main(["compile", *map(str, words)]) == status
        return capfd.readouterr()

    return run


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def expected(x, w=W, b=B):
    return np.maximum(x @ w + b, 0)


X = np.float32([[0.25, -1, 3, 2]])
SPECS = [TensorSpec("x", "float32", [1, 4])], TensorSpec("y", "float32", [1, 3])


def test_writes_a_struct_and_its_adapter(affine, compile_, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    said = compile_(affine(), "-o", out / "Affine").out
    assert files(out) == {"Affine.h", "Affine.cpp", "AffineNative.cpp"}
    assert "input x: float[1,4]" in said
    assert "output y: float[1,3]" in said
    assert re.search(r"weights \d+ bytes", said)
    assert "<cbridge/" not in (out / "Affine.cpp").read_text() + (out / "Affine.h").read_text()
    assert "#include <cbridge/NativeModel.h>" in (out / "AffineNative.cpp").read_text()


def test_the_struct_is_used_by_itself(affine, compile_, tmp_path):
    compile_(affine(), "-o", tmp_path / "Affine")
    (tmp_path / "main.cpp").write_text(
        '#include "Affine.h"\n#include <cstdio>\n'
        "int main() {\n"
        "  static cbridge_models::Affine M;\n"
        "  const float X[] = {0.25f, -1, 3, 2};\n"
        "  for (int I = 0; I < 4; ++I) M.in.x[I] = X[I];\n"
        "  if (M.evaluate()) return 1;\n"
        '  for (float Y : M.out.y) std::printf("%g ", double(Y));\n'
        "}\n"
    )
    program = tmp_path / "program"
    sources = [tmp_path / "main.cpp", tmp_path / "Affine.cpp"]
    subprocess.run(["g++", "-std=c++17", "-O1", *sources, "-o", program], check=True)
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert np.allclose(np.float32(said.split()), expected(X)[0])


@pytest.mark.parametrize("level", ["", "&level=baseline"])
def test_a_file_for_native(affine, compile_, tmp_path, level):
    said = compile_(affine(), "-o", tmp_path / "Affine", "--so").out
    assert f"runner: native:{tmp_path}/Affine.so" in said
    runner = Runner(f"native:{tmp_path}/Affine.so?on_error=fail{level}", *SPECS)
    assert np.allclose(runner.evaluate({"x": X})["y"], expected(X))


def test_a_runner_without_specs(affine, compile_, tmp_path):
    compile_(affine(), "-o", tmp_path / "Affine", "--so")
    runner = Runner(f"native:{tmp_path}/Affine.so?on_error=fail")
    assert np.allclose(runner.evaluate({"x": X})["y"], expected(X))


def test_weights_of_the_same_architecture_are_swapped(affine, compile_, tmp_path):
    compile_(affine(), "-o", tmp_path / "Affine", "--so")
    before = files(tmp_path)
    compile_(affine("tuned.onnx", w=W * 2, b=-B), "-o", tmp_path / "Tuned", "--weights=only")
    assert files(tmp_path) - before == {"Tuned.weights", "tuned.onnx"}
    runner = Runner(
        f"native:{tmp_path}/Affine.so?on_error=fail&weights={tmp_path}/Tuned.weights", *SPECS
    )
    assert np.allclose(runner.evaluate({"x": X})["y"], expected(X, W * 2, -B))


def test_weights_of_another_architecture_are_refused(affine, compile_, tmp_path):
    compile_(affine(), "-o", tmp_path / "Affine", "--so")
    other = affine("other.onnx", w=W[:, :2].copy(), b=B[:2].copy())
    model = onnx.load(other)
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 2
    onnx.save(model, other)
    compile_(other, "-o", tmp_path / "Other", "--weights=only")
    with pytest.raises(BridgeError, match=r"Other\.weights.*architecture"):
        Runner(
            f"native:{tmp_path}/Affine.so?on_error=fail&weights={tmp_path}/Other.weights", *SPECS
        )


def test_weights_in_a_file(affine, compile_, tmp_path):
    compile_(affine(), "-o", tmp_path / "Affine", "--so", "--weights=file")
    assert "Affine.weights" in files(tmp_path)
    with pytest.raises(BridgeError, match="weights="):
        Runner(f"native:{tmp_path}/Affine.so?on_error=fail", *SPECS)
    runner = Runner(
        f"native:{tmp_path}/Affine.so?on_error=fail&weights={tmp_path}/Affine.weights", *SPECS
    )
    assert np.allclose(runner.evaluate({"x": X})["y"], expected(X))


def test_a_leading_extent_that_varies(affine, compile_, tmp_path):
    model = affine(rows="rows")
    assert "--max rows=NUMBER" in compile_(model, "-o", tmp_path / "Affine", status=2).err
    compile_(model, "-o", tmp_path / "Affine", "--so", "--max", "rows=5")
    runner = Runner(
        f"native:{tmp_path}/Affine.so?on_error=fail",
        [TensorSpec("x", "float32", [-1, 4])],
        TensorSpec("y", "float32", [-1, 3]),
    )
    for rows in (1, 5, 0, 3):
        x = np.linspace(-1, 1, rows * 4, dtype=np.float32).reshape(rows, 4)
        assert np.allclose(runner.evaluate({"x": x})["y"], expected(x), atol=1e-6)
    with pytest.raises(BridgeError, match=r"at most 5 \(cbridge compile --max rows=6\)"):
        runner.evaluate({"x": np.zeros((6, 4), np.float32)})


def test_dump_shows_every_pass(affine, compile_, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = files(tmp_path)
    said = compile_(affine(), "--dump").out
    for title in ("# imported", "# outputs in place", "# unused removed", "# fused", "# planned"):
        assert title in said
    assert "relu(add(sum, w1))" in said
    assert files(tmp_path) - before == {"affine.onnx"}


def test_the_default_name_is_the_file_s(affine, compile_, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    compile_(affine("inline-oz_2.onnx"))
    assert {"InlineOz2.h", "InlineOz2.cpp"} <= files(tmp_path)


def refused(compile_, tmp_path, *words):
    """What it says when it writes nothing."""
    before = files(tmp_path)
    said = compile_(*words, "-o", tmp_path / "Refused", status=2)
    assert files(tmp_path) == before
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


def test_an_unknown_operator_is_named(compile_, tmp_path):
    model = save(
        tmp_path / "m.onnx",
        [helper.make_node("Det", ["x"], ["y"], name="volume")],
        [("x", TensorProto.FLOAT, [3, 3])],
        [("y", TensorProto.FLOAT, [])],
    )
    said = refused(compile_, tmp_path, model)
    assert "m.onnx: node 'volume' (Det): the operator is not supported" in said


def test_a_shape_that_depends_on_data_is_named(compile_, tmp_path):
    model = save(
        tmp_path / "m.onnx",
        [helper.make_node("Reshape", ["x", "s"], ["y"], name="r")],
        [("x", TensorProto.FLOAT, [4]), ("s", TensorProto.INT64, [2])],
        [("y", TensorProto.FLOAT, [None, None])],
    )
    assert "node 'r' (Reshape)" in refused(compile_, tmp_path, model)


@pytest.mark.parametrize("kind", ["STRING", "FLOAT16", "BFLOAT16"])
def test_an_element_type_is_named(compile_, tmp_path, kind):
    number = getattr(TensorProto, kind)
    model = save(
        tmp_path / "m.onnx",
        [helper.make_node("Identity", ["x"], ["y"])],
        [("x", number, [2])],
        [("y", number, [2])],
    )
    assert f"input 'x': elements of type {kind}" in refused(compile_, tmp_path, model)


def test_weights_that_are_no_numbers_are_named(affine, compile_, tmp_path):
    w = W.copy()
    w[1, 1] = np.nan
    assert "weight 'w'" in refused(compile_, tmp_path, affine(w=w))


def test_what_is_no_model(compile_, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"no model")
    assert "m.onnx: is no ONNX model" in refused(compile_, tmp_path, path)
    assert "missing.onnx" in refused(compile_, tmp_path, tmp_path / "missing.onnx")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max", "rows=0"], "--max rows=0"),
        (["--max", "rows=many"], "--max rows=many"),
        (["--max", "rows=3", "--max", "columns=3"], "--max columns"),
        (["--max", "rows=3", "--max", "4"], "with and without a name"),
        (["--namespace", "a b"], "--namespace: 'a b'"),
        (["--weights=only", "--so"], "--so"),
    ],
)
def test_options_that_make_no_sense(affine, compile_, tmp_path, words, message):
    assert message in refused(compile_, tmp_path, affine(rows="rows"), *words)


def test_a_name_that_is_none(affine, compile_, tmp_path):
    assert "'2nd' is no name" in compile_(affine(), "-o", tmp_path / "2nd", status=2).err
    assert "there is no folder" in compile_(affine(), "-o", tmp_path / "a/B", status=2).err


def test_a_compiler_that_fails_leaves_nothing(affine, compile_, tmp_path, monkeypatch):
    model = affine()
    monkeypatch.setenv("CXX", "false")
    assert "false" in refused(compile_, tmp_path, model, "--so")
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "no-such-compiler" in refused(compile_, tmp_path, model, "--so")


def test_names_that_are_none_in_cpp(compile_, tmp_path):
    """Names of inputs, outputs and extents may be anything."""
    names = ["class", "a b", "a-b", "1st", "ä/*", "in"]
    model = save(
        tmp_path / "m.onnx",
        [helper.make_node("Sum", names, ['y"\\'], name="*/\n#error\\")],
        [(name, TensorProto.FLOAT, ["N-1", 2]) for name in names],
        [('y"\\', TensorProto.FLOAT, ["N-1", 2])],
    )
    compile_(model, "-o", tmp_path / "M", "--so", "--max", "3")
    runner = Runner(f"native:{tmp_path}/M.so?on_error=fail")
    given = {name: np.full((2, 2), i + 1, np.float32) for i, name in enumerate(names)}
    assert np.array_equal(runner.evaluate(given)['y"\\'], np.full((2, 2), 21, np.float32))


def test_the_package_compiles_without_its_compiled_part(affine, tmp_path):
    """As cbridge_add_model runs it, before anything is built."""
    script = Path(__file__).parents[2] / "cmake/cbridge_compile.py"
    subprocess.run(
        [sys.executable, script, affine(), "-o", tmp_path / "A"],
        check=True,
        env={"PATH": os.environ["PATH"]},
    )
    assert (tmp_path / "A.cpp").is_file()
