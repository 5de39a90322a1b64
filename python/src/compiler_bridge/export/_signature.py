"""Signatures of models: as JSON, and whether a pass's fits a model's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..spec import _C_NAMES, _NUMPY_NAMES, TensorSpec

MAX_RANK = 8


class ModelError(ValueError):
    """A model that cannot be made, read or trusted; the message names the culprit."""


@dataclass(frozen=True)
class Signature:
    """What goes into a model and what comes out."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]

    @classmethod
    def of(
        cls, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec] | TensorSpec
    ) -> Signature:
        """Checked: names, ranks and extents that a model can have."""
        if isinstance(inputs, TensorSpec):
            inputs = [inputs]
        if isinstance(outputs, TensorSpec):
            outputs = [outputs]
        signature = cls(tuple(inputs), tuple(outputs))
        for side, specs in (("inputs", signature.inputs), ("outputs", signature.outputs)):
            for i, spec in enumerate(specs):
                _check_spec(spec, f"{side}[{i}]")
        signature._check_names()
        return signature

    def _check_names(self) -> None:
        if not self.outputs:
            raise ModelError("outputs: there is none")
        seen: dict[str, str] = {}
        for side, specs in (("inputs", self.inputs), ("outputs", self.outputs)):
            for i, spec in enumerate(specs):
                place = f"{side}[{i}]"
                if spec.name in seen:
                    raise ModelError(
                        f"{place}.name: {spec.name!r} is the name of {seen[spec.name]}, too"
                    )
                seen[spec.name] = place

    def check_fit(self, model: Signature) -> None:
        """Fails if a pass with this signature cannot use the model; the message names all."""
        wrong = self.misfits(model)
        if wrong:
            raise ModelError("; ".join(wrong))

    def misfits(self, model: Signature) -> list[str]:
        """What of a model does not fit, by the rule of the engines: same names and types, and
        shapes that agree up to leading extents of 1 and dynamic ones. The pass may offer more
        features, and want fewer outputs."""
        wrong = []
        offered = {spec.name: spec for spec in self.inputs}
        for spec in model.inputs:
            wants = f"input {spec.name!r}: the model wants {described(spec)}, the pass"
            if spec.name not in offered:
                wrong.append(f"{wants} has no such feature")
            elif not _fits(offered[spec.name], spec):
                wrong.append(f"{wants} gives {described(offered[spec.name])}")
        given = {spec.name: spec for spec in model.outputs}
        for spec in self.outputs:
            if spec.name not in given:
                names = ", ".join(repr(name) for name in given) or "none"
                wrong.append(f"output {spec.name!r}: the pass wants it, the model has {names}")
            elif not _fits(spec, given[spec.name]):
                gives = f"output {spec.name!r}: the model gives {described(given[spec.name])}"
                wrong.append(f"{gives}, the pass wants {described(spec)}")
        return wrong


def _fits(a: TensorSpec, b: TensorSpec) -> bool:
    rank = max(len(a.shape), len(b.shape))
    ones = (1,) * rank
    pairs = zip((ones + a.shape)[-rank:], (ones + b.shape)[-rank:], strict=True) if rank else ()
    return a.dtype == b.dtype and all(x == y or -1 in (x, y) for x, y in pairs)


def described(spec: TensorSpec, names: Sequence[str | None] = ()) -> str:
    """`float[2,?]`, or with the names of its extents that vary `float[2,nodes]`."""
    _, kind, shape = spec.raw()
    shown = ["?" if extent < 0 else str(extent) for extent in shape]
    for axis, name in enumerate(names[: len(shown)]):
        if name is not None:
            # Others might look like numbers, or like two extents.
            shown[axis] = name if name.isidentifier() else repr(name)
    return f"{kind}[{','.join(shown)}]"


def check_text(text: str, place: str) -> None:
    """Half of a surrogate pair has no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ModelError(f"{place}: {text!a} is no text that UTF-8 can hold") from None


def _check_spec(spec: Any, place: str) -> None:
    if not isinstance(spec, TensorSpec):
        raise ModelError(f"{place}: {spec!r} is no TensorSpec")
    if not spec.name:
        raise ModelError(f"{place}.name: is empty")
    if not isinstance(spec.name, str):
        raise ModelError(f"{place}.name: {spec.name!r} is no text")
    check_text(spec.name, f"{place}.name")
    if "\0" in spec.name:
        raise ModelError(f"{place}.name: {spec.name!r} has a NUL in it")
    if len(spec.shape) > MAX_RANK:
        raise ModelError(f"{place}.shape: rank {len(spec.shape)} is above {MAX_RANK}")
    for i, extent in enumerate(spec.shape):
        if not -1 <= extent < 2**63:
            raise ModelError(f"{place}.shape[{i}]: {extent} is no extent; -1 is a dynamic one")


def signature_json(signature: Signature) -> str:
    """The text of the metadata `cbridge.signature`."""

    def listed(specs: Sequence[TensorSpec]) -> list[dict[str, Any]]:
        raw = [spec.raw() for spec in specs]
        return [{"name": n, "type": kind, "shape": list(shape)} for n, kind, shape in raw]

    both = {"inputs": listed(signature.inputs), "outputs": listed(signature.outputs)}
    return json.dumps(both, ensure_ascii=False, separators=(",", ":"))


def parse_signature(text: str, where: str) -> Signature:
    """Reads what `signature_json` writes; mistakes are named with their place."""
    try:
        data = json.loads(text, object_pairs_hook=_object, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise ModelError(f"{where}:{error.lineno}:{error.colno}: {error.msg}") from None
    except (ModelError, RecursionError) as error:
        raise ModelError(f"{where}: {error}") from None
    try:
        _check_members(data, ("inputs", "outputs"), "")
        return Signature.of(_tensors(data, "inputs"), _tensors(data, "outputs"))
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from None


def _integer(text: str) -> int:
    # Python converts no more than 4,300 digits, and nobody wants to read those in a message.
    if len(text) > 100:
        raise ModelError(f"{text[:10]}... is too large: it has {len(text.lstrip('-'))} digits")
    return int(text)


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(members)
    if len(result) < len(members):
        names = [name for name, _ in members]
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelError(f"member {twice!r} is there twice")
    return result


def _check_members(data: Any, names: tuple[str, ...], place: str) -> None:
    prefix = f"{place}: " if place else ""
    if not isinstance(data, dict):
        raise ModelError(f"{prefix}must be an object with {', '.join(map(repr, names))}")
    for name in names:
        if name not in data:
            raise ModelError(f"{prefix}there is no member {name!r}")
    for name in data:
        if name not in names:
            there = ", ".join(map(repr, names))
            raise ModelError(f"{prefix}unknown member {name!r}; there are {there}")


def _tensors(data: dict[str, Any], side: str) -> list[TensorSpec]:
    if not isinstance(data[side], list):
        raise ModelError(f"{side}: must be a list")
    return [_tensor(each, f"{side}[{i}]") for i, each in enumerate(data[side])]


def _tensor(data: Any, place: str) -> TensorSpec:
    _check_members(data, ("name", "type", "shape"), place)
    if not isinstance(data["name"], str):
        raise ModelError(f"{place}.name: must be a string")
    if not isinstance(data["type"], str) or not {data["type"]} & {*_NUMPY_NAMES, *_C_NAMES}:
        there = ", ".join(_NUMPY_NAMES)
        raise ModelError(f"{place}.type: {data['type']!r} is no element type; there are {there}")
    if not isinstance(data["shape"], list):
        raise ModelError(f"{place}.shape: must be a list")
    for i, extent in enumerate(data["shape"]):
        if not isinstance(extent, int) or isinstance(extent, bool):
            raise ModelError(f"{place}.shape[{i}]: {extent!r} is no integer")
    return TensorSpec(data["name"], data["type"], data["shape"])
