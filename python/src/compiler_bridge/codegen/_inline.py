"""Functions of a model, which become nodes where they are called."""

from __future__ import annotations

from typing import Any

from ..export import _model


def without_functions(onnx: Any, model: Any) -> Any:
    if not model.functions:
        return model
    inliner = _model.require("onnx.inliner", "compile")
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    # onnx.inliner forgets what attributes are by default.
    defaults = {(each.domain, each.name): list(each.attribute_proto) for each in copy.functions}
    graphs = [each for outer in (copy.graph, *copy.functions) for each in _model.all_graphs(outer)]
    for node in (node for graph in graphs for node in graph.node):
        given = {each.name for each in node.attribute}
        for default in defaults.get((node.domain, node.op_type), ()):
            if default.name not in given:
                node.attribute.append(default)
    return inliner.inline_local_functions(copy)
