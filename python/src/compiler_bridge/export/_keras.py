"""Keras -> ONNX, whatever its backend."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from ..spec import TensorSpec
from . import _check, _jax, _model, _torch
from ._model import PathLike
from ._pipeline import Export, listed, ordered
from ._samples import Array
from ._signature import ModelError

_TF_OPSET = 18  # the highest that tf2onnx knows


def from_keras(
    model: Callable[..., Any],
    path: PathLike,
    inputs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec] | TensorSpec,
    *,
    name: str,
    version: str,
    training_data: str | None = None,
    license: str | None = None,  # noqa: A002 - what it is called
    batched: bool = True,
    by_name: bool = False,
    extents: Mapping[str, Sequence[str]] | None = None,
    samples: Sequence[Mapping[str, Any]] | None = None,
    ranges: Mapping[str, tuple[float, float | str]] | None = None,
    tolerance: float = 1e-4,
) -> None:
    """Writes a Keras 3 model as an ONNX model; all else is as with `from_torch`.

    Keras's models have a batch, so `batched` is the default. The model is called with one tensor,
    with a list of them in the order of `inputs`, or with a dict by name if `by_name`. The backend
    is the one that Keras was loaded with: torch.onnx exports for PyTorch, jax2onnx for JAX,
    tf2onnx for TensorFlow.
    """
    keras = _model.require("keras", "export from Keras", "export-keras")
    texts = {"name": name, "version": version, "training_data": training_data, "license": license}
    backend = keras.backend.backend()
    if backend not in ("torch", "jax", "tensorflow"):
        raise ModelError(f"Keras has the backend {backend!r}; torch, jax and tensorflow can export")
    job = Export(
        path,
        inputs,
        outputs,
        texts,
        "Keras",
        batched=batched,
        extents=extents,
        samples=samples,
        ranges=ranges,
        tolerance=tolerance,
    )
    names = [spec.name for spec in job.signature.inputs]

    def asked(*features: Any) -> Any:
        if by_name:
            return model(dict(zip(names, features, strict=True)), training=False)
        return model(features[0] if len(features) == 1 else list(features), training=False)

    if not names:
        raise ModelError("inputs: a Keras model has one at least")
    if backend == "torch":
        torch = _model.require("torch", "export from Keras", "export-torch")
        _model.require("onnxscript", "export from Keras", "export-torch")
        _torch.export_job(torch, _held(torch, model, asked), job, False, {})
    elif backend == "jax":
        jax = _model.require("jax", "export from Keras", "export-jax")
        with _portable_signbit(jax.numpy):
            _jax.export_job(asked, job)
    else:
        inside = _model.require("keras.src.backend.tensorflow.numpy", "export from Keras")
        with _portable_signbit(inside):
            _export_tensorflow(asked, job)


@contextmanager
def _silence() -> Iterator[None]:
    """TensorFlow's C++ tells standard error that it starts sessions, whatever the log level."""
    try:
        before = os.dup(2)
    except OSError:  # there is none
        yield
        return
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(null)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


@contextmanager
def _portable_signbit(module: Any) -> Iterator[None]:
    """Keras's argmax looks at the sign of zeros by their bits, for which ONNX has no operator that
    runtimes know. 1 / x tells it, too."""
    original = getattr(module, "signbit", None)
    if original is None:
        yield
        return

    def signbit(x: Any) -> Any:
        if "float" not in str(x.dtype):
            return original(x)
        return (x < 0) | ((x == 0) & (1 / x < 0))

    with mock.patch.object(module, "signbit", signbit):
        yield


def _held(torch: Any, model: Any, asked: Callable[..., Any]) -> Any:
    """A module, so that PyTorch finds the weights."""

    class Held(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *features: Any) -> Any:
            return asked(*features)

    return Held()


def _export_tensorflow(asked: Callable[..., Any], job: Export) -> None:
    tensorflow = _model.require("tensorflow", "export from Keras", "export-keras")
    tf2onnx = _model.require("tf2onnx", "export from Keras with TensorFlow", "export-keras")

    def call(values: list[Array]) -> Any:
        results = listed(asked(*(tensorflow.constant(value) for value in values)))
        if isinstance(results, Mapping):
            return {key: result.numpy() for key, result in results.items()}
        return [result.numpy() for result in results]

    def erfc(context: Any, node: Any, name: str, arguments: Any) -> Any:
        """1 - erf(x), which tf2onnx does not know and gelu is made of."""
        kind = context.get_dtype(node.output[0])
        shape = context.get_shape(node.output[0])
        context.remove_node(node.name)
        erf = context.make_node("Erf", [node.input[0]], shapes=[shape], dtypes=[kind])
        one = context.make_const(tf2onnx.utils.make_name("one"), _one(kind, tf2onnx))
        return context.make_node(
            "Sub",
            [one.output[0], erf.output[0]],
            outputs=list(node.output),
            shapes=[shape],
            dtypes=[kind],
        )

    def convert() -> Any:
        seen = [
            tensorflow.TensorSpec(
                [None if _torch.dim_is(dim) else dim for dim in job.dims(spec)],
                spec.dtype,
                name=f"cbridge_in_{i}",
            )
            for i, spec in enumerate(job.signature.inputs)
        ]
        function = tensorflow.function(
            lambda *features: tuple(ordered(asked(*features), job.signature.outputs)),
            input_signature=seen,
        )
        try:
            with _silence():
                proto, _ = tf2onnx.convert.from_function(
                    function,
                    input_signature=seen,
                    opset=_TF_OPSET,
                    custom_op_handlers={"Erfc": (erfc, [])},
                )
            return proto
        except Exception as error:
            why = _check.branch(error, "keras.ops.where")
            if why is None:
                why = f"{type(error).__name__}: {_check.first_line(error)}"
            raise ModelError(f"tf2onnx cannot export it: {why}") from error

    job.run(call, convert)


def _one(kind: int, tf2onnx: Any) -> Any:
    return tf2onnx.utils.map_onnx_to_numpy_type(kind)(1)
