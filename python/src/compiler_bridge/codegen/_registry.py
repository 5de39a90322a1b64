"""Nodes as operators see them, and the table of operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..export import _model
from ..export._model import ELEMENT_TYPES
from ._builder import Builder, Unsupported
from ._extent import Extent
from ._ir import Value
from ._subgraph import Subgraph
from ._types import CTYPES, DType

Translate = Callable[[Builder, "Node"], Value | Sequence[Value]]
OPERATORS: dict[tuple[str, str], Translate] = {}
# Why some will never be there.
REFUSED: dict[str, str] = dict.fromkeys(
    ("NonMaxSuppression", "NonZero", "Unique"),
    "the shape of its result depends on values that only the running model knows",
)


def operator(*names: str, domain: str = "") -> Callable[[Translate], Translate]:
    """Adds a function to the table."""

    def add(translate: Translate) -> Translate:
        for name in names:
            OPERATORS[domain, name] = translate
        return translate

    return add


@dataclass(frozen=True)
class Node:
    """`where`: for messages. `outputs`: their names, empty where nobody wants one."""

    where: str
    operator: str
    inputs: Sequence[Value | None]
    attributes: dict[str, Any]
    outputs: Sequence[str]
    opset: int

    def __getitem__(self, i: int) -> Value:
        value = self.given(i)
        if value is None:
            raise Unsupported(f"{self.where}: has no input {i}")
        return value

    def given(self, i: int) -> Value | None:
        """An input that may be left out."""
        return self.inputs[i] if i < len(self.inputs) else None

    def attribute(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)

    def graph(self, name: str) -> Subgraph:
        graph = self.attributes[name]
        assert isinstance(graph, Subgraph)
        return graph

    def wants(self, i: int) -> bool:
        """Whether somebody uses output i."""
        return i < len(self.outputs) and self.outputs[i] != ""

    def numbers(self, i: int, what: str) -> list[Any] | None:
        """What a constant input holds; nothing if it is left out."""
        value = self.given(i)
        if value is None:
            return None
        if value.constant is None:
            raise Unsupported(f"{self.where}: {what} (input {i}) must be known when compiled")
        result: list[Any] = value.constant.reshape(-1).tolist()
        return result

    def number(self, i: int, what: str, default: Any = None) -> Any:
        """The same of a single one."""
        found = self.numbers(i, what)
        return found[0] if found else default

    def extents(self, i: int, what: str) -> list[Extent]:
        """What an input holds that has numbers or extents of inputs in it."""
        value = self[i]
        if value.constant is not None:
            return [Extent.of(int(each)) for each in value.constant.reshape(-1)]
        if value.extents is not None:
            return list(value.extents.reshape(-1))
        raise Unsupported(f"{self.where}: {what} (input {i}) must be known when compiled")

    def element_type(self, name: str) -> DType:
        """What an attribute's number of ONNX's types means."""
        wanted = self.attributes[name]
        for each, number in ELEMENT_TYPES.items():
            if number == wanted and each in CTYPES:
                return np.dtype(each)
        kind = _model.require("onnx", "compile").TensorProto.DataType.Name(wanted)
        raise Unsupported(f"{self.where}: elements of type {kind} are not supported")

    def axis(self, rank: int, default: int | None = None) -> int:
        """The attribute `axis`, counted from the front."""
        return self.checked_axis(self.attribute("axis", default), rank)

    def checked_axis(self, axis: int, rank: int) -> int:
        if not -rank <= axis < max(rank, 1):
            raise Unsupported(f"{self.where}: axis {axis} of a tensor with {rank} axes")
        return axis % rank if rank else 0
