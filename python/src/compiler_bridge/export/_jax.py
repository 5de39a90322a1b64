"""JAX -> ONNX."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..spec import TensorSpec
from . import _check, _model
from ._model import PathLike
from ._pipeline import Export, listed, ordered
from ._samples import Array
from ._signature import ModelError


def from_jax(
    function: Callable[..., Any],
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
) -> None:
    """Writes a JAX function of arrays as an ONNX model; all else is as with `from_torch`.

    Dynamic extents that the function takes for equal must have one name in `extents`. Without
    `jax_enable_x64`, 64-bit inputs reach the function as 32-bit ones, as always with JAX.
    """
    _model.require("jax", "export from JAX", "export-jax")
    _model.require("jax2onnx", "export from JAX", "export-jax")
    texts = {"name": name, "version": version, "training_data": training_data, "license": license}
    job = Export(
        path,
        inputs,
        outputs,
        texts,
        "JAX",
        batched=batched,
        extents=extents,
        samples=samples,
        ranges=ranges,
        tolerance=tolerance,
    )
    names = [spec.name for spec in job.signature.inputs]

    def asked(*features: Any) -> Any:
        if by_name:
            return function(**dict(zip(names, features, strict=True)))
        return function(*features)

    export_job(asked, job)


def export_job(asked: Callable[..., Any], job: Export) -> None:
    """`asked` takes the features in order."""
    jax = _model.require("jax", "export from JAX", "export-jax")
    jax2onnx = _model.require("jax2onnx", "export from JAX", "export-jax")

    def call(values: list[Array]) -> Any:
        results = listed(asked(*(jax.numpy.asarray(value) for value in values)))
        if isinstance(results, Mapping):
            return {key: np.asarray(result) for key, result in results.items()}
        return [np.asarray(result) for result in results]

    def convert() -> Any:
        seen = [
            jax.ShapeDtypeStruct(tuple(job.dims(spec)), jax.dtypes.canonicalize_dtype(spec.dtype))
            for spec in job.signature.inputs
        ]
        # Then it makes all floats double; otherwise none.
        specs = (*job.signature.inputs, *job.signature.outputs)
        wide = jax.config.jax_enable_x64 and any(spec.dtype == "float64" for spec in specs)
        try:
            return jax2onnx.to_onnx(
                lambda *features: tuple(ordered(asked(*features), job.signature.outputs)),
                seen,
                input_names=[f"cbridge_in_{i}" for i in range(len(seen))],
                enable_double_precision=bool(wide),
            )
        except Exception as error:
            why = _check.branch(error, "jnp.where")
            if why is None:
                why = f"{type(error).__name__}: {_check.first_line(error)}{_hint(error, job)}"
            raise ModelError(f"jax2onnx cannot export it: {why}") from error

    job.run(call, convert)


def _hint(error: BaseException, job: Export) -> str:
    """Dynamic extents are different ones to JAX unless they share a name."""
    dynamic = any(isinstance(dim, str) for spec in job.signature.inputs for dim in job.dims(spec))
    if dynamic and re.search("shape|broadcast|dimension|inconclusive", str(error), re.IGNORECASE):
        return "; if extents are equal, say so with extents="
    return ""
