"""`cbridge compile` where models are odd: names, sizes, shapes, functions, long chains."""

from __future__ import annotations

import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler_bridge import BridgeError, Runner, TensorSpec, export
from compiler_bridge.__main__ import main
from compiler_bridge.codegen import Unsupported, generate

FLOAT = TensorProto.FLOAT


def model(nodes, inputs, outputs, weights=None, opset=20, functions=()):
    """Inputs and outputs by name: floats of a shape."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(value, name) for name, value in (weights or {}).items()],
    )
    opsets = [
        helper.make_opsetid("", opset),
        *(helper.make_opsetid(f.domain, 1) for f in functions),
    ]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    made.functions.extend(functions)
    return made


def compiled(tmp_path, made, *words, name="M"):
    """The runner of a model."""
    onnx.save(made, tmp_path / "m.onnx")
    assert (
        main(["compile", str(tmp_path / "m.onnx"), "-o", str(tmp_path / name), "--so", *words]) == 0
    )
    return Runner(f"native:{tmp_path}/{name}.so?on_error=fail")


def relu(shape, count=1):
    names = ["x", *(f"t{i}" for i in range(count - 1)), "y"]
    nodes = [helper.make_node("Relu", [names[i]], [names[i + 1]]) for i in range(count)]
    return model(nodes, {"x": shape}, {"y": shape})


@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
def test_a_file_compiles_from_another_folder(tmp_path, monkeypatch, compiler):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    onnx.save(relu([4]), "m.onnx")
    assert main(["compile", "m.onnx", "-o", "inner/M"]) == 0
    subprocess.run([compiler, "-std=c++17", "-c", "inner/M.cpp", "-o", "m.o"], check=True)


def test_a_folder_is_enough(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    onnx.save(relu([4]), "my-policy.onnx")
    assert main(["compile", "my-policy.onnx", "-o", "inner"]) == 0
    assert (tmp_path / "inner/MyPolicy.cpp").is_file()


def test_a_new_model_can_be_compiled(tmp_path):
    """From a pass without a model to one that has it compiled in."""
    export.new_model(
        tmp_path / "m.onnx",
        [TensorSpec("a", "float32", [3]), TensorSpec("b", "int64", [])],
        [
            TensorSpec("y", "float32", [2]),
            TensorSpec("z", "int64", []),
            TensorSpec("f", "bool", [2]),
        ],
    )
    assert main(["verify", str(tmp_path / "m.onnx"), "--samples=8", "--require=native"]) == 0


def test_an_engine_that_is_required_must_take_part(tmp_path, capfd):
    made = model([helper.make_node("Det", ["x"], ["y"])], {"x": [2, 2]}, {"y": []})
    onnx.save(made, tmp_path / "m.onnx")
    words = ["verify", str(tmp_path / "m.onnx"), "--samples=2"]
    assert main(words) == 0
    assert main([*words, "--require=native"]) == 2
    assert "--require native: cannot be compiled: node 'y' (Det)" in capfd.readouterr().err


def test_local_functions(tmp_path):
    double = helper.make_function(
        "own",
        "Double",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 20)],
    )
    node = helper.make_node("Double", ["x"], ["y"], domain="own")
    runner = compiled(tmp_path, model([node], {"x": [3]}, {"y": [3]}, functions=[double]))
    assert np.array_equal(runner.evaluate({"x": np.float32([1, 2, 3])})["y"], [2, 4, 6])


def test_long_chains(tmp_path):
    assert "Relu" in generate(relu([8], 2000), "M").source
    nodes = [helper.make_node("Add", [f"t{i}", f"t{i}"], [f"t{i + 1}"]) for i in range(60)]
    runner = compiled(tmp_path, model(nodes, {"t0": [2]}, {"t60": [2]}))
    assert np.array_equal(
        runner.evaluate({"t0": np.float32([1, -3])})["t60"], [2.0**60, -3 * 2.0**60]
    )


def test_weights_without_elements(tmp_path):
    nodes = [helper.make_node("Concat", ["x", "w"], ["y"], axis=0)]
    none = np.zeros([0], np.float32)
    runner = compiled(tmp_path, model(nodes, {"x": [2]}, {"y": [2]}, {"w": none}))
    assert np.array_equal(runner.evaluate({"x": np.float32([1, 2])})["y"], [1, 2])


NAMES = ["int64_t", "NAN", "NULL", "INT64_MIN", "FN", "MEMBER", "CBRIDGE_LEVEL", "M_PI", "concept"]


def test_names_that_others_have(tmp_path):
    names = [*NAMES, "evaluate", "in", "Inputs", "Max_N", "std"]
    shape = ["N", "Max_N", "int64_t", "a\\ ", "??/"]
    made = model(
        [helper.make_node("Sum", names, ["y"], name="N_N")],
        dict.fromkeys(names, shape),
        {"y": shape},
    )
    runner = compiled(tmp_path, made, "--max=2")
    ones = np.ones([1, 2, 1, 2, 1], np.float32)
    assert np.array_equal(runner.evaluate(dict.fromkeys(names, ones))["y"], ones * len(names))


@pytest.mark.parametrize(
    "name", ["class", "Inputs", "evaluate", "std", "NAN", "M_PI", "a__b", "in"]
)
def test_names_of_structs_that_cannot_be(tmp_path, capfd, name):
    onnx.save(relu([4]), tmp_path / "m.onnx")
    for words in (["-o", str(tmp_path / name)], ["--namespace", name]):
        if name not in ("Inputs", "evaluate", "in") or words[0] == "-o":
            assert main(["compile", str(tmp_path / "m.onnx"), *words]) == 2
            assert f"{name!r} is no name in C++" in capfd.readouterr().err


def test_sizes_that_no_machine_has():
    for shape in ([2**62], [2**20, 2**20], ["n", 2**30]):
        with pytest.raises(Unsupported, match="an instance would have"):
            generate(relu(shape), "M", maxima=8)
    with pytest.raises(Unsupported, match="extent 'n' varies"):
        generate(relu(["n"]), "M", maxima=-3)


def test_unknown_maxima_are_named_first():
    with pytest.raises(Unsupported, match="--max m: no extent has this name; there are 'n'"):
        generate(relu(["n"]), "M", maxima={"m": 3})


def test_an_extent_that_becomes_negative(tmp_path):
    """n - 3 zeros, then z."""
    made = model(
        [
            helper.make_node("Shape", ["x"], ["n"]),
            helper.make_node("Sub", ["n", "three"], ["count"]),
            helper.make_node("ConstantOfShape", ["count"], ["zeros"]),
            helper.make_node("Concat", ["zeros", "z"], ["y"], axis=0),
        ],
        {"x": ["n"], "z": [4]},
        {"y": ["m"]},
        {"three": np.int64([3])},
    )
    runner = compiled(tmp_path, made, "--max=5")
    z = np.float32([1, 2, 3, 4])
    got = runner.evaluate({"x": np.zeros(5, np.float32), "z": z})["y"]
    assert np.array_equal(got, [0, 0, *z])
    with pytest.raises(BridgeError, match="needs n >= 3"):
        runner.evaluate({"x": np.zeros(2, np.float32), "z": z})


def test_the_fingerprint_is_that_of_the_architecture():
    def layer(weight, name="layer", rows="n"):
        node = helper.make_node("MatMul", ["x", "w"], ["y"], name=name)
        shapes = {"x": [rows, 2]}, {"y": [rows, 3]}
        return model([node], *shapes, {"w": np.full([2, 3], weight, np.float32)})

    def print_of(made, maxima=4):
        return generate(made, "M", maxima=maxima).description.fingerprint

    first = print_of(layer(0))
    assert first == print_of(layer(1.5)) == print_of(layer(0, "other")) == print_of(layer(0), 99)
    assert first != print_of(layer(0, rows=4))
