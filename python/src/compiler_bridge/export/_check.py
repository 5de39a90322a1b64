"""Whether a model is what it claims to be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _model, _samples
from ._samples import Array, Ranges
from ._signature import ModelError, Signature

Function = Callable[[dict[str, Array]], Mapping[str, Any]]


def first_line(error: BaseException) -> str:
    """What went wrong, without the stack that libraries add to it."""
    for line in str(error).splitlines():
        text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", line.strip())
        if text:
            return text.rstrip(".")
    return type(error).__name__


def check_structure(model: Any, signature: Signature) -> None:
    """ONNX's own checks, with shape inference, and that the signature fits the graph's."""
    onnx = _model.require("onnx", "a check")
    ours = {"", "ai.onnx", "ai.onnx.ml"}
    try:
        # The checker refuses what it has no schema for; other domains are their library's affair.
        standard = all(entry.domain in ours for entry in model.opset_import)
        onnx.checker.check_model(model, full_check=standard)
        onnx.shape_inference.infer_shapes(model, check_type=standard, strict_mode=standard)
    except Exception as error:
        raise ModelError(f"the model is not valid: {first_line(error)}") from None
    signature.check_fit(_model.graph_signature(model))


def session(model: bytes | str, custom_ops: str | None = None) -> Any:
    """An ONNX Runtime session of one thread that prints nothing."""
    runtime = _model.require("onnxruntime", "running a model")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if custom_ops:
        try:
            options.register_custom_ops_library(custom_ops)
        except Exception as error:
            raise ModelError(f"{custom_ops}: {first_line(error)}") from None
    try:
        return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelError(f"ONNX Runtime does not take the model: {first_line(error)}") from None


def check_answers(
    model: Any,
    signature: Signature,
    function: Function,
    *,
    samples: Sequence[Mapping[str, Any]] | None,
    count: int,
    seed: int,
    ranges: Ranges | None,
    tolerance: float,
    custom_ops: str | None,
) -> None:
    """That ONNX Runtime gives what the framework gives, on random inputs or on those given."""
    running = session(model.SerializeToString(), custom_ops)
    wanted_names = {value.name for value in running.get_inputs()}
    types = {spec.name: object if spec.dtype == "str" else spec.dtype for spec in signature.inputs}
    drawn: Iterable[Mapping[str, Any]] = samples or ()
    hint = ""
    if samples is None:
        drawn = _samples.samples(signature.inputs, count, seed, ranges)
        if types:
            hint = "; if the model takes only some values, say which with ranges= or samples="
    for i, raw in enumerate(drawn):
        for name in types:
            if name not in raw:
                raise ModelError(f"sample {i}: there is no input {name!r}")
        sample = {name: np.asarray(raw[name], dtype=types[name]) for name in types}
        try:
            expected = function(sample)
        except Exception as error:
            raise ModelError(
                f"sample {i}: the framework's model fails: {first_line(error)}{hint}"
            ) from error
        try:
            feeds = {name: value for name, value in sample.items() if name in wanted_names}
            answers = running.run([spec.name for spec in signature.outputs], feeds)
        except Exception as error:
            raise ModelError(f"sample {i}: ONNX Runtime fails: {first_line(error)}{hint}") from None
        for spec, answer in zip(signature.outputs, answers, strict=True):
            difference = _samples.compare(spec, answer, expected[spec.name], tolerance)
            if difference.text:
                raise ModelError(
                    f"output {spec.name!r}, sample {i}: ONNX Runtime and the framework disagree: "
                    f"{difference.text} (tolerance {tolerance:g})"
                )
