"""TensorFlow's saved models for `tflite:`."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..spec import TensorSpec
from ._model import destination
from ._signature import ModelError

MODEL_FILE = "model.tflite"
SPEC_FILE = "output_spec.json"


def saved_model_to_tflite(
    saved_model: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    outputs: Sequence[TensorSpec] | None = None,
    signature: str = "serving_default",
) -> Path:
    """Writes a saved model as `tflite:DIRECTORY` wants it; gives the directory.

    `signature` is the saved model's own name for what is to be evaluated; MLGO's models have
    "action". `outputs` are its outputs as the pass sees them, the decision first; without it, all
    of them by name. What fails leaves nothing behind.
    """
    target = Path(directory)
    if not target.is_dir() and (target.exists() or target.is_symlink()):
        raise ModelError(f"{target}: is no folder")
    if not target.parent.is_dir():
        raise ModelError(f"{target}: there is no folder {str(target.parent)!r}")
    content = _convert(saved_model, signature)
    tensors = _output_tensors(content, signature)
    spec = _output_spec(outputs, tensors, f"{os.fspath(saved_model)}, signature {signature!r}")
    files = {MODEL_FILE: content, SPEC_FILE: (json.dumps(spec, indent=2) + "\n").encode()}
    try:
        _write(target, files)
    except OSError as error:
        raise ModelError(f"{target}: {error.strerror or error}") from None
    return target


def _convert(saved_model: str | os.PathLike[str], signature: str) -> bytes:
    import tensorflow as tf

    path = os.fspath(saved_model)
    if not tf.saved_model.contains_saved_model(path):
        raise ModelError(f"{path}: is no saved model")
    known = list(tf.saved_model.load(path).signatures)
    if signature not in known:
        raise ModelError(f"{path}: has no signature {signature!r}; it has {known}")
    converter = tf.lite.TFLiteConverter.from_saved_model(path, signature_keys=[signature])
    content: bytes = converter.convert()
    return content


def _output_tensors(content: bytes, signature: str) -> dict[str, Any]:
    """What TFLite has for each output of the signature."""
    import tensorflow as tf

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the interpreter is to move to a package of its own
        interpreter = tf.lite.Interpreter(model_content=content)
    tensors: dict[str, Any] = interpreter.get_signature_runner(signature).get_output_details()
    return tensors


def _fits(wanted: Sequence[int], given: Sequence[int]) -> bool:
    """Equal but for leading extents of 1 and dynamic ones, as the engine has it."""
    rank = max(len(wanted), len(given))
    pairs = zip(
        [1] * (rank - len(wanted)) + list(wanted),
        [1] * (rank - len(given)) + list(given),
        strict=True,
    )
    return all(a == b or -1 in (a, b) for a, b in pairs)


def _output_spec(
    outputs: Sequence[TensorSpec] | None, tensors: Mapping[str, Any], who: str
) -> list[dict[str, Any]]:
    found = {
        name: TensorSpec(name, each["dtype"], each["shape_signature"])
        for name, each in tensors.items()
    }
    spec = []
    for wanted in found.values() if outputs is None else outputs:
        tensor = found.get(wanted.name)
        if tensor is None:
            raise ModelError(f"{who}: no output {wanted.name!r}; there are {sorted(found)}")
        if wanted.dtype != tensor.dtype or not _fits(wanted.shape, tensor.shape):
            raise ModelError(
                f"{who}: output {wanted.name!r} is {tensor.dtype}{list(tensor.shape)}, "
                f"not {wanted.dtype}{list(wanted.shape)}"
            )
        name, _, port = tensors[wanted.name]["name"].rpartition(":")
        _, kind, shape = wanted.raw()
        described = {"name": name, "port": int(port), "type": kind, "shape": list(shape)}
        spec.append({"logging_name": wanted.name, "tensor_spec": described})
    return spec


def _write(directory: Path, files: Mapping[str, bytes]) -> None:
    made = not directory.exists()
    directory.mkdir(exist_ok=True)
    staged: dict[str, str] = {}
    try:
        for name, content in files.items():
            real = destination(directory / name)
            handle, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=Path(real).parent)
            staged[real] = temporary
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.chmod(temporary, 0o644)
        for path in list(staged):
            os.replace(staged[path], path)
            del staged[path]
    except BaseException:
        for temporary in staged.values():
            os.unlink(temporary)
        if made and not any(directory.iterdir()):
            directory.rmdir()
        raise
