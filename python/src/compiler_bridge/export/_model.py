"""ONNX models as this package sees them: files, signatures, metadata."""

from __future__ import annotations

import contextlib
import importlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..spec import TensorSpec
from ._signature import ModelError, Signature, check_text, parse_signature, signature_json

PathLike = str | os.PathLike[str]

FORMAT = "1"
TEXT_KEYS = ("name", "version", "training_data", "license")

# TensorProto.DataType by the names of TensorSpec.
ELEMENT_TYPES = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "str": 8,
    "bool": 9,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
}
_NAMES = {number: name for name, number in ELEMENT_TYPES.items()}


def require(module: str, needed_for: str, extra: str = "onnx") -> Any:
    """Imports what only some functions need."""
    if module == "onnxruntime":
        # It writes an event database as soon as it is loaded, unless it is told before.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        return importlib.import_module(module)
    except ImportError as error:
        top = module.partition(".")[0]
        missing = isinstance(error, ModuleNotFoundError) and error.name == top
        why = f"pip install 'compiler-bridge[{extra}]'" if missing else str(error)
        raise ModelError(f"{needed_for} needs the package {top!r}: {why}") from None


def check_file(name: str) -> None:
    """Refuses what must not be read: a pipe blocks, a device may never end."""
    status = os.stat(name)
    if not stat.S_ISREG(status.st_mode):
        raise ModelError(f"{name}: is no regular file")
    if status.st_size >= 2**31:
        raise ModelError(f"{name}: files of 2 GiB and more cannot be read")


def _check_text(message: Any, place: str) -> None:
    """Protocol Buffers gives `bytes` for strings that are no UTF-8. Nobody reads `doc_string`."""
    for field, value in message.ListFields():
        inner = f"{place}.{field.name}" if place else field.name
        if field.type == field.TYPE_STRING and field.name != "doc_string":
            texts = [value] if isinstance(value, str | bytes) else value
            if any(isinstance(each, bytes) for each in texts):
                raise ModelError(f"{inner}: is no text in UTF-8")
        elif field.type == field.TYPE_MESSAGE:
            if hasattr(value, "ListFields"):
                _check_text(value, inner)
            else:
                for i, each in enumerate(value):
                    _check_text(each, f"{inner}[{i}]")


def load(path: PathLike, needed_for: str, *, weights: bool = True) -> Any:
    """The ModelProto of a file; with the weights that lie in other files, unless told not to."""
    onnx = require("onnx", needed_for)
    name = os.fspath(path)
    if Path(name).is_dir():
        raise ModelError(f"{name}: is a directory; only ONNX files are understood")
    try:
        check_file(name)
        model = onnx.load(name, load_external_data=False)
    except OSError as error:
        raise ModelError(f"{name}: {error.strerror or error}") from None
    except ModelError:
        raise
    except Exception:
        raise ModelError(f"{name}: is no ONNX model, or not all of one") from None
    if not model.HasField("graph") or not (model.graph.node or model.graph.output):
        raise ModelError(f"{name}: is no ONNX model: it has no graph")
    try:
        _check_text(model, "")
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from None
    if weights:
        try:
            onnx.load_external_data_for_model(model, str(Path(name).parent))
        except Exception as error:
            raise ModelError(f"{name}: weights in another file: {error}") from None
    return model


def destination(path: PathLike) -> str:
    """The file to write, behind symbolic links; refuses what is there and is no file."""
    name = os.fspath(path)
    real = os.path.realpath(name)
    if Path(name).name in ("", "..") or name.endswith("/") or Path(real).is_dir():
        raise ModelError(f"{name}: is a folder; wanted is the name of a file")
    for parent in (Path(name).parent, Path(real).parent):
        if not parent.is_dir():
            there = "{} is no folder" if parent.exists() else "there is no folder {}"
            raise ModelError(f"{name}: " + there.format(repr(str(parent))))
    try:
        if not stat.S_ISREG(os.lstat(real).st_mode):
            raise ModelError(f"{name}: is there already, and is no regular file")
    except FileNotFoundError:
        pass
    except OSError as error:
        raise ModelError(f"{name}: {error.strerror}") from None
    return real


def save(model: Any, path: PathLike) -> None:
    """Writes the file whole or not at all."""
    name = os.fspath(path)
    real = destination(path)
    try:
        data = model.SerializeToString()
    except Exception as error:
        raise ModelError(f"{name}: models above 2 GB do not fit into one file") from error
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(
            prefix=f".{Path(real).name}.", dir=str(Path(real).parent)
        )
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, real)
    except BaseException as error:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if not isinstance(error, OSError):
            raise
        raise ModelError(f"{name}: {error.strerror}") from None


def type_name(number: int) -> str:
    """The name of an element type: ours, or else ONNX's."""
    if number in _NAMES:
        return _NAMES[number]
    onnx = importlib.import_module("onnx")
    try:
        return str(onnx.TensorProto.DataType.Name(number)).lower()
    except ValueError:
        return f"type {number}"


def _graph_tensor(value: Any, side: str) -> TensorSpec:
    if value.type.WhichOneof("value") != "tensor_type":
        kind = value.type.WhichOneof("value") or "value without a type"
        raise ModelError(f"{side} {value.name!r}: is a {kind}, no tensor")
    tensor = value.type.tensor_type
    if tensor.elem_type not in _NAMES:
        raise ModelError(
            f"{side} {value.name!r}: {type_name(tensor.elem_type)} is no element type of a pass"
        )
    if not tensor.HasField("shape"):
        raise ModelError(f"{side} {value.name!r}: has no rank")
    shape = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
    return TensorSpec(value.name, _NAMES[tensor.elem_type], shape)


def graph_inputs(graph: Any) -> list[Any]:
    """The inputs that must be given; those with a default value need not."""
    defaults = {tensor.name for tensor in graph.initializer}
    defaults |= {tensor.values.name for tensor in graph.sparse_initializer}
    return [value for value in graph.input if value.name not in defaults]


def graph_signature(model: Any) -> Signature:
    return Signature(
        tuple(_graph_tensor(value, "input") for value in graph_inputs(model.graph)),
        tuple(_graph_tensor(value, "output") for value in model.graph.output),
    )


def extent_name(tensor: str, axis: int, dim: Any) -> str:
    """What an extent of an input that varies is called: as in ONNX, or INPUT_AXIS."""
    return dim.dim_param or f"{tensor}_{axis}"


def extent_names(graph: Any) -> dict[str, list[str | None]]:
    """What the extents of inputs are called; None for those that are fixed."""
    return {
        value.name: [
            None
            if dim.HasField("dim_value") and dim.dim_value >= 0
            else extent_name(value.name, axis, dim)
            for axis, dim in enumerate(value.type.tensor_type.shape.dim)
        ]
        for value in graph_inputs(graph)
    }


def metadata(model: Any) -> dict[str, str]:
    return {entry.key: entry.value for entry in model.metadata_props}


def stated_signature(model: Any) -> Signature | None:
    """What the metadata says that the pass sees; None if it says nothing."""
    text = metadata(model).get("cbridge.signature")
    return None if text is None else parse_signature(text, "cbridge.signature")


def used_signature(model: Any) -> Signature:
    """The signature that a pass would have: the stated one if there is one."""
    return stated_signature(model) or graph_signature(model)


def write_metadata(model: Any, signature: Signature | None, **texts: str | None) -> None:
    """Sets what is given and keeps the rest."""
    known = metadata(model)
    known["cbridge.format"] = FORMAT
    for key, text in texts.items():
        if text is not None:
            if not isinstance(text, str):
                raise ModelError(f"{key}: {text!r} is no text")
            check_text(text, key)
            known[f"cbridge.{key}"] = text
    if signature is not None:
        known["cbridge.signature"] = signature_json(signature)
    del model.metadata_props[:]
    for key in sorted(known):
        model.metadata_props.add(key=key, value=known[key])


def check_named(name: str | None, version: str | None) -> None:
    """Only what is there already may keep the ones it has."""
    for key, text in (("name", name), ("version", version)):
        if text is None:
            raise ModelError(f"{key}: a model needs one")


def add_metadata(
    path: PathLike,
    inputs: Sequence[TensorSpec] | None = None,
    outputs: Sequence[TensorSpec] | TensorSpec | None = None,
    *,
    name: str | None = None,
    version: str | None = None,
    training_data: str | None = None,
    license: str | None = None,  # noqa: A002 - what it is called
) -> None:
    """Writes our metadata into a model that is there already: the file changes in place.

    Without `inputs` and `outputs` the signature is that of the graph. What is None keeps its value.
    """
    model = load(path, "metadata", weights=False)
    try:
        graph = graph_signature(model)
        if inputs is None and outputs is None:
            wanted = stated_signature(model) or graph
        else:
            wanted = Signature.of(
                graph.inputs if inputs is None else inputs,
                graph.outputs if outputs is None else outputs,
            )
        wanted.check_fit(graph)
        write_metadata(
            model,
            wanted,
            name=name,
            version=version,
            training_data=training_data,
            license=license,
        )
    except ModelError as error:
        raise ModelError(f"{os.fspath(path)}: {error}") from None
    save(model, path)


def to_array(tensor: Any) -> np.ndarray[Any, Any]:
    """The values of an initializer."""
    numpy_helper = importlib.import_module("onnx.numpy_helper")
    array: np.ndarray[Any, Any] = numpy_helper.to_array(tensor)
    return array


def subgraphs(node: Any) -> Iterator[Any]:
    """The bodies of loops and branches."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def all_graphs(graph: Any) -> Iterator[Any]:
    """The graph and all those inside it."""
    yield graph
    for node in graph.node:
        for inner in subgraphs(node):
            yield from all_graphs(inner)
