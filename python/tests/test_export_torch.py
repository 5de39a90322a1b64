"""PyTorch -> ONNX."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import numpy as np
import onnx
import pytest

from compiler_bridge import TensorSpec, export
from compiler_bridge.__main__ import main
from compiler_bridge.export import _check, _model

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

X, Y = TensorSpec("x", "float32", [4]), TensorSpec("y", "float32", [3])
TEXTS = {"name": "m", "version": "1", "training_data": "none", "license": "Apache-2.0"}


class Scores(torch.nn.Module):
    """Floats, bools and an integer in; floats and the best choice out."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, x, flags, scale):
        scores = self.dropout(self.linear(x)) + flags.float()[..., None] * scale
        return {"scores": scores, "best": scores.argmax(-1)}


def test_names_types_and_dynamic_extents(tmp_path, capfd):
    inputs = [
        TensorSpec("x", "float32", [-1, 4]),
        TensorSpec("flags", "bool", [-1]),
        TensorSpec("scale", "int64", []),
    ]
    # "linear" is what the exporter calls a value inside; the order is not the module's.
    outputs = [TensorSpec("best", "int64", [-1]), TensorSpec("linear", "float32", [-1, 3])]
    module = Scores()
    path = tmp_path / "m.onnx"

    def function(**features):
        results = module(**features)
        return {"best": results["best"], "linear": results["scores"]}

    module.eval()
    inputs = inputs[::-1]
    export.from_torch(function, path, inputs, outputs, by_name=True, **TEXTS)
    assert capfd.readouterr() == ("", "")
    model = onnx.load(path)
    signature = export.Signature.of(inputs, outputs)
    assert _model.graph_signature(model) == _model.stated_signature(model) == signature
    known = _model.metadata(model)
    assert {key: known[f"cbridge.{key}"] for key in TEXTS} == TEXTS
    # Nothing tells where the author's files are.
    assert __file__.encode() not in path.read_bytes()

    session = _check.session(str(path))
    for size in (1, 2, 9):
        x = np.random.default_rng(size).normal(size=(size, 4)).astype(np.float32)
        sample = {"x": x, "flags": x[:, 0] > 0, "scale": np.array(3)}
        best, scores = session.run(["best", "linear"], sample)
        with torch.no_grad():
            wanted = module(torch.tensor(x), torch.tensor(x[:, 0] > 0), torch.tensor(3))
        np.testing.assert_allclose(scores, wanted["scores"].numpy(), atol=1e-5)
        assert best.tolist() == wanted["best"].tolist()
    assert main(["inspect", str(path)]) == 0
    assert main(["verify", str(path), "--samples=12"]) == 0


def test_a_batch_that_the_pass_does_not_see(tmp_path):
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 3)).train()
    path = tmp_path / "m.onnx"
    export.from_torch(module, path, [X], Y, batched=True, **TEXTS)
    # Batch normalization in training would have changed the model, and its answers.
    assert all(part.training for part in module.modules())
    assert module[0].num_batches_tracked == 0
    assert _model.graph_signature(onnx.load(path)) == export.Signature.of([X], Y)
    export.add_metadata(path, version="2")
    assert _model.metadata(onnx.load(path))["cbridge.version"] == "2"


@pytest.mark.parametrize(
    ("function", "inputs", "outputs"),
    [
        pytest.param(lambda x: (x, x, x + 0), [X], 3, id="inputs as outputs"),
        pytest.param(lambda x, other: x + 1, [X, TensorSpec("other", "int8")], 1,
                     id="an input that is not used"),
        pytest.param(lambda: torch.arange(4).float(), [], 1, id="no inputs"),
        pytest.param(lambda x: x.half().float().double(), [X], -1, id="a wider type"),
    ],
)  # fmt: skip
def test_odd_functions(tmp_path, function, inputs, outputs):
    kind = "float64" if outputs < 0 else "float32"
    specs = [TensorSpec(f"y{i}", kind, [4]) for i in range(abs(outputs))]
    export.from_torch(function, tmp_path / "m.onnx", inputs, specs, tolerance=1e-2, **TEXTS)
    model = onnx.load(tmp_path / "m.onnx")
    assert _model.graph_signature(model) == export.Signature.of(inputs, specs)


def linear(x):
    return x[:3] * 2


BAD = [
    (lambda x: x[:2], [X], Y, {}, "output 'y': the function gives shape [2], the signature has"),
    (lambda x: x[None, :3], [X], Y, {}, "batched=True adds a leading extent"),
    (lambda x: x[0, :3], [X], Y, {"batched": True}, "output 'y': has shape [3], no leading extent"),
    (lambda x: x[:3].double(), [X], Y, {}, "output 'y': the function gives float64"),
    (lambda x: (x[:3], x), [X], Y, {}, "the function gives 2 outputs, wanted: 'y'"),
    (lambda x: {"z": x}, [X], Y, {}, "output 'y': the function gives 'z'"),
    (lambda x: x @ torch.ones(7), [X], Y, {}, "the function fails: RuntimeError: "),
    (linear, [TensorSpec("x", "str")], Y, {}, "input 'x': PyTorch has no strings"),
    (linear, [X], TensorSpec("x", "float32"), {}, "outputs[0].name: 'x' is the name of inputs[0]"),
    (linear, [X], Y, {"name": 3}, "name: 3 is no text"),
    (linear, [X], Y, {"extents": {"x": ["n"]}}, "extents of 'x': it has 0 dynamic ones"),
    (linear, [X], Y, {"ranges": {"z": (0, 1)}}, "range of 'z': there is no such input"),
    (linear, [X], Y, {"samples": [{"x": [1, 2]}]}, "samples[0], input 'x': has shape [2]"),
    (linear, [X], Y, {"samples": [{}]}, "samples[0]: there is no input 'x'"),
    (lambda x: torch.linalg.svdvals(x.reshape(2, 2))[:1].expand(3), [X], Y, {},
     "PyTorch cannot export it: there is no ONNX for the operator aten._linalg_svd"),
    (lambda x: x[:3] + torch.rand(3), [X], Y, {},
     "output 'y', sample 0: ONNX Runtime and the framework disagree: element ["),
    ("module", [X], Y, {}, "'module' is neither a module nor a function"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "inputs", "outputs", "options", "why"), BAD)
def test_mistakes_are_named_and_leave_no_file(
    tmp_path, function, inputs, outputs, options, why, capfd
):
    path = tmp_path / "m.onnx"
    with pytest.raises(export.ModelError, match=re.escape(why)):
        export.from_torch(function, path, inputs, outputs, **{**TEXTS, **options})
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_weights_that_are_no_numbers(tmp_path):
    module = torch.nn.Linear(4, 3)
    with torch.no_grad():
        module.weight[1, 2] = torch.nan
    with pytest.raises(export.ModelError, match=r"weight '.*': 1 NaN among 12 values"):
        export.from_torch(module, tmp_path / "m.onnx", [X], Y, **TEXTS)
    assert list(tmp_path.iterdir()) == []


def test_ranges_and_an_older_file(tmp_path):
    table = torch.nn.Embedding(3, 2)
    index, row = TensorSpec("i", "int64", [1]), TensorSpec("row", "float32", [1, 2])
    path = tmp_path / "m.onnx"
    path.write_text("old")
    with pytest.raises(export.ModelError, match=r"IndexError: .*; if the model takes only some"):
        export.from_torch(table, path, [index], row, **TEXTS)
    assert path.read_text() == "old"
    with pytest.raises(export.ModelError, match="there is no folder"):
        export.from_torch(table, tmp_path / "none" / "m.onnx", [index], row, **TEXTS)
    export.from_torch(table, path, [index], row, ranges={"i": (0, 2)}, **TEXTS)
    export.from_torch(table, path, [index], row, samples=[{"i": [1]}, {"i": [2]}], **TEXTS)
    assert [each.name for each in tmp_path.iterdir()] == ["m.onnx"]


def test_ranges_that_end_at_an_extent(tmp_path):
    x, ends = TensorSpec("x", "float32", [-1, 3]), TensorSpec("ends", "int64", [-1])
    export.from_torch(
        lambda x, ends: x[ends],
        tmp_path / "m.onnx",
        [x, ends],
        TensorSpec("y", "float32", [-1, 3]),
        extents={"x": ["nodes"], "ends": ["edges"], "y": ["edges"]},
        ranges={"ends": (0, "nodes-1")},
        **TEXTS,
    )


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (lambda x: x @ torch.ones(7, 2), False),
        (lambda x: x + torch.ones(7), False),
        (lambda x: x.reshape(9), False),
        (lambda x: x[:, :, 0], False),
        (lambda x: x.sum(dim=5), False),
        (lambda x: torch.nn.Linear(3, 3)(x), False),  # another type
        (lambda x, more: x, False),
        (lambda x: torch.ones(3, bias=1), False),
        (lambda x: x.size_of_it, False),
        (lambda x: torch.arange(3)[x], True),
        (lambda x: torch.nn.functional.one_hot(x, 3), True),
    ],
)
def test_ranges_are_suggested_where_values_matter(tmp_path, function, values):
    x, y = TensorSpec("x", "int64", [2, 3]), TensorSpec("y", "int64", [2, 3])
    with pytest.raises(export.ModelError, match="sample 0: the function fails") as raised:
        export.from_torch(function, tmp_path / "m.onnx", [x], y, **TEXTS)
    assert ("say which with ranges=" in str(raised.value)) == values, str(raised.value)


def test_a_branch_on_a_value(tmp_path):
    def choose(x):
        if x.sum() > 0:  # the line that is named
            return x
        return -x

    line = choose.__code__.co_firstlineno + 1
    why = (
        rf"branches on the value of a tensor \(test_export_torch.py, line {line}\): let torch.where"
    )
    x, y = TensorSpec("x", "float32", [2]), TensorSpec("y", "float32", [2])
    with pytest.raises(export.ModelError, match=why):
        export.from_torch(choose, tmp_path / "m.onnx", [x], y, **TEXTS)


@pytest.mark.parametrize("key", ["name", "version"])
def test_a_model_has_a_name_and_a_version(tmp_path, key):
    x = TensorSpec("x", "float32")
    with pytest.raises(export.ModelError, match=f"{key}: a model needs one"):
        export.from_torch(
            lambda x: x, tmp_path / "m.onnx", [x], TensorSpec("y", "float32"), **TEXTS | {key: None}
        )
    with pytest.raises(export.ModelError, match=f"{key}: a model needs one"):
        export.new_model(tmp_path / "m.onnx", [x], TensorSpec("y", "float32"), **{key: None})
    assert list(tmp_path.iterdir()) == []


def test_the_example_of_the_guide(tmp_path, monkeypatch, capsys):
    guide = Path(__file__).parents[2] / "docs" / "guide" / "models-from-python.md"
    examples = re.findall(r"```python\n(.*?)```", guide.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in examples[:3]:  # one to export, one with a graph, one to ask
        exec(compile(textwrap.dedent(example), str(guide), "exec"), names)
    shown = capsys.readouterr().out.splitlines()
    assert "TensorSpec(name='embedding', dtype='float32', shape=(64,))" in shown[0]
    assert int(shown[1]) in range(8)
    assert main(["inspect", "unroll.onnx"]) == 0
    assert main(["verify", "unroll.onnx"]) == 0
    assert main(["verify", "messages.onnx", "--range=edges=0:n-1"]) == 0


def test_operators_of_ones_own(tmp_path):
    """The translation reaches the exporter."""
    from onnxscript import opset18 as op

    def minus(value):
        return op.Mul(value, op.Constant(value_float=-1.0))

    table = {torch.ops.aten.neg.default: minus}
    path = tmp_path / "m.onnx"
    export.from_torch(lambda x: -x[:3], path, [X], Y, custom_translation_table=table, **TEXTS)
    assert "Mul" in {node.op_type for node in onnx.load(path).graph.node}
