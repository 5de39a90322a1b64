"""The operators of ours, domain `compiler_bridge`, that ONNX Runtime gets from a library."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import _model
from ._signature import ModelError

DOMAIN = "compiler_bridge"
LIBRARY = "cbridge-onnx-ops.so"
_TYPES = {"float32", "float64", "int32", "int64"}


def custom_ops_library() -> str:
    """The library with our operators, for `SessionOptions.register_custom_ops_library`.

    `onnx:` finds it without help. It lies in the package, or else in `CBRIDGE_MODULE_PATH`.
    """
    folders = [Path(__file__).parents[1] / "lib"]
    folders += [
        Path(each)
        for each in os.environ.get("CBRIDGE_MODULE_PATH", "").split(":")
        if each.startswith("/")
    ]
    for folder in folders:
        if (folder / LIBRARY).is_file():
            return str(folder / LIBRARY)
    places = ", ".join(map(str, folders))
    raise ModelError(f"{LIBRARY} is not in {places}; was the package built with ONNX Runtime?")


def library_for(model: Any) -> str | None:
    """The library that a model needs of ours, if it needs one."""
    if any(entry.domain == DOMAIN for entry in model.opset_import):
        return custom_ops_library()
    return None


def torch_translations() -> dict[Any, Callable[..., Any]]:
    """What `torch.onnx.export` takes as custom_translation_table, to use our operators."""
    torch = _model.require("torch", "export from PyTorch", "torch")
    return {torch.ops.aten.bucketize.Tensor: _bucketize}


def _bucketize_schema(onnx: Any) -> Any:
    schema = onnx.defs.OpSchema
    parameter = schema.FormalParameter
    allowed = ["tensor(float)", "tensor(double)", "tensor(int32)", "tensor(int64)"]
    return schema(
        "Bucketize",
        DOMAIN,
        1,
        inputs=[parameter("x", "T"), parameter("boundaries", "T")],
        outputs=[parameter("indices", "tensor(int64)")],
        type_constraints=[("T", allowed, "")],
        attributes=[schema.Attribute("right", schema.AttrType.INT, required=False)],
    )


def _bucketize(x: Any, boundaries: Any, out_int32: bool = False, right: bool = False) -> Any:
    """What torch.bucketize becomes; called while a module is exported."""
    onnx = _model.require("onnx", "export from PyTorch", "torch")
    values = _model.require("onnxscript.values", "export from PyTorch", "torch")
    standard = _model.require("onnxscript", "export from PyTorch", "torch").opset18
    common = _common_type(x, boundaries)
    to = _model.ELEMENT_TYPES[common]
    x, boundaries = (
        each if int(each.dtype) == to else standard.Cast(each, to=to) for each in (x, boundaries)
    )
    operator = values.Op(values.Opset(DOMAIN, 1), "Bucketize", _bucketize_schema(onnx))
    indices = operator(x, boundaries, right=int(right))
    return standard.Cast(indices, to=_model.ELEMENT_TYPES["int32"]) if out_int32 else indices


def _common_type(x: Any, boundaries: Any) -> str:
    """The type in which PyTorch compares; small ones become one that holds all their values."""
    torch = _model.require("torch", "export from PyTorch", "torch")

    def tensor(value: Any) -> Any:
        dtype = getattr(torch, _model.type_name(int(value.dtype)))
        return torch.empty((0,) * len(value.shape), dtype=dtype)

    common = str(torch.result_type(tensor(boundaries), tensor(x))).removeprefix("torch.")
    if common in _TYPES:
        return common
    return "float32" if "float" in common else "int32"


def reference_operators() -> list[Any]:
    """Our operators for `onnx.reference.ReferenceEvaluator(..., new_ops=)`."""
    return [_bucketize_reference(_model.require("onnx.reference.op_run", "a check"))]


def _bucketize_reference(op_run: Any) -> Any:
    class Bucketize(op_run.OpRun):  # type: ignore[misc]
        op_domain = DOMAIN

        def _run(self, x: Any, boundaries: Any, right: int | None = None) -> tuple[Any]:
            if boundaries.ndim != 1:
                raise ValueError(f"Bucketize: 'boundaries' has {boundaries.ndim} extents")
            if np.isnan(boundaries).any() or not np.all(boundaries[:-1] <= boundaries[1:]):
                raise ValueError("Bucketize: boundaries are not sorted")
            # NumPy, too, has NaN above all.
            found = np.searchsorted(boundaries, x, "right" if right else "left")
            return (np.asarray(found, np.int64),)

    return Bucketize
