"""`cbridge inspect` and the metadata that it shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler_bridge import TensorSpec, export
from compiler_bridge.__main__ import main
from compiler_bridge.export import _cost

X, Y = TensorSpec("x", "float32", [4]), TensorSpec("y", "float32", [3])


def save(path, nodes, inputs, outputs, weights=(), domains=()):
    """A graph: inputs and outputs are (name, type, shape)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*each) for each in inputs],
        [helper.make_tensor_value_info(*each) for each in outputs],
        [numpy_helper.from_array(value, name) for name, value in dict(weights).items()],
    )
    opsets = [helper.make_opsetid("", 20), *(helper.make_opsetid(d, 1) for d in domains)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return str(path)


@pytest.fixture
def linear(tmp_path):
    def make(weights=None, leading=()):
        weights = np.ones((4, 3), np.float32) if weights is None else weights
        return save(
            tmp_path / "linear.onnx",
            [helper.make_node("MatMul", ["x", "w"], ["y"])],
            [("x", TensorProto.FLOAT, [*leading, 4])],
            [("y", TensorProto.FLOAT, [*leading, 3])],
            {"w": weights},
        )

    return make


@pytest.fixture
def inspect(capfd):
    def run(*words, status=0):
        capfd.readouterr()
        assert main(["inspect", *map(str, words)]) == status
        return capfd.readouterr()

    return run


def test_what_is_shown(linear, inspect):
    path = linear()
    assert "no metadata of CompilerBridge" in inspect(path).out
    export.add_metadata(
        path, name="unroller", version="3", training_data="42 programs", license="Apache-2.0"
    )
    text = inspect(path).out
    for line in (
        "  name: unroller",
        "  training data: 42 programs",
        "  license: Apache-2.0",
        "graph, as the metadata says:",
        "  input 'x': float[4]",
        "      1 MatMul",
        "parameters: 12 in 48 bytes",
        "cost: 12 multiply-adds per evaluation",
    ):
        assert line in text.splitlines()


def test_for_programs(linear, inspect):
    path = linear(leading=["batch"])
    export.add_metadata(path, [X], Y, name="n")
    found = json.loads(inspect("--json", "--extent", 5, path).out)
    assert found["metadata"]["cbridge.format"] == "1"
    assert found["metadata"]["cbridge.name"] == "n"
    assert found["signature"]["inputs"] == [{"name": "x", "type": "float", "shape": [4]}]
    assert found["graph_signature"]["inputs"] == [{"name": "x", "type": "float", "shape": [-1, 4]}]
    assert found["operators"] == [{"domain": "ai.onnx", "name": "MatMul", "count": 1}]
    assert found["opsets"] == {"ai.onnx": 20}
    assert found["multiply_adds"] == 60
    assert found["problems"] == []


def test_extents_that_vary(tmp_path, inspect, linear):
    floats = TensorProto.FLOAT
    path = save(
        tmp_path / "m.onnx",
        [
            helper.make_node("MatMul", ["x", "x"], ["y"]),
            helper.make_node("Concat", ["z", "z", "x"], ["w"], axis=0),
        ],
        [("x", floats, ["nodes", "nodes"]), ("z", floats, [None, "2, 3"])],
        [("y", floats, ["nodes", None]), ("w", floats, ["a + b", "nodes"])],
    )
    text = inspect(path).out.splitlines()
    for line in (
        "  input 'x': float[nodes,nodes]",
        "  input 'z': float[z_0,'2, 3']",
        "  output 'y': float[nodes,?]",
        "  output 'w': float['a + b',nodes]",
        "extents that vary: 'nodes', 'z_0', '2, 3' (cbridge compile --max NAME=N)",
    ):
        assert line in text
    assert json.loads(inspect("--json", path).out)["extents"] == {
        "inputs": {"x": ["nodes", "nodes"], "z": ["z_0", "2, 3"]},
        "outputs": {"y": ["nodes", None], "w": ["a + b", "nodes"]},
    }

    assert "extents that vary" not in inspect(linear()).out
    path = linear(leading=["batch"])
    export.add_metadata(path, [X], Y)
    text = inspect(path).out
    assert "what the pass sees:\n  input 'x': float[4]\n" in text
    assert "graph:\n  input 'x': float[batch,4]\n" in text


def test_names_of_extents_are_those_that_compile_takes(tmp_path, inspect):
    path = save(
        tmp_path / "m.onnx",
        [helper.make_node("Neg", ["x"], ["y"])],
        [("x", TensorProto.FLOAT, ["nodes", None])],
        [("y", TensorProto.FLOAT, ["nodes", None])],
    )
    shown = json.loads(inspect("--json", path).out)["extents"]["inputs"]["x"]
    maxima = [word for name in shown for word in ("--max", f"{name}=4")]
    assert main(["compile", path, "--dump", *maxima]) == 0


def test_metadata_is_kept_and_checked(linear, inspect):
    path = linear()
    export.add_metadata(path, name="a", version="1")
    export.add_metadata(path, version="2")
    known = json.loads(inspect("--json", path).out)["metadata"]
    assert (known["cbridge.name"], known["cbridge.version"]) == ("a", "2")
    before = Path(path).read_bytes()
    with pytest.raises(export.ModelError, match=r"input 'x': the model wants float\[4\], the pass"):
        export.add_metadata(path, [TensorSpec("x", "float32", [5])], Y)
    with pytest.raises(export.ModelError, match="output 'z': the pass wants it, the model has 'y'"):
        export.add_metadata(path, [X], TensorSpec("z", "float32", [3]))
    assert Path(path).read_bytes() == before


def test_problems(tmp_path, linear, inspect):
    bad = np.ones((4, 3), np.float32)
    bad[1, 1], bad[2, 2] = np.nan, np.inf
    said = inspect(linear(bad), status=1).out
    assert "problem: weight 'w': 1 NaN and 1 Inf among 12 values" in said

    path = linear()
    model = onnx.load(path)
    model.metadata_props.add(
        key="cbridge.signature",
        value='{"inputs":[],"outputs":[{"name":"y","type":"double","shape":[3]}]}',
    )
    model.metadata_props.add(key="cbridge.format", value="9")
    onnx.save(model, path)
    said = inspect(path, status=1).out
    assert "the model wants float[4], the pass has no such feature" in said
    assert "output 'y': the model gives float[3], the pass wants double[3]" in said
    assert "cbridge.format: is '9', not '1'" in said

    half = [("x", TensorProto.FLOAT16, [1])], [("y", TensorProto.FLOAT16, [1])]
    path = save(tmp_path / "half.onnx", [helper.make_node("Neg", ["x"], ["y"])], *half)
    assert "input 'x': float16 is no element type of a pass" in inspect(path, status=1).out


def test_cost(tmp_path, inspect):
    nodes = [
        helper.make_node("LSTM", ["x", "w", "r"], ["", "h"], hidden_size=8),
        helper.make_node("Custom", ["h"], ["c"], domain="somebody"),
        helper.make_node("Einsum", ["x", "e"], ["z"], equation="sbi,io->sbo"),
        helper.make_node("Conv", ["image", "k"], ["i"]),
    ]
    weights = {
        "w": np.zeros((1, 32, 4), np.float32),
        "r": np.zeros((1, 32, 8), np.float32),
        "e": np.zeros((4, 5), np.float32),
        "k": np.zeros((2, 1, 3, 3), np.float32),
    }
    floats = TensorProto.FLOAT
    path = save(
        tmp_path / "m.onnx",
        nodes,
        [("x", floats, ["n", 1, 4]), ("image", floats, [1, 1, 5, 5])],
        [("c", floats, [1, 1, 8]), ("z", floats, ["n", 1, 5]), ("i", floats, [1, 2, 3, 3])],
        weights,
        ["somebody"],
    )
    found = json.loads(inspect("--json", "--extent=10", path).out)
    assert found["multiply_adds"] == 10 * 32 * (4 + 8) + 10 * 4 * 5 + 18 * 9
    assert found["multiply_adds_unknown"] == {"somebody::Custom": 1}
    assert "with 10 for each dynamic extent" in inspect("--extent=10", path).out
    assert "somebody::Custom" in inspect(path).out


def test_files_that_are_no_models(tmp_path, inspect, linear):
    path = linear()
    whole = Path(path).read_bytes()
    (tmp_path / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "text.onnx").write_text("hello, world")
    for name in ("cut", "empty", "text"):
        said = inspect(tmp_path / f"{name}.onnx", status=2)
        assert said.err.startswith(f"cbridge: {tmp_path / name}.onnx: is no ONNX model")
        assert said.err.count("\n") == 1
    assert "only ONNX files are understood" in inspect(tmp_path, status=2).err
    assert inspect("/nonexistent", status=2).err == (
        "cbridge: /nonexistent: No such file or directory\n"
    )
    assert "the following arguments are required: MODEL.onnx" in inspect(status=2).err


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"MatMul", "graph.node[0].op_type"),
        (b"DOMAIN", "opset_import[1].domain"),
        (b"cbridge.name", "metadata_props[1].key"),
        (b"NAME", "metadata_props[1].value"),
        (b"TENSOR", "graph.node[0].output"),
    ],
)
def test_text_that_is_no_utf8(tmp_path, inspect, text, place):
    path = Path(
        save(
            tmp_path / "m.onnx",
            [helper.make_node("MatMul", ["x", "x"], ["TENSOR"])],
            [("x", TensorProto.FLOAT, [2, 2])],
            [("TENSOR", TensorProto.FLOAT, [2, 2])],
            domains=["DOMAIN"],
        )
    )
    export.add_metadata(path, name="NAME")
    path.write_bytes(path.read_bytes().replace(text, b"\xff" * len(text)))
    for words in ([path], ["--json", path]):
        assert inspect(*words, status=2).err == f"cbridge: {path}: {place}: is no text in UTF-8\n"


def test_nobody_reads_the_documentation(linear, inspect):
    path = Path(linear())
    model = onnx.load(path)
    model.doc_string = "HELLO"
    path.write_bytes(model.SerializeToString().replace(b"HELLO", b"\xff" * 5))
    inspect(path)


def test_what_nobody_has_thought_of(linear, inspect, monkeypatch):
    path = linear()

    def fail(*_):
        raise TypeError("first\nsecond")

    monkeypatch.setattr(_cost, "cost", fail)
    said = inspect(path, status=2).err
    assert said == f"cbridge: {path}: is no valid ONNX model: TypeError: first\n"


@pytest.mark.parametrize("command", ["inspect", "verify", "new-model"])
def test_files_that_never_end(tmp_path, capfd, command):
    os.mkfifo(tmp_path / "fifo")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**31)
    for path, why in (
        (tmp_path / "fifo", "is no regular file"),
        ("/dev/zero", "is no regular file"),
        (tmp_path / "large", "files of 2 GiB and more cannot be read"),
    ):
        assert main([command, str(path)]) == 2
        assert capfd.readouterr().err == f"cbridge: {path}: {why}\n"


def test_characters_that_the_terminal_does_not_have(tmp_path, linear):
    path = Path(linear()).rename(tmp_path / "ü.onnx")
    done = subprocess.run(
        [sys.executable, "-m", "compiler_bridge", "inspect", path],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"/\\xfc.onnx: " in done.stdout


def test_without_the_package(linear, inspect, monkeypatch):
    path = linear()
    monkeypatch.setitem(sys.modules, "onnx", None)
    said = inspect(path, status=2).err
    assert said.startswith("cbridge: inspect needs")
    assert said.count("\n") == 1
