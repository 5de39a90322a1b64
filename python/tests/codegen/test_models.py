"""The models of this repository, generated, and ONNX Runtime agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from compiler_bridge import TensorSpec
from compiler_bridge.export._samples import samples

from ._cases import Case, Checked, check
from ._compiled import CACHE, ROOT, Array

GOLDEN = ROOT / "tests" / "golden"
# With strings, which generated code has none of.
STRINGS = GOLDEN / "onnx" / "elements_string.onnx"
# What models take that do not take all numbers.
RANGES = {"unroll_policy.onnx": {"loop": (0.0, 64.0)}}
SAMPLES = 6
MAXIMUM = 16  # of the extents of samples


def files() -> list[Path]:
    found = [*(GOLDEN / "onnx").glob("*.onnx")]
    for folder in ("models", "examples"):
        found += (ROOT / folder).rglob("*.onnx")
    return sorted(file for file in found if file != STRINGS)


def specs(model: onnx.ModelProto) -> tuple[list[TensorSpec], dict[str, list[str]]]:
    """Inputs, and the names of their extents that vary."""
    constants = {each.name for each in model.graph.initializer}
    inputs, extents = [], {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        inputs.append(TensorSpec(value.name, dtype, shape))
        extents[value.name] = [d.dim_param for d in tensor.shape.dim if d.dim_param]
    return inputs, extents


def case(file: Path) -> Case:
    model = onnx.load(file)
    inputs, extents = specs(model)
    drawn = list(samples(inputs, SAMPLES, 3, RANGES.get(file.name), extents=extents))
    return Case(str(file.relative_to(ROOT)), model, drawn, MAXIMUM)


def bucketize(name: str) -> Case:
    """Our own operator wants boundaries in order."""
    loaded = case(GOLDEN / "onnx_ops" / f"bucketize_{name}.onnx")
    drawn: list[dict[str, Array]] = []
    for sample in loaded.samples:
        boundaries = np.sort(sample["boundaries"])
        x = sample["x"].copy()
        x.reshape(-1)[: boundaries.size] = boundaries[: x.size]
        drawn.append({"x": x, "boundaries": boundaries})
    return Case(loaded.label, loaded.model, drawn, MAXIMUM, exact=True)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    ours = [bucketize(name) for name in ("float", "double", "int32_t", "int64_t", "rank3")]
    return [*map(case, files()), *ours]


@pytest.fixture(scope="module")
def checked(cases: list[Case]) -> Checked:
    return check(cases, cache=CACHE)


def named(cases: list[Case], found: dict[int, str]) -> dict[str, Any]:
    return {cases[i].label: why for i, why in found.items()}


def test_answers_agree(cases: list[Case], checked: Checked) -> None:
    assert len(cases) >= 31
    assert named(cases, checked.refused) == {}
    assert named(cases, checked.unknown) == {}
    assert named(cases, checked.failures) == {}


def test_every_sample_is_compared(cases: list[Case], checked: Checked) -> None:
    wanted = {(i, s) for i, each in enumerate(cases) for s in range(len(each.samples))}
    assert set(checked.answers) == wanted
    assert checked.unstable <= 0.01 * checked.elements
