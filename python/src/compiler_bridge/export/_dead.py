"""Branches that are never taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _model
from ._samples import Array

_SMALL = 1 << 12


def clear_dead_branches(model: Any) -> None:
    """JAX divides by counts as `where(count > 0, sum / count, NaN)`, although it knows the count.
    Such a NaN is nothing that anybody will see, but looks like a weight that is broken."""
    graph = model.graph
    known = {tensor.name: _model.to_array(tensor) for tensor in graph.initializer}
    if all(np.isfinite(value).all() for value in known.values() if value.dtype.kind == "f"):
        return
    numpy_helper = _model.require("onnx.numpy_helper", "export")
    for i, node in enumerate(graph.node):
        if node.op_type == "Where" and node.input[0] in known:
            condition = known[node.input[0]]
            dead = 2 if condition.all() else 1 if not condition.any() else 0
            value = known.get(node.input[dead]) if dead else None
            if value is not None and value.dtype.kind == "f" and not np.isfinite(value).all():
                name = f"cbridge_dead_{i}"
                graph.initializer.append(numpy_helper.from_array(np.zeros_like(value), name))
                node.input[dead] = name
        known.update(_folded(node, known))


def _folded(node: Any, known: dict[str, Array]) -> dict[str, Array]:
    """The outputs of a node whose inputs are known and small."""
    names = [name for name in node.input if name]
    if node.domain or not names or any(True for _ in _model.subgraphs(node)):
        return {}
    if any(name not in known or known[name].size > _SMALL for name in names):
        return {}
    reference = _model.require("onnx.reference", "export")
    try:
        evaluator = reference.ReferenceEvaluator(node)
        results = evaluator.run(None, {name: known[name] for name in names})
    except Exception:  # then it is not known
        return {}
    return dict(zip(node.output, map(np.asarray, results), strict=False))
