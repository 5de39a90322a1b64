"""Training logs in Python: reading, writing, recording and replaying."""

from __future__ import annotations

import builtins
import math
import os
import pickle
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from compiler_bridge import BridgeError, Runner, TensorSpec, log

GOLDEN = Path(__file__).parents[2] / "tests" / "golden"
SIZE, NAMES = TensorSpec("size", "int64"), TensorSpec("names", str, [-1])
ROWS = TensorSpec("rows", "float32", [-1, 2])
INLINE = TensorSpec("inline", "int64")


def test_llvm_static_log():
    table = log.read(GOLDEN / "log_static.log")
    assert len(table) == 4
    assert table.complete
    assert table.cut == []
    odd = 'a "q"\t\n\x01 é'
    assert [spec.name for spec in table.inputs] == [odd, "m", "u8", "d"]
    assert table.outputs == (TensorSpec("unroll", "int64"),)
    assert table.features[odd].tolist() == [[10], [11], [12], [2570]]
    assert table.features["m"].shape == (4, 2, 3)
    assert table.features["m"].dtype == np.float32
    assert table.features["u8"][3].tolist() == [10, 10, 255]
    assert table.decision.tolist() == [[4], [8], [2], [1]]
    assert table.reward.tolist() == [1.5, -0.25, 0, 3]
    assert table.ordinal.tolist() == [0, 1, 0, 2]
    assert table.context == ["main", "main", 'f\r\x1f"\\/€', "main"]


def test_extension_log():
    table = log.read(GOLDEN / "log_extension.log")
    assert table.features["name"] == [["hello"]] * 3
    assert table.features["names"] == [[], ["a\nb"], ["a\nb", ""]]
    assert [rows.shape for rows in table.features["rows"]] == [(0, 2), (1, 2), (2, 2)]
    assert table.features["rows"][2].tolist() == [[0, 0.5], [1, 1.5]]
    assert table.features["flags"].dtype == np.bool_
    assert table.decisions["y"].tolist() == [[-1], [0], [1]]
    assert table.decisions["why"] == ["so"] * 3
    assert table.reward[0] == 0.5
    assert np.isnan(table.reward[1:]).all()
    with pytest.raises(ValueError, match="2 decision tensors, not one"):
        _ = table.decision


def test_logs_of_llvm_without_decision_or_with_integer_scores():
    table = log.read(GOLDEN / "log_interactive.log")
    assert table.decisions == {}
    assert table.features["edge_count"].tolist() == [[0.5, 1.5], [0, -2]]
    assert np.isnan(table.reward).all()
    assert log.read(GOLDEN / "log_integer_score.log").reward.tolist() == [-10, 7]


def test_rows_and_contexts():
    table = log.read(GOLDEN / "log_static.log")
    rows = list(table)
    assert len(rows) == 4
    assert rows[1] is not table[1]
    assert (rows[1].context, rows[1].ordinal, rows[1].reward) == ("main", 1, -0.25)
    assert rows[1].decision["unroll"].tolist() == [8]
    assert table[-1].features["d"][0] == 2570 / 3
    with pytest.raises(IndexError, match="decision 4 of 4"):
        table[4]
    main = table.of_context("main")
    assert main.ordinal.tolist() == [0, 1, 2]
    assert main.decision.tolist() == [[4], [8], [1]]
    assert table.select(table.reward > 0).reward.tolist() == [1.5, 3]
    with pytest.raises(KeyError, match="no context 'g'"):
        table.of_context("g")
    ragged = log.read(GOLDEN / "log_extension.log").of_context("g")
    assert ragged.features["names"] == [["a\nb", ""]]


def test_arrays_outlive_the_log():
    column = log.read(GOLDEN / "log_static.log").features["m"]
    rows = log.read(GOLDEN / "log_extension.log").features["rows"]
    column[0, 0, 0] = 7  # and are one's own
    assert column[0, 0, 0] == 7
    assert rows[2].sum() == 3


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "x.log"
    with log.LogWriter(path, [SIZE, ROWS, NAMES], INLINE) as writer:
        writer.write("f", {"size": 1, "rows": [[1, 2]], "names": []}, {"inline": 1}, reward=2)
        writer.write("f", {"size": 2, "rows": np.zeros((0, 2)), "names": ["x"]}, {"inline": 0})
        writer.reward(-1)
        with pytest.raises(ValueError, match="no decision to reward"):
            writer.reward(1)
        with pytest.raises(KeyError, match="feature 'rows' is missing"):
            writer.write("f", {"size": 2}, {"inline": 0})
        full = {"size": 1, "rows": [[1, 2]], "names": []}
        with pytest.raises(KeyError, match="a decision that the signature does not have"):
            writer.write("f", full, {"inline": 0, "other": 1})
        with pytest.raises(ValueError, match="cannot be kept exactly"):
            writer.write("f", {**full, "size": 1.5}, {"inline": 0})
    writer.close()
    with pytest.raises(ValueError, match="the log is closed"):
        writer.reward(1)
    table = log.read(path)
    assert table.features["size"].tolist() == [[1], [2]]
    assert table.features["names"] == [[], ["x"]]
    assert table.reward.tolist() == [2, -1]
    assert table.ordinal.tolist() == [0, 1]


def test_plain_logs_are_those_of_llvm(tmp_path):
    with log.LogWriter(tmp_path / "x.log", [SIZE], INLINE) as writer:
        writer.write("", {"size": 10}, {"inline": 1})
    spec = '{"name":"%s","type":"%s","port":0,"shape":[1]}'
    size, inline = spec % ("size", "int64_t"), spec % ("inline", "int64_t")
    reward = spec % ("reward", "float")
    header = f'{{"features":[{size},{inline}],"score":{reward},"advice":{inline}}}\n'
    assert (tmp_path / "x.log").read_bytes() == (
        header.encode()
        + b'{"context":""}\n{"observation":0}\n'
        + struct.pack("<qq", 10, 1)
        + b'\n{"outcome":0}\n'
        + struct.pack("<f", math.nan)
        + b"\n"
    )


def test_directories_and_cut_files(tmp_path):
    whole = (GOLDEN / "log_static.log").read_bytes()
    (tmp_path / "a.log").write_bytes(whole)
    (tmp_path / "b.log").write_bytes(whole[:-3])
    (tmp_path / "c.log").write_bytes(whole[:20])
    (tmp_path / "ignored.txt").write_text("x")
    table = log.read(tmp_path)
    assert len(table) == 8
    assert [os.path.basename(path) for path in table.cut] == ["b.log", "c.log"]
    assert not table.complete
    assert np.isnan(table.reward[-1])
    (tmp_path / "d.log").write_bytes((GOLDEN / "log_extension.log").read_bytes())
    with pytest.raises(ValueError, match=r"d\.log has other tensors"):
        log.read(tmp_path)


def test_what_is_no_log(tmp_path):
    with pytest.raises(BridgeError, match="No such file"):
        log.read(tmp_path / "none.log")
    with pytest.raises(ValueError, match="there is no log with a decision"):
        log.read(tmp_path)
    (tmp_path / "x.log").write_text("hello\n")
    with pytest.raises(BridgeError, match=r"x\.log, byte 0: the header: JSON") as caught:
        log.read(tmp_path / "x.log")
    assert caught.value.code == "protocol"


def test_a_recorded_run_is_replayed(tmp_path):
    def run(runner, bias):
        decisions = []
        for function in ("f", "g", "f"):
            runner.switch_context(function)
            for size in range(3):
                features = {"size": size, "rows": np.ones((size, 2)), "names": ["n"] * size}
                taken = runner.evaluate_or(features, lambda size=size: size * 10 + bias)
                taken = taken["inline"].item() if isinstance(taken, dict) else taken
                decisions.append(taken)
                runner.reward(size)
        return decisions

    inputs = [SIZE, ROWS, NAMES]
    with Runner(f"heuristic:?record={tmp_path}/logs", inputs, INLINE) as runner:
        recorded = run(runner, 5)
    table = log.read(tmp_path / "logs")
    assert table.decision[:, 0].tolist() == recorded
    assert table.ordinal.tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 5]
    assert table.reward.tolist() == [0, 1, 2] * 3
    with Runner(f"replay:{tmp_path}/logs/", inputs, INLINE) as runner:
        assert run(runner, 1000) == recorded
        runner.switch_context("h")
        with pytest.raises(BridgeError, match="context 'h' is not in the log"):
            runner.evaluate()


def test_heuristics_of_python_that_do_not_fit_are_not_recorded(tmp_path):
    with Runner(f"heuristic:?record={tmp_path}", [SIZE], INLINE) as runner:
        assert runner.evaluate_or({"size": 1}, lambda: "mine") == "mine"
        assert runner.evaluate_or({"size": 2}, lambda: None) is None
        assert runner.evaluate_or({"size": 3}, lambda: {"inline": 4}) == {"inline": 4}
    table = log.read(tmp_path)
    assert table.ordinal.tolist() == [2]
    assert table.decision.tolist() == [[4]]


def test_what_cannot_be_recorded_is_a_warning(tmp_path, caplog):
    with Runner(f"constant:4?record={tmp_path}/no/such", [SIZE], INLINE) as runner:
        assert runner.evaluate({"size": 1})["inline"].item() == 4
    assert caplog.messages == [
        f"io: cannot record to {tmp_path}/no/such: No such file or directory"
    ]
    with pytest.raises(BridgeError, match="cannot record to"):
        Runner(f"constant:4?record={tmp_path}/no/such&on_error=fail", [SIZE], INLINE)


# PyTorch


def test_torch_dataset_and_loader():
    torch = pytest.importorskip("torch")
    data = log.torch_dataset(GOLDEN / "log_static.log", features=["m", "d"])
    assert len(data) == 4
    assert set(data[0]) == {"m", "d", "unroll", "reward"}
    batches = list(torch.utils.data.DataLoader(data, batch_size=3))
    assert [batch["m"].shape for batch in batches] == [(3, 2, 3), (1, 2, 3)]
    assert batches[0]["unroll"].tolist() == [[4], [8], [2]]
    assert batches[0]["reward"].dtype == torch.float32
    assert isinstance(data, torch.utils.data.Dataset)
    assert len(pickle.loads(pickle.dumps(data))) == 4
    with pytest.raises(IndexError):
        data[4]
    with pytest.raises(KeyError, match="no feature"):
        log.torch_dataset(GOLDEN / "log_static.log", features=["none"])


def test_torch_learns_from_a_log(tmp_path):
    torch = pytest.importorskip("torch")
    x = TensorSpec("x", "float32", [2])
    with log.LogWriter(tmp_path / "x.log", [x], TensorSpec("y", "float32")) as writer:
        for i in range(64):
            value = np.array([i % 8, i // 8], np.float32) / 8
            writer.write("f", {"x": value}, {"y": value @ [2, -1]}, reward=1)
    data = log.torch_dataset(tmp_path / "x.log", transform=lambda item: (item["x"], item["y"]))
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    for _ in range(60):
        for inputs, targets in torch.utils.data.DataLoader(data, batch_size=16, shuffle=True):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
    assert model.weight.detach().numpy() == pytest.approx(np.array([[2, -1]]), abs=0.05)


def test_torch_dataset_keeps_ragged_items():
    torch = pytest.importorskip("torch")
    data = log.torch_dataset(GOLDEN / "log_extension.log")
    assert data[2]["rows"].shape == (2, 2)
    assert isinstance(data[2]["rows"], torch.Tensor)
    assert data[2]["names"] == ["a\nb", ""]


def test_without_torch_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.split(".")[0] == "torch":
            raise ImportError(name, name=name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "compiler_bridge._torch", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"pip install 'compiler-bridge\[torch\]'"):
        log.torch_dataset(GOLDEN / "log_static.log")


def test_tensors_of_every_rank(tmp_path):
    spec = TensorSpec("x", "int64", [1] * 8)
    with Runner(f"constant:1?record={tmp_path}/", [spec], TensorSpec("y", "int64")) as runner:
        runner.evaluate()
        runner.evaluate()
    assert log.read(tmp_path).features["x"].shape == (2, *[1] * 8)
