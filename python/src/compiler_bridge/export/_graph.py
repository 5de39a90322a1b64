"""Gives the graph that an exporter wrote the inputs and outputs of a signature."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..spec import TensorSpec
from . import _model
from ._model import ELEMENT_TYPES
from ._signature import ModelError, Signature

Extents = Mapping[str, Sequence[str]]


def safe_cast(source: str, target: str) -> bool:
    """Whether all values survive."""
    if "str" in (source, target):
        return source == target
    return bool(np.can_cast(np.dtype(source), np.dtype(target), "safe"))


def dim_names(spec: TensorSpec, extents: Extents) -> list[int | str]:
    """The shape with names for dynamic extents; the user's, if there are."""
    names = iter(extents.get(spec.name, ()))
    return [
        extent if extent >= 0 else next(names, f"{spec.name}_{i}")
        for i, extent in enumerate(spec.shape)
    ]


def check_extents(extents: Extents, signature: Signature) -> None:
    known = {spec.name: spec for spec in (*signature.inputs, *signature.outputs)}
    for name, names in extents.items():
        if name not in known:
            raise ModelError(f"extents of {name!r}: there is no such tensor")
        dynamic = known[name].shape.count(-1)
        if isinstance(names, str) or len(names) != dynamic:
            raise ModelError(
                f"extents of {name!r}: it has {dynamic} dynamic ones; give a list with their names"
            )


class _Renamer:
    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._taken: set[str] = set()
        for each in _model.all_graphs(graph):
            self._taken |= {value.name for value in (*each.input, *each.output)}
            self._taken |= {tensor.name for tensor in each.initializer}
            for node in each.node:
                self._taken |= {*node.input, *node.output}

    def fresh(self, hint: str) -> str:
        name, i = hint, 0
        while name in self._taken:
            i += 1
            name = f"{hint}_{i}"
        self._taken.add(name)
        return name

    def reserve(self, names: set[str]) -> dict[str, str]:
        """Names that are wanted, and what values that have them now shall be called."""
        moved = {name: self.fresh(f"{name}_inner") for name in sorted(names & self._taken)}
        self._taken |= names
        return moved

    def rename(self, names: Mapping[str, str]) -> None:
        """Everywhere but in graph.input and graph.output, which are written anew."""
        for each in _model.all_graphs(self._graph):
            values = [*each.value_info, *each.initializer]
            if each is not self._graph:
                values += [*each.input, *each.output]
            for value in values:
                value.name = names.get(value.name, value.name)
            for node in each.node:
                node.input[:] = [names.get(name, name) for name in node.input]
                node.output[:] = [names.get(name, name) for name in node.output]


def adapt(model: Any, signature: Signature, *, batched: bool, extents: Extents) -> None:
    """The inputs of the model are named cbridge_in_0 and so on, where it uses them; its outputs
    are in order. `batched`: it has a leading extent of 1 that the signature has not."""
    helper = importlib.import_module("onnx.helper")
    graph = model.graph
    if len(graph.output) != len(signature.outputs):
        raise ModelError(
            f"the exporter made {len(graph.output)} outputs of {len(signature.outputs)}"
        )
    renamer = _Renamer(graph)
    axis = ""
    if batched:
        axis = renamer.fresh("cbridge_axis")
        graph.initializer.add(name=axis, data_type=7, dims=[1], int64_data=[0])

    # Names of the signature belong to it alone.
    ours = {spec.name for spec in (*signature.inputs, *signature.outputs)}
    moved = renamer.reserve(ours)
    old_inputs = {moved.get(v.name, v.name): v.type.tensor_type.elem_type for v in graph.input}
    old_outputs = [(moved.get(v.name, v.name), v.type.tensor_type.elem_type) for v in graph.output]
    given = [f"cbridge_in_{i}" for i in range(len(signature.inputs))]
    sources = [moved.get(name, name) for name in given]
    renamer.rename(moved)

    before: list[Any] = []
    renamed: dict[str, str] = {}
    for spec, source in zip(signature.inputs, sources, strict=True):
        if source not in old_inputs:
            continue  # not used
        steps: list[tuple[str, list[str], dict[str, Any]]] = []
        if old_inputs[source] != ELEMENT_TYPES[spec.dtype]:
            steps.append(("Cast", [], {"to": old_inputs[source]}))
        if batched:
            steps.append(("Unsqueeze", [axis], {}))
        if not steps:
            renamed[source] = spec.name
        value = spec.name
        for i, (kind, more, attributes) in enumerate(steps):
            result = source if i + 1 == len(steps) else renamer.fresh("cbridge_value")
            before.append(helper.make_node(kind, [value, *more], [result], **attributes))
            value = result

    after: list[Any] = []
    made = {name for node in graph.node for name in node.output}
    for spec, (name, kind) in zip(signature.outputs, old_outputs, strict=True):
        value = renamed.get(name, name)
        if batched:
            result = renamer.fresh("cbridge_value")
            after.append(helper.make_node("Squeeze", [value, axis], [result]))
            value = result
        if kind != ELEMENT_TYPES[spec.dtype]:
            # The framework's own type has been checked; exporters choose other widths at times.
            to = ELEMENT_TYPES[spec.dtype]
            after.append(helper.make_node("Cast", [value], [spec.name], to=to))
        elif batched:
            after[-1].output[0] = spec.name
        elif name in made and name not in renamed:
            renamed[name] = spec.name
        else:
            after.append(helper.make_node("Identity", [value], [spec.name]))

    renamer.rename(renamed)
    nodes = [*before, *graph.node, *after]
    for node in after:
        node.input[:] = [renamed.get(name, name) for name in node.input]
    del graph.node[:]
    graph.node.extend(nodes)
    for values, specs in ((graph.input, signature.inputs), (graph.output, signature.outputs)):
        del values[:]
        for spec in specs:
            shape = dim_names(spec, extents)
            values.append(
                helper.make_tensor_value_info(spec.name, ELEMENT_TYPES[spec.dtype], shape)
            )
    _tidy(model)


def _tidy(model: Any) -> None:
    """Drops what has no use: initializers that nothing needs, about which runtimes complain; types
    of values in between, which follow; and notes of exporters, which name the author's files."""
    graph = model.graph
    used = {value.name for value in graph.output}
    for each in _model.all_graphs(graph):
        used |= {name for node in each.node for name in node.input}
        used |= {value.name for value in each.output}
        del each.value_info[:], each.metadata_props[:]
        each.ClearField("doc_string")
    nodes = [node for each in _model.all_graphs(graph) for node in each.node]
    for function in model.functions:
        del function.metadata_props[:], function.value_info[:]
        nodes += function.node
    for node in nodes:
        del node.metadata_props[:]
        node.ClearField("doc_string")
    model.ClearField("doc_string")
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
