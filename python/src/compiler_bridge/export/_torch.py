"""PyTorch -> ONNX."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..spec import TensorSpec
from . import _check, _model, _operators
from ._model import PathLike
from ._pipeline import Export, listed, ordered
from ._samples import Array
from ._signature import ModelError


def from_torch(
    module: Callable[..., Any],
    path: PathLike,
    inputs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec] | TensorSpec,
    *,
    name: str,
    version: str,
    training_data: str | None = None,
    license: str | None = None,  # noqa: A002 - what it is called
    batched: bool = False,
    by_name: bool = False,
    extents: Mapping[str, Sequence[str]] | None = None,
    samples: Sequence[Mapping[str, Any]] | None = None,
    ranges: Mapping[str, tuple[float, float | str]] | None = None,
    tolerance: float = 1e-4,
    custom_translation_table: Mapping[Any, Any] | None = None,
    custom_ops: PathLike | bool = False,
) -> None:
    """Writes a `torch.nn.Module`, or a function of tensors, as an ONNX model.

    The features are given in the order of `inputs`, or as keywords with `by_name`. The result is a
    tensor, a sequence in the order of `outputs`, or a mapping. With `batched` the module sees a
    leading extent of 1 that the pass does not, in inputs and outputs.

    The file is written only if it is valid and ONNX Runtime gives what the module gives, within
    `tolerance`, on random inputs (`ranges` says from where to where, by name) or on `samples`.
    `extents` names the dynamic extents of tensors; those of the same name are equal, and ranges
    may end at one or below it: `(0, "nodes-1")`.

    `custom_translation_table` maps PyTorch's operators to onnxscript functions, as in
    `torch.onnx.export`; `custom_ops` is the library that ONNX Runtime then needs. With
    `custom_ops=True` they are ours: `torch.bucketize` becomes one operator, which `onnx:` knows,
    instead of a search of dozens of standard ones.
    """
    torch = _model.require("torch", "export from PyTorch", "export-torch")
    _model.require("onnxscript", "export from PyTorch", "export-torch")
    table = dict(custom_translation_table or {})
    library = None if isinstance(custom_ops, bool) else custom_ops
    if custom_ops is True:
        table = _operators.torch_translations() | table
        library = _operators.custom_ops_library()
    texts = {"name": name, "version": version, "training_data": training_data, "license": license}
    job = Export(
        path,
        inputs,
        outputs,
        texts,
        "PyTorch",
        batched=batched,
        extents=extents,
        samples=samples,
        ranges=ranges,
        tolerance=tolerance,
        custom_ops=library,
    )
    if not callable(module):
        raise ModelError(f"{module!r} is neither a module nor a function")
    export_job(torch, module, job, by_name, table)


def export_job(
    torch: Any, function: Callable[..., Any], job: Export, by_name: bool, table: dict[Any, Any]
) -> None:
    names = [spec.name for spec in job.signature.inputs]

    def asked(features: Sequence[Any]) -> Any:
        if by_name:
            return function(**dict(zip(names, features, strict=True)))
        return function(*features)

    class Wrapper(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            if isinstance(function, torch.nn.Module):
                self.function = function

        def forward(self, *features: Any) -> Any:
            return tuple(ordered(asked(features), job.signature.outputs))

    def tensors(values: Sequence[Array]) -> list[Any]:
        # Without sharing: a function may write to its arguments.
        return [torch.from_numpy(value.copy()) for value in values]

    def array(result: Any) -> Any:
        return result.detach().numpy() if isinstance(result, torch.Tensor) else result

    def call(values: list[Array]) -> Any:
        results = listed(asked(tensors(values)))
        if isinstance(results, Mapping):
            return {key: array(result) for key, result in results.items()}
        return [array(result) for result in results]

    def convert() -> Any:
        features = tuple(tensors(job.example()))
        dynamic = [
            {i: torch.export.Dim.DYNAMIC for i, dim in enumerate(job.dims(spec)) if dim_is(dim)}
            for spec in job.signature.inputs
        ]
        try:
            program = torch.onnx.export(
                Wrapper().eval(),
                features,
                dynamo=True,
                verbose=False,
                input_names=[f"cbridge_in_{i}" for i in range(len(features))],
                dynamic_shapes=(tuple(dynamic),) if any(dynamic) else None,
                custom_translation_table=table or None,
                optimize=True,
            )
        except Exception as error:
            raise ModelError(f"PyTorch cannot export it: {_culprit(error)}") from error
        return program.model_proto

    parts = list(function.modules()) if isinstance(function, torch.nn.Module) else []
    training = [part.training for part in parts]
    try:
        for part in parts:
            part.training = False
        with torch.no_grad():
            job.run(call, convert)
    finally:
        for part, was in zip(parts, training, strict=True):
            part.training = was


def dim_is(dim: int | str) -> bool:
    """Whether it is a dynamic one."""
    return isinstance(dim, str)


def _culprit(error: BaseException) -> str:
    """The operator, or the innermost reason in one line."""
    chain = _check.chain(error)
    if branches := _check.branch(error, "torch.where"):
        return branches
    for each in chain:
        found = re.search(r"No ONNX function found for <OpOverload\(op='([^']+)'", str(each))
        if found:
            return f"there is no ONNX for the operator {found.group(1)}"
    return f"{type(chain[-1]).__name__}: {_check.first_line(chain[-1])}"
