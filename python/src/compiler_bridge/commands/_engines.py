"""What can evaluate an ONNX model, for `cbridge verify`."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from ..codegen import Unsupported, generate
from ..codegen._toolchain import build_so
from ..errors import BridgeError
from ..export import _check, _model, _operators, _samples
from ..export._samples import Array
from ..export._signature import ModelError, Signature
from ..runner import Runner
from ..spec import TensorSpec

Answers = dict[str, Any]
Evaluate = Callable[[dict[str, Array]], Answers]


class Absent(Exception):  # noqa: N818 - not an error
    """Why an engine does not take part."""


@dataclass(frozen=True)
class Subject:
    """The model that is looked at."""

    path: str
    model: Any
    graph: Signature
    custom_ops: str | None


def _reference(subject: Subject) -> Evaluate:
    reference = _model.require("onnx.reference", "verify")
    ours = {"", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview.training"}
    functions = {(function.domain, function.name) for function in subject.model.functions}
    ours_too = _operators.reference_operators()
    functions |= {(each.op_domain, each.__name__) for each in ours_too}
    for graph in _model.all_graphs(subject.model.graph):
        for node in graph.node:
            if node.domain not in ours and (node.domain, node.op_type) not in functions:
                raise Absent(f"has no operator {node.domain}::{node.op_type}")
    try:
        evaluator = reference.ReferenceEvaluator(subject.model, new_ops=ours_too)
    except Exception as error:
        raise Absent(f"does not take the model: {_check.first_line(error)}") from None
    names = [spec.name for spec in subject.graph.outputs]

    def evaluate(sample: dict[str, Array]) -> Answers:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return dict(zip(names, evaluator.run(names, sample), strict=True))

    return evaluate


def _onnxruntime(subject: Subject) -> Evaluate:
    try:
        _model.require("onnxruntime", "ONNX Runtime")
    except ModelError as error:
        raise Absent(str(error)) from None
    library = subject.custom_ops or _operators.library_for(subject.model)
    session = _check.session(subject.path, library)
    names = [spec.name for spec in subject.graph.outputs]
    return lambda sample: dict(zip(names, session.run(names, sample), strict=True))


def _native(subject: Subject) -> Evaluate:
    """Our own compiler; what it cannot compile, it leaves to the others."""
    try:
        made = generate(subject.model, "Model", maxima=max(_samples.EXTENTS))
        library = build_so(made, os.environ.get("CXX"))
    except Unsupported as why:
        raise Absent(f"cannot be compiled: {why}") from None
    except ModelError as why:
        raise Absent(str(why).removeprefix("--so: ")) from None
    # It stays loaded. Were its file to go, the next one might get its number, by which the loader
    # tells files apart.
    folder = tempfile.TemporaryDirectory(prefix="cbridge-verify-")
    _LOADED.append(folder)
    path = Path(folder.name) / "Model.so"
    path.write_bytes(library)
    return _evaluator(subject, "native", str(path), "?on_error=fail")


_LOADED: list[tempfile.TemporaryDirectory[str]] = []


def _runner(scheme: str) -> Callable[[Subject], Evaluate]:
    """One of our own engines that read ONNX files."""

    def start(subject: Subject) -> Evaluate:
        options = "?on_error=fail"
        if subject.custom_ops:
            options += f"&custom_ops={quote(os.path.abspath(subject.custom_ops))}"
        return _evaluator(subject, scheme, os.path.abspath(subject.path), options)

    return start


def _evaluator(subject: Subject, scheme: str, path: str, options: str) -> Evaluate:
    """A runner with the signature that a pass would have."""
    signature = _model.used_signature(subject.model)
    wanted = {spec.name: spec.shape for spec in subject.graph.inputs}
    for spec in signature.inputs:
        if spec.dtype == "str" and not _has_lists(spec.shape, wanted.get(spec.name, ())):
            raise Absent(f"input {spec.name!r}: a pass cannot give strings of such a shape")
    address = f"{scheme}:{quote(path)}{options}"
    try:
        runner = Runner(address, signature.inputs, signature.outputs)
    except ValueError as error:
        if f"there is no scheme '{scheme}:'" in str(error):
            raise Absent("not in this build") from None
        raise ModelError(f"{scheme}: {_check.first_line(error)}") from None
    except BridgeError as error:
        if "there is no ONNX Runtime" in str(error):
            raise Absent(_check.first_line(error)) from None
        raise ModelError(f"{scheme}: {_check.first_line(error)}") from None
    shapes = {spec.name: spec.shape for spec in signature.inputs}
    models = {spec.name: spec for spec in subject.graph.outputs}

    def evaluate(sample: dict[str, Array]) -> Answers:
        # The pass's tensors may differ from the model's in leading ones.
        features = {name: _plain(value, shapes[name]) for name, value in sample.items()}
        answers = runner.evaluate(features)
        return {name: _array(answer, models[name]) for name, answer in answers.items()}

    return evaluate


def _has_lists(given: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether lists have the shape that the pass gives, for what the model wants."""
    if -1 not in given:
        return True
    return given.count(-1) == 1 and 0 not in given and 0 not in wanted[:-1]


def _ranked(value: Array, rank: int) -> Array:
    ones = (1,) * max(0, rank - value.ndim)
    return value.reshape(ones + value.shape[max(0, value.ndim - rank) :])


def _plain(value: Array, shape: tuple[int, ...]) -> Any:
    value = _ranked(value, len(shape))
    if value.dtype != object:
        return value
    # Lists in lists lose what comes after an extent of 0; a flat one gets the shape of the spec.
    return [] if value.size == 0 and -1 not in shape else value.tolist()


def _array(answer: Any, spec: TensorSpec) -> Array:
    array = np.array(answer, dtype=object) if spec.dtype == "str" else np.asarray(answer)
    return _ranked(array, len(spec.shape))


# Name -> how it is started. The first that takes part is what the others are compared with.
ENGINES: dict[str, Callable[[Subject], Evaluate]] = {
    "reference": _reference,
    "onnxruntime": _onnxruntime,
    "onnx": _runner("onnx"),
    "native": _native,
}
