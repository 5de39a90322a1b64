"""`cbridge new-model` and `export.new_model`: random models for any signature."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import onnx
import onnx.reference
import pytest

from compiler_bridge import Runner, TensorSpec, export
from compiler_bridge.__main__ import main
from compiler_bridge.export import _check, _model, _samples

TYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 str".split()  # noqa: SIM905
)


def random_signature(generator):
    def spec(name):
        rank = int(generator.integers(0, 9 if generator.random() < 0.3 else 4))
        extents = generator.choice([-1, 0, 1, 2, 3], rank, p=[0.2, 0.03, 0.35, 0.22, 0.2])
        return TensorSpec(name, str(generator.choice(TYPES)), extents)

    inputs = [spec(f"input {i}") for i in range(generator.integers(0, 4))]
    return inputs, [spec(f"output {i}") for i in range(generator.integers(1, 4))]


def fits(spec, value):
    shape = np.shape(value)
    return len(shape) == len(spec.shape) and all(
        want in (-1, got) for want, got in zip(spec.shape, shape, strict=True)
    )


@pytest.mark.parametrize("seed", range(5))
def test_any_signature(tmp_path, seed):
    generator = np.random.default_rng(seed)
    path = tmp_path / "model.onnx"
    for i in range(30):
        inputs, outputs = random_signature(generator)
        export.new_model(path, inputs, outputs, seed=i)
        model = onnx.load(path)
        signature = export.Signature.of(inputs, outputs)
        assert _model.graph_signature(model) == signature
        assert _model.stated_signature(model) == signature
        session = _check.session(str(path))
        reference = onnx.reference.ReferenceEvaluator(model)
        for sample in _samples.samples(inputs, 3, i):
            answers = session.run(None, sample)
            for spec, got, wanted in zip(
                outputs, answers, reference.run(None, sample), strict=True
            ):
                assert fits(spec, got), (spec, np.shape(got))
                assert not _samples.compare(spec, got, wanted, 1e-4).text, (inputs, spec)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shape", [(), (3,), (-1, 2)])
def test_outputs_depend_on_every_input(tmp_path, kind, shape):
    inputs = [TensorSpec("a", kind, shape), TensorSpec("b", "float32", [2])]
    outputs = [
        TensorSpec("y", kind, [8]),
        TensorSpec("z", "float32", [-1]),
        TensorSpec("n", "int64", [4]),
    ]
    export.new_model(tmp_path / "m.onnx", inputs, outputs)
    session = _check.session(str(tmp_path / "m.onnx"))
    for varied in ("a", "b"):
        drawn = list(_samples.samples(inputs, 60, ranges=None))[::6]  # of one size
        answers = [session.run(None, {**drawn[0], varied: each[varied]}) for each in drawn]
        for i, spec in enumerate(outputs):
            seen = {str(np.asarray(answer[i]).tolist()) for answer in answers}
            assert len(seen) > 1, (varied, spec)


def test_values_of_all_magnitudes_matter(tmp_path):
    export.new_model(tmp_path / "m.onnx", [TensorSpec("x", "int64")], TensorSpec("y", "float64"))
    session = _check.session(str(tmp_path / "m.onnx"))
    values = [0, 1, -1, 100, 10_000, 10**6, 10**9, 2**63 - 1, -(2**63)]
    answers = [session.run(None, {"x": np.array([value])})[0].item() for value in values]
    assert np.isfinite(answers).all()
    assert len(set(answers)) == len(values)


def test_the_seed_decides(tmp_path):
    def made(seed):
        inputs, output = [TensorSpec("x", "float32", [4])], TensorSpec("y", "float32")
        export.new_model(tmp_path / "m.onnx", inputs, output, seed=seed)
        return (tmp_path / "m.onnx").read_bytes()

    assert made(1) == made(1)
    assert made(1) != made(2)


def test_so_many_choices(tmp_path):
    inputs, output = [TensorSpec("x", "int64")], TensorSpec("y", "int64")
    export.new_model(tmp_path / "m.onnx", inputs, output, choices=2)
    session = _check.session(str(tmp_path / "m.onnx"))
    answers = {session.run(None, {"x": np.array([x])})[0].item() for x in range(-50, 50)}
    assert answers == {0, 1}
    for bad in (0, 1 << 20):
        with pytest.raises(export.ModelError, match=f"choices: {bad} is not from 1 to"):
            export.new_model(tmp_path / "n.onnx", inputs, output, choices=bad)


GOOD = {
    "inputs": [{"name": "x", "type": "float", "shape": [-1, 4]}],
    "outputs": [{"name": "y", "type": "int64_t", "shape": []}],
}


def test_the_command(tmp_path, capfd):
    source = tmp_path / "signature.json"
    source.write_text(json.dumps(GOOD))
    assert main(["new-model", str(source)]) == 0
    model = onnx.load(tmp_path / "signature.onnx")
    assert json.loads(_model.metadata(model)["cbridge.signature"]) == GOOD
    assert main(["new-model", str(source), "-o", str(tmp_path / "other.onnx"), "--seed", "7"]) == 0
    assert (tmp_path / "other.onnx").exists()
    capfd.readouterr()
    assert main(["new-model", "--help"]) == 0
    assert "SIGNATURE.json, with an extent of -1" in capfd.readouterr().out


def test_types_as_python_names_them(tmp_path, capfd):
    source = tmp_path / "my signature.json"
    sides = {"inputs": ("x", "float32", [-1, 4]), "outputs": ("y", "int64", [])}
    members = ("name", "type", "shape")
    source.write_text(
        json.dumps({side: [dict(zip(members, each, strict=True))] for side, each in sides.items()})
    )
    assert main(["new-model", str(source)]) == 0
    said = capfd.readouterr().out.splitlines()
    model = onnx.load(tmp_path / "my signature.onnx")
    assert json.loads(_model.metadata(model)["cbridge.signature"]) == GOOD
    assert said[1] == f"runner: onnx:{tmp_path}/my%20signature.onnx"
    assert Runner(said[1].removeprefix("runner: ")).outputs == [TensorSpec("y", "int64", [])]


INPUTS, OUTPUT = [TensorSpec("x", "float32")], TensorSpec("y", "float32")


def test_links_are_followed(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("there.onnx", "not-yet.onnx"):
        if name == "there.onnx":
            (folder / name).write_text("old")
        (tmp_path / name).symlink_to(f"folder/{name}")
        export.new_model(tmp_path / name, INPUTS, OUTPUT)
        export.add_metadata(tmp_path / name, license="MIT")
        assert (tmp_path / name).is_symlink()
        assert _model.metadata(onnx.load(folder / name))["cbridge.license"] == "MIT"
    assert sorted(each.name for each in folder.iterdir()) == ["not-yet.onnx", "there.onnx"]


def test_only_files_are_replaced(tmp_path):
    def refused(path, why):
        with pytest.raises(export.ModelError, match=why):
            export.new_model(path, INPUTS, OUTPUT)

    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    for name in ("fifo", "link"):
        refused(tmp_path / name, f"{name}: is there already, and is no regular file")
    assert (tmp_path / "fifo").is_fifo()
    assert (tmp_path / "link").is_symlink()
    (tmp_path / "file").touch()
    refused(tmp_path / "file" / "m.onnx", r"m\.onnx: '.*file' is no folder")
    for folder in (".", "..", "", "folder/", f"{tmp_path}", f"{tmp_path}/file/"):
        refused(folder, "is a folder; wanted is the name of a file")
    (tmp_path / "astray").symlink_to("missing/m.onnx")
    refused(tmp_path / "astray", "there is no folder '.*missing'")
    (tmp_path / "round").symlink_to("round")
    refused(tmp_path / "round", "round: ")
    assert (tmp_path / "file").read_bytes() == b""
    assert len(list(tmp_path.iterdir())) == 5


def test_the_example_of_the_guide(tmp_path):
    guide = Path(__file__).parents[2] / "docs" / "guide" / "models-from-python.md"
    (example, *_) = re.findall(r"```json\n(.*?)```", guide.read_text(), re.DOTALL)
    (tmp_path / "signature.json").write_text(example)
    assert main(["new-model", str(tmp_path / "signature.json")]) == 0


def changed(side, **members):
    return {**GOOD, side: [{**GOOD[side][0], **members}]}


@pytest.mark.parametrize(
    ("signature", "why"),
    [
        ("{", ":1:2: Expecting property name enclosed in double quotes"),
        ("[]", ": must be an object with 'inputs', 'outputs'"),
        ('{"inputs":[],"inputs":[]}', ": member 'inputs' is there twice"),
        ({"inputs": []}, ": there is no member 'outputs'"),
        ({**GOOD, "output": []}, ": unknown member 'output'; there are 'inputs', 'outputs'"),
        ({**GOOD, "inputs": {}}, ": inputs: must be a list"),
        ({**GOOD, "outputs": []}, ": outputs: there is none"),
        (changed("inputs", type="flaot"), ": inputs[0].type: 'flaot' is no element type"),
        (changed("inputs", shape=4), ": inputs[0].shape: must be a list"),
        (changed("inputs", shape=[4, -2]), ": inputs[0].shape[1]: -2 is no extent"),
        (changed("outputs", shape=[1.5]), ": outputs[0].shape[0]: 1.5 is no integer"),
        (changed("outputs", shape=[1] * 9), ": outputs[0].shape: rank 9 is above 8"),
        (changed("outputs", name=""), ": outputs[0].name: is empty"),
        (changed("outputs", name=1), ": outputs[0].name: must be a string"),
        (changed("outputs", name="x"), ": outputs[0].name: 'x' is the name of inputs[0], too"),
        (changed("inputs", name="\ud800"), ": inputs[0].name: '\\ud800' is no text that UTF-8"),
        (changed("inputs", name="a\0b"), ": inputs[0].name: 'a\\x00b' has a NUL in it"),
        ('{"inputs":' + "9" * 5001, ": 9999999999... is too large: it has 5001 digits"),
        (changed("outputs", port=0), ": outputs[0]: unknown member 'port'"),
    ],
)
def test_mistakes_are_named(tmp_path, capfd, signature, why):
    source = tmp_path / "s.json"
    source.write_text(signature if isinstance(signature, str) else json.dumps(signature))
    assert main(["new-model", str(source)]) == 2
    said = capfd.readouterr()
    assert said.err.startswith(f"cbridge: {source}{why}")
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert list(tmp_path.iterdir()) == [source]


def test_files_that_cannot_be(tmp_path, capfd):
    assert main(["new-model", "/nonexistent.json"]) == 2
    assert capfd.readouterr().err == "cbridge: /nonexistent.json: No such file or directory\n"
    source = tmp_path / "s.json"
    source.write_text(json.dumps(GOOD))
    assert main(["new-model", str(source), "-o", "/nonexistent/m.onnx"]) == 2
    assert capfd.readouterr().err == (
        "cbridge: /nonexistent/m.onnx: there is no folder '/nonexistent'\n"
    )
    assert main(["new-model", str(source), "--seed", "x"]) == 2
    assert "argument --seed: invalid int value: 'x'; see --help" in capfd.readouterr().err
    assert main(["new-model", str(source), "--seed=-1"]) == 2
    assert capfd.readouterr().err == "cbridge: --seed: -1 is below 0\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_nothing_is_left_of_what_was_interrupted(tmp_path, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(_model.os, "replace", fail)
    with pytest.raises(error):
        export.new_model(tmp_path / "m.onnx", [], TensorSpec("y", "float32", [1]))
    assert list(tmp_path.iterdir()) == []


def test_metadata_that_utf8_cannot_hold(tmp_path):
    path = tmp_path / "m.onnx"
    export.new_model(path, [], TensorSpec("y", "float32", [1]))
    with pytest.raises(export.ModelError, match=r"name: '.ud800' is no text that UTF-8 can hold"):
        export.add_metadata(path, name="\ud800")
