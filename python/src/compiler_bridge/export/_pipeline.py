"""What all exporters have in common: trying the function, adapting and checking the model."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..spec import TensorSpec
from . import _check, _cost, _dead, _graph, _model, _samples
from ._model import PathLike
from ._samples import Array
from ._signature import ModelError, Signature, described

# The framework's function: arrays in the order of the inputs -> its outputs as arrays, as a list
# or by name.
Call = Callable[[list[Array]], Any]


@dataclass
class Export:
    """One model on its way to a file."""

    path: PathLike
    inputs: Sequence[TensorSpec]
    outputs: Sequence[TensorSpec] | TensorSpec
    texts: dict[str, str | None]
    framework: str
    batched: bool = False
    extents: _graph.Extents | None = None
    samples: Sequence[Mapping[str, Any]] | None = None
    ranges: _samples.Ranges | None = None
    count: int = 10
    seed: int = 0
    tolerance: float = 1e-4
    custom_ops: PathLike | None = None
    signature: Signature = field(init=False)

    def __post_init__(self) -> None:
        self.signature = Signature.of(self.inputs, self.outputs)
        self.extents = self.extents or {}
        _graph.check_extents(self.extents, self.signature)
        _model.destination(self.path)
        _model.check_named(self.texts["name"], self.texts["version"])
        for side, specs in (("input", self.signature.inputs), ("output", self.signature.outputs)):
            for spec in specs:
                if spec.dtype == "str":
                    raise ModelError(f"{side} {spec.name!r}: {self.framework} has no strings")

    def dims(self, spec: TensorSpec) -> list[int | str]:
        """The shape that the framework's function sees, dynamic extents by name."""
        leading: list[int | str] = [1] if self.batched else []
        return leading + _graph.dim_names(spec, self.extents or {})

    def example(self) -> list[Array]:
        """One sample, as the framework's function sees it."""
        return self._seen(next(iter(self._drawn())))

    def _drawn(self) -> Iterator[dict[str, Array]]:
        if self.samples is None:
            yield from _samples.samples(
                self.signature.inputs, self.count, self.seed, self.ranges, extents=self.extents
            )
            return
        if not self.samples:
            raise ModelError("samples: there is none")
        for i, sample in enumerate(self.samples):
            yield _samples.checked(sample, self.signature.inputs, f"samples[{i}]")

    def _seen(self, sample: dict[str, Array]) -> list[Array]:
        values = [sample[spec.name] for spec in self.signature.inputs]
        return [value[np.newaxis] for value in values] if self.batched else values

    def _answers(self, call: Call, sample: dict[str, Array]) -> list[Array]:
        """What the framework says, in the order of the outputs and without the batch."""
        results = call(self._seen(sample))
        specs = self.signature.outputs
        if isinstance(results, Mapping):
            for spec in specs:
                if spec.name not in results:
                    there = ", ".join(map(repr, results)) or "none"
                    raise ModelError(f"output {spec.name!r}: the function gives {there}")
            results = [results[spec.name] for spec in specs]
        if len(results) != len(specs):
            wanted = ", ".join(repr(spec.name) for spec in specs)
            raise ModelError(f"the function gives {len(results)} outputs, wanted: {wanted}")
        return [
            self._unbatched(spec, np.asarray(r)) for spec, r in zip(specs, results, strict=True)
        ]

    def _unbatched(self, spec: TensorSpec, result: Array) -> Array:
        if self.batched:
            if result.ndim == 0 or result.shape[0] != 1:
                raise ModelError(
                    f"output {spec.name!r}: has shape {list(result.shape)}, no leading extent of 1 "
                    "as batched=True has it"
                )
            result = result[0]
        shape = result.shape
        fits = len(shape) == len(spec.shape) and all(
            want in (-1, got) for want, got in zip(spec.shape, shape, strict=True)
        )
        if not fits:
            hint = ""
            if not self.batched and shape[:1] == (1,) and len(shape) == len(spec.shape) + 1:
                hint = "; batched=True adds a leading extent to inputs and takes it from outputs"
            raise ModelError(
                f"output {spec.name!r}: the function gives shape {list(shape)}, the signature has "
                f"{described(spec)}{hint}"
            )
        if not _graph.safe_cast(result.dtype.name, spec.dtype):
            raise ModelError(
                f"output {spec.name!r}: the function gives {result.dtype.name}, the signature has "
                f"{described(spec)}"
            )
        return result.astype(spec.dtype)

    def run(self, call: Call, convert: Callable[[], Any]) -> None:
        """Tries the function, converts it, checks the model, writes the file."""
        for name in ("onnx", "onnxruntime"):
            _model.require(name, f"export from {self.framework}")
        drawn = list(self._drawn())
        hint = ""
        if self.samples is None and any("int" in spec.dtype for spec in self.signature.inputs):
            hint = "; if the model takes only some values, say which with ranges= or samples="
        wanted = []
        for i, sample in enumerate(drawn):
            try:
                with quiet():
                    wanted.append(self._answers(call, sample))
            except ModelError:
                raise
            except Exception as error:
                why = f"{type(error).__name__}: {_check.first_line(error)}"
                why += hint if _check.about_values(error) else ""
                raise ModelError(f"sample {i}: the function fails: {why}") from error
        with quiet():
            model = convert()
            _dead.clear_dead_branches(model)
        _graph.adapt(model, self.signature, batched=self.batched, extents=self.extents or {})
        _model.write_metadata(model, self.signature, **self.texts)
        _check.check_structure(model, self.signature)
        not_finite = _cost.weights(model).not_finite
        if not_finite:
            raise ModelError("; ".join(f"weight {wrong}" for wrong in not_finite))
        custom_ops = None if self.custom_ops is None else os.fspath(self.custom_ops)
        _check.check_answers(
            model, self.signature, drawn, wanted, tolerance=self.tolerance, custom_ops=custom_ops
        )
        _model.save(model, self.path)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing that frameworks like to say; what matters they raise."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def listed(result: Any) -> Any:
    """Outputs as a mapping or a list."""
    if isinstance(result, Mapping):
        return result
    return list(result) if isinstance(result, tuple | list) else [result]


def ordered(result: Any, outputs: Sequence[TensorSpec]) -> list[Any]:
    """Outputs in the order of the signature."""
    results = listed(result)
    if isinstance(results, Mapping):
        return [results[spec.name] for spec in outputs]
    return list(results)
