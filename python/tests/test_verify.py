"""`cbridge verify`: engines agree, or are told apart."""

from __future__ import annotations

from urllib.parse import unquote

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler_bridge import TensorSpec, export
from compiler_bridge.__main__ import main
from compiler_bridge.commands import _engines
from compiler_bridge.export import _check, _samples

INPUTS = [
    TensorSpec("x", "float32", [-1, 4]),
    TensorSpec("s", "str", [2]),
    TensorSpec("flag", "bool", []),
]
OUTPUTS = [
    TensorSpec("y", "float32", [3]),
    TensorSpec("choice", "int64", [2]),
    TensorSpec("word", "str", [-1]),
]


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "odd name%41?.onnx"
    export.new_model(path, INPUTS, OUTPUTS)
    return str(path)


@pytest.fixture
def verify(capfd):
    def run(*words, status=0):
        capfd.readouterr()
        assert main(["verify", *map(str, words)]) == status
        return capfd.readouterr()

    return run


def disturbed(change):
    """ONNX Runtime, whose third answer is changed."""
    original = _engines.ENGINES["onnxruntime"]

    def start(subject):
        evaluate = original(subject)
        asked = iter(range(1000))

        def wrong(sample):
            answers = evaluate(sample)
            return change(answers) if next(asked) == 2 else answers

        return wrong

    return start


def test_they_agree(model, verify):
    said = verify(model, "--samples", 12, "--seed", 3)
    assert "12 samples, seed 3, tolerance 0.0001: |a - b| <= " in said.out
    assert "  onnxruntime: largest difference " in said.out
    assert said.out.splitlines()[-1].endswith("agree")
    assert said.err == ""


def test_our_engines_take_part_or_say_why(model, verify, monkeypatch):
    said = verify(model, "--samples=6").out
    absent = ("  onnx: not in this build\n", "there is no ONNX Runtime: ")
    assert "  onnx: largest difference" in said or any(why in said for why in absent)
    monkeypatch.setitem(_engines.ENGINES, "onnx", _engines._runner("nonsense"))
    assert "  onnx: not in this build\n" in verify(model, "--samples=6").out


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda a: {**a, "y": a["y"] + np.float32([0, 0.5, 0])}, "element [1] is"),
        (lambda a: {**a, "y": a["y"] * np.float32(np.nan)}, "element [0] is nan, not"),
        (lambda a: {**a, "y": a["y"][:2]}, "has shape [2], not [3]"),
        (lambda a: {**a, "choice": a["choice"] + [1, 0]}, "element [0] is"),
        (lambda a: {**a, "word": np.array(["no", *a["word"][1:]], object)}, "is 'no', not"),
    ],
)
def test_they_disagree(model, verify, monkeypatch, change, why):
    monkeypatch.setitem(_engines.ENGINES, "onnxruntime", disturbed(change))
    said = verify(model, "--samples=6", status=1).out
    assert why in said
    assert ", sample 2: " in said
    assert said.endswith("they disagree\n")


def test_a_pass_that_does_not_see_the_batch(tmp_path, verify, monkeypatch):
    """A runner has the signature that the metadata states, and gets an address that is quoted."""
    x, y = TensorSpec("x", "float32", [1, -1, 4]), TensorSpec("y", "str", [1, 3])
    path = tmp_path / "a ?&%b.onnx"
    export.new_model(path, [x], y)
    export.add_metadata(path, [TensorSpec("x", "float32", [-1, 4])], TensorSpec("y", "str", [3]))
    seen = []

    class Runner:
        def __init__(self, address, inputs, outputs):
            self._session = _check.session(unquote(address.partition("?")[0].partition(":")[2]))
            seen.append((address, [spec.shape for spec in (*inputs, *outputs)]))

        def evaluate(self, features):
            assert features["x"].ndim == 2
            (words,) = self._session.run(None, {"x": features["x"][np.newaxis]})
            return {"y": words[0].tolist()}

    monkeypatch.setattr(_engines, "Runner", Runner)
    assert "all 3 agree" in verify(path, "--samples=6").out
    ((address, shapes),) = seen
    assert address == f"onnx:{tmp_path}/a%20%3F%26%25b.onnx?on_error=fail"
    assert shapes == [(-1, 4), (3,)]


def test_the_tolerance_counts(model, verify, monkeypatch):
    monkeypatch.setitem(
        _engines.ENGINES, "onnxruntime", disturbed(lambda a: {**a, "y": a["y"] + np.float32(1e-3)})
    )
    assert "off by 0.001" in verify(model, "--samples=6", status=1).out
    verify(model, "--samples=6", "--tolerance=1e-2")


def embedding(path):
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "i"], ["y"])],
        "g",
        [helper.make_tensor_value_info("i", TensorProto.INT64, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [numpy_helper.from_array(np.eye(4, 3, dtype=np.float32), "table")],
    )
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    return path


def test_ranges(tmp_path, verify):
    path = embedding(tmp_path / "m.onnx")
    said = verify(path, status=2).err
    assert "say which: --range INPUT=LOW:HIGH" in said
    verify(path, "--range", "i=0:3")
    for words, why in (
        ("j=0:3", "range of 'j': there is no such input; there are 'i'"),
        ("i=3:0", "range of 'i': 3 is above 0"),
        ("i", "argument --range: invalid range value: 'i'"),
        ("i=-inf:inf", "argument --range: 'i=-inf:inf': the limits must be finite numbers"),
        ("i=0:1e400", "argument --range: 'i=0:1e400': the limits must be finite numbers"),
        ("i=nan:1", "the limits must be finite numbers"),
    ):
        assert why in verify(path, "--range", words, status=2).err


def graph_of_nodes(path, nodes="nodes"):
    """Its edges are pairs of nodes."""
    ends = helper.make_tensor_value_info("edges", TensorProto.INT64, [2, "edges"])
    graph = helper.make_graph(
        [helper.make_node("Gather", ["x", "edges"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [nodes, 3]), ends],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, "edges", 3])],
    )
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    return path


def test_ranges_that_end_at_an_extent(tmp_path, verify):
    path = graph_of_nodes(tmp_path / "m.onnx")
    assert "say which: --range INPUT=LOW:HIGH" in verify(path, status=2).err
    said = verify(path, "--range", "edges=0:nodes-1", "--require=native").out
    assert said.splitlines()[-1].endswith("agree")
    assert "say which" in verify(path, "--range", "edges=0:nodes", status=2).err
    for end in ("node-1", "nodes-", "nodes-x", "nodes+1", "-1-1"):
        said = verify(path, "--range", f"edges=0:{end}", status=2).err
        why = f"{end!r} is neither a number nor an extent that varies; there are 'nodes', 'edges'"
        assert said == f"cbridge: range of 'edges': {why}\n"
    said = verify(path, "--range", "edges=1:nodes-1", status=2).err
    assert said == "cbridge: range of 'edges': 1 is above nodes-1, which is 0 at times\n"
    for words in ("edges=0", "edges=0:", "edges=nodes:9"):
        assert "invalid range value" in verify(path, "--range", words, status=2).err
    assert "there are none" in verify(
        embedding(tmp_path / "fixed.onnx"), "--range", "i=0:nodes", status=2
    ).err  # fmt: skip


@pytest.mark.parametrize(("nodes", "name"), [(None, "x_0"), ("n-1", "n-1"), ("a:b c", "a:b c")])
def test_ranges_that_end_at_an_extent_of_another_name(tmp_path, verify, nodes, name):
    path = graph_of_nodes(tmp_path / "m.onnx", nodes)
    assert "agree" in verify(path, "--range", f"edges=0:{name}-1", "--samples=6").out


def test_samples_that_end_at_an_extent():
    """All of the range is drawn from, and nothing else, also where extents differ."""
    inputs = [TensorSpec("x", "float32", [-1, 2]), TensorSpec("i", "int64", [2, -1])]
    extents = {"x": ["n"], "i": ["m"], "y": ["n-1"]}  # y is an output: its extent is no end
    seen = set()
    for sample in _samples.samples(inputs, 120, ranges={"i": (0, "n-1")}, extents=extents):
        n, i = len(sample["x"]), sample["i"]
        assert n != i.shape[1]
        assert i.min() >= 0
        seen.add((n, int(i.max())))
    assert {n: max(top for m, top in seen if m == n) for n, _ in seen} == {
        n: n - 1 for n in _samples.EXTENTS
    }
    with pytest.raises(export.ModelError, match="'k' is neither a number nor an extent"):
        next(_samples.samples(inputs, 1, ranges={"i": (0, "k")}, extents={**extents, "y": ["k"]}))


def test_ranges_that_a_type_does_not_have(tmp_path, verify):
    path = tmp_path / "m.onnx"
    inputs = [TensorSpec("f", "float32", [1]), TensorSpec("d", "float64", [1])]
    export.new_model(path, inputs, TensorSpec("y", "float32", [1]))
    for words in ("f=0:1e39", "d=-1.7e308:1.7e308"):
        assert "is too wide for" in verify(path, "--range", words, status=2).err
    assert "agree" in verify(path, "--range", "d=-1e3:1e3", "--samples=2").out


@pytest.mark.parametrize("shape", [[0, 3], [3, 0], [5, 1, 0, 3], [2, 0, 0]])
def test_no_strings_at_all(tmp_path, verify, shape):
    path = tmp_path / "m.onnx"
    export.new_model(path, [TensorSpec("s", "str", shape)], TensorSpec("y", "float32", [1]))
    assert "agree" in verify(path, "--samples=2").out
    export.add_metadata(path, [TensorSpec("s", "str", [-1 if e == 0 else e for e in shape])])
    assert "agree" in verify(path, "--samples=2").out


def test_custom_operators(tmp_path, verify):
    path = tmp_path / "m.onnx"
    model = onnx.load(embedding(path))
    model.graph.node[0].domain = "somebody"
    model.opset_import.add(domain="somebody", version=1)
    onnx.save(model, path)
    said = verify(path, status=2)
    assert "somebody" in said.err
    said = verify(path, "--without=onnxruntime", "--without=onnx", status=2)
    assert "reference: has no operator somebody::Gather" in said.out
    assert "there is nothing to compare; engines that take the model: none" in said.err
    assert "/none.so: there is no such file" in verify(
        path, "--custom-ops", "/none.so", status=2
    ).err  # fmt: skip
    said = verify(path, "--custom-ops", path, status=2).err
    assert said.startswith(f"cbridge: {path}: ")


def test_what_the_reference_lacks(tmp_path, verify):
    path = tmp_path / "m.onnx"
    text = """<ir_version: 10, opset_import: ["": 21]> g (float[4,3] x) => (float[4,3] y) {
        y = Scan <num_scan_inputs: int = 1, scan_output_directions: ints = [1],
            body = b (float[3] p) => (float[3] q) { q = Tanh (p) }> (x)
    }"""
    onnx.save(onnx.parser.parse_model(text), path)
    said = verify(path, "--require=native").out
    assert "reference: cannot evaluate the model: Scan is not implemented" in said
    assert "agree" in said
    assert "--require reference: cannot" in verify(path, "--require=reference", status=2).err


def test_trouble(tmp_path, verify, model):
    assert "No such file" in verify("/nonexistent", status=2).err
    for wrong in ("0", "x", "-3"):
        said = verify(model, f"--samples={wrong}", status=2).err
        assert f"--samples: {wrong!r}: expected a number of at least 1; see --help" in said
    assert "invalid tolerance value: 'nan'" in verify(model, "--tolerance=nan", status=2).err
    wrong = onnx.load(model)
    next(e for e in wrong.metadata_props if e.key == "cbridge.signature").value = "{}"
    onnx.save(wrong, tmp_path / "w.onnx")
    said = verify(tmp_path / "w.onnx", status=2).err
    assert "cbridge.signature: there is no member 'inputs'" in said
