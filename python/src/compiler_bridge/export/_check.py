"""Whether a model is what it claims to be."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import _model, _samples
from ._samples import Array
from ._signature import ModelError, Signature


def first_line(error: BaseException) -> str:
    """What went wrong, without the stack that libraries add to it."""
    text = ""
    for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines():
        if line.startswith("Exception encountered when calling "):  # Keras; the reason follows
            continue
        text += re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", line.strip())
        if text and not text.endswith(":"):
            break
        text += " " if text else ""
    return text.strip().rstrip(".") or type(error).__name__


def about_values(error: BaseException) -> bool:
    """Whether other values could help: not if arguments, types or shapes are wrong."""
    if isinstance(error, TypeError | AttributeError | NameError | ImportError | KeyError):
        return False
    text = str(error)
    if re.search(r"ind(ex|ices)\b.*(out of (range|bounds)|not in \[)", text, re.DOTALL):
        return True
    wrong = r"shape|dimension|broadcast|sizes?\b.*match|size of tensor|indices|d?type\b"
    return not re.search(wrong, text, re.IGNORECASE)


def user_line(error: BaseException) -> str:
    """ " (FILE, line N)": where the user's code was when it failed; empty if nobody knows."""
    ours = str(Path(__file__).parents[1])
    places = []
    for each in chain(error):
        for frame, line in traceback.walk_tb(each.__traceback__):
            file = frame.f_code.co_filename
            library = file.startswith((ours, "<", sys.base_prefix + "/lib"))
            if not library and "/site-packages/" not in file:
                places.append(f" ({Path(file).name}, line {line})")
    return places[-1] if places else ""


def chain(error: BaseException) -> list[BaseException]:
    """The error and its reasons, the innermost last."""
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = link.__cause__ or link.__context__
    return links


# What frameworks raise if Python wants to know what only an evaluation can tell.
_BRANCHES = {
    "GuardOnDataDependentSymNode",
    "TracerBoolConversionError",
    "OperatorNotAllowedInGraphError",
}


def branch(error: BaseException, instead: str) -> str | None:
    """What to tell about a function that branches on a tensor's value; None if it does not."""
    kinds = {kind.__name__ for each in chain(error) for kind in type(each).__mro__}
    if not kinds & _BRANCHES:
        return None
    where = user_line(error)
    return f"the function branches on the value of a tensor{where}: let {instead} choose instead"


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
            options.register_custom_ops_library(os.path.abspath(custom_ops))
        except Exception as error:
            raise ModelError(f"{custom_ops}: {first_line(error)}") from None
    try:
        return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelError(f"ONNX Runtime does not take the model: {first_line(error)}") from None


def check_answers(
    model: Any,
    signature: Signature,
    samples: Sequence[dict[str, Array]],
    wanted: Sequence[Sequence[Array]],
    *,
    tolerance: float,
    custom_ops: str | None,
) -> None:
    """That ONNX Runtime gives what the framework gave."""
    running = session(model.SerializeToString(), custom_ops)
    names = [spec.name for spec in signature.outputs]
    for i, (sample, expected) in enumerate(zip(samples, wanted, strict=True)):
        try:
            answers = running.run(names, sample)
        except Exception as error:
            raise ModelError(f"sample {i}: ONNX Runtime fails: {first_line(error)}") from None
        for spec, answer, right in zip(signature.outputs, answers, expected, strict=True):
            difference = _samples.compare(spec, answer, right, tolerance)
            if difference.text:
                raise ModelError(
                    f"output {spec.name!r}, sample {i}: ONNX Runtime and the framework disagree: "
                    f"{difference.text} (tolerance {tolerance:g})"
                )
