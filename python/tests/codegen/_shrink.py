"""The part of a failing graph that is at fault."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ._cases import Case, check
from ._compiled import Array, Toolchain
from ._reference import session

_WIDTH = 400


def described(case: Case) -> str:
    """A model as text; long constants are cut."""
    lines = onnx.printer.to_text(case.model).splitlines()
    return "\n".join(x if len(x) < _WIDTH else f"{x[:_WIDTH]} ..." for x in lines)


def culprit(case: Case, toolchain: Toolchain | None = None) -> str:
    """Single nodes that fail with the values they have in the graph; or else the shortest beginning
    of the graph that fails, which then is a matter of several nodes."""
    parts = [*_single_nodes(case), *_beginnings(case)]
    failures = check(parts, toolchain).failures
    if not failures:
        return f"only the whole graph fails\n{described(case)}"
    first = min(failures)
    kind = "a node alone" if parts[first].label.startswith("node") else "a beginning"
    return f"{kind} fails: {failures[first]}\n{described(parts[first])}"


def _typed(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    return {info.name: info for info in (*graph.value_info, *graph.output, *graph.input)}


def _with(
    model: onnx.ModelProto,
    nodes: Iterable[onnx.NodeProto],
    inputs: Iterable[onnx.ValueInfoProto],
    outputs: Iterable[onnx.ValueInfoProto],
) -> onnx.ModelProto:
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for place, items in (
        (result.graph.node, nodes),
        (result.graph.input, inputs),
        (result.graph.output, outputs),
    ):
        kept = list(items)
        del place[:]
        place.extend(kept)
    used = {name for node in result.graph.node for name in node.input}
    constants = [each for each in result.graph.initializer if each.name in used]
    del result.graph.initializer[:]
    result.graph.initializer.extend(constants)
    return result


def _beginnings(case: Case) -> Iterable[Case]:
    types = _typed(case.model)
    nodes = case.model.graph.node
    for count in range(1, len(nodes)):
        first = nodes[:count]
        used = {name for node in first for name in node.input}
        made = [name for node in first for name in node.output if name]
        outputs = [types[name] for name in made if name not in used]
        model = _with(case.model, first, case.model.graph.input, outputs)
        yield Case(f"first {count}", model, case.samples, case.maxima)


def _single_nodes(case: Case) -> Iterable[Case]:
    constants = {each.name for each in case.model.graph.initializer}
    types = _typed(case.model)
    for number, sample in enumerate(case.samples):
        values = _values(case.model, types, sample)
        if values is None:
            continue
        for i, node in enumerate(case.model.graph.node):
            names = dict.fromkeys(n for n in node.input if n and n not in constants)
            inputs = {n: values[n] for n in names}
            model = _with(
                case.model,
                [node],
                [_info(n, v) for n, v in inputs.items()],
                [_info(n, values[n]) for n in node.output if n],
            )
            yield Case(f"node {i}, sample {number}", model, [inputs])


def _info(name: str, value: Array) -> onnx.ValueInfoProto:
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, kind, value.shape)


def _values(
    model: onnx.ModelProto, types: Mapping[str, onnx.ValueInfoProto], sample: Mapping[str, Array]
) -> dict[str, Array] | None:
    """All that ONNX Runtime calculates."""
    made = [name for node in model.graph.node for name in node.output if name]
    whole = _with(model, model.graph.node, model.graph.input, [types[name] for name in made])
    try:
        results = session(whole).run(None, dict(sample))
    except Exception:
        return None
    constants = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    return constants | dict(sample) | dict(zip(made, map(np.asarray, results), strict=True))
