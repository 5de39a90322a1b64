"""`cbridge inspect`: what is in a model."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from ..export import ModelError, _cost, _model
from ..export._signature import described, signature_json
from ._shared import Parser, positive, reading, run

_DESCRIPTION = """\
Shows the signature, the metadata, the size, the operators and the estimated cost of an ONNX model,
and what its extents that vary are called. Exit status 1 if a pass cannot use it: types that passes
do not have, metadata that does not fit the graph, or weights that are no numbers."""


def main(words: list[str]) -> int:
    parser = Parser("inspect", _DESCRIPTION)
    parser.add_argument("model", metavar="MODEL.onnx")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument(
        "--extent",
        type=positive,
        default=16,
        metavar="N",
        help="what dynamic extents are taken as for the cost (default: %(default)s)",
    )
    return run(parser, words, _inspect)


def report(path: str, extent: int = 16) -> dict[str, Any]:
    """All that is shown."""
    model = _model.load(path, "inspect")
    problems = []
    graph = stated = None
    try:
        graph = _model.graph_signature(model)
    except ModelError as error:
        problems.append(str(error))
    try:
        stated = _model.stated_signature(model)
    except ModelError as error:
        problems.append(str(error))
    if graph and stated:
        problems += [f"cbridge.signature: {wrong}" for wrong in stated.misfits(graph)]
    known = _model.metadata(model)
    if known.get("cbridge.format", _model.FORMAT) != _model.FORMAT:
        problems.append(
            f"cbridge.format: is {known['cbridge.format']!r}, not {_model.FORMAT!r}: made for "
            "another version"
        )
    try:
        weights = _cost.weights(model)
    except Exception as error:
        raise ModelError(f"{path}: weights that cannot be read: {error}") from None
    problems += [f"weight {wrong}" for wrong in weights.not_finite]
    cost = _cost.cost(model, extent)
    dynamic = any(-1 in spec.shape for spec in graph.inputs) if graph else True
    extents = {
        "inputs": _model.extent_names(model.graph),
        "outputs": {
            value.name: [dim.dim_param or None for dim in value.type.tensor_type.shape.dim]
            for value in model.graph.output
        },
    }
    return {
        "file": path,
        "bytes": os.path.getsize(path),
        "metadata": known,
        "graph_signature": json.loads(signature_json(graph)) if graph else None,
        "signature": json.loads(signature_json(stated)) if stated else None,
        "extents": extents if graph else None,
        "opsets": {entry.domain or "ai.onnx": entry.version for entry in model.opset_import},
        "ir_version": model.ir_version,
        "producer": f"{model.producer_name} {model.producer_version}".strip(),
        "operators": [
            {"domain": domain or "ai.onnx", "name": name, "count": count}
            for (domain, name), count in sorted(_cost.operators(model).items())
        ],
        "parameters": weights.parameters,
        "weight_bytes": weights.size,
        "multiply_adds": cost.multiply_adds,
        "multiply_adds_unknown": dict(cost.unknown),
        "dynamic_extents_as": extent if dynamic else None,
        "problems": problems,
        "_specs": (graph, stated),
    }


def _inspect(arguments: argparse.Namespace) -> int:
    with reading(arguments.model):
        found = report(arguments.model, arguments.extent)
    graph, stated = found.pop("_specs")
    if arguments.json:
        print(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        _print(found, graph, stated)
    return 1 if found["problems"] else 0


def _print(found: dict[str, Any], graph: Any, stated: Any) -> None:
    print(f"{found['file']}: {found['bytes']:,} bytes")
    known = found["metadata"].items()
    ours = {k.removeprefix("cbridge."): text for k, text in known if k.startswith("cbridge.")}
    for key in _model.TEXT_KEYS:
        if key in ours:
            print(f"  {key.replace('_', ' ')}: {ours[key]}")
    for key, text in known:
        if key.startswith("cbridge."):
            continue
        print(f"  {key}: {text if len(text) <= 100 else text[:100] + '...'}")
    if not ours:
        print("  no metadata of CompilerBridge (compiler_bridge.export.add_metadata writes it)")
    same = graph == stated
    extents = found["extents"] or {"inputs": {}, "outputs": {}}
    for title, signature in (("what the pass sees", None if same else stated), ("graph", graph)):
        if signature is None:
            continue
        note = ", as the metadata says" if title == "graph" and same else ""
        print(f"{title}{note}:")
        for side, specs in (("input", signature.inputs), ("output", signature.outputs)):
            # The pass's shapes have no names, and need not have as many extents.
            names = extents[f"{side}s"] if title == "graph" else {}
            for spec in specs:
                print(f"  {side} {spec.name!r}: {described(spec, names.get(spec.name, ()))}")
    if varying := [name for names in extents["inputs"].values() for name in names if name]:
        listed = ", ".join(map(repr, dict.fromkeys(varying)))
        print(f"extents that vary: {listed} (cbridge compile --max NAME=N)")
    opsets = ", ".join(f"{domain} {version}" for domain, version in found["opsets"].items())
    print(f"opset: {opsets}; IR {found['ir_version']}; made by {found['producer'] or 'unknown'}")
    print("operators:")
    for each in found["operators"]:
        domain = "" if each["domain"] == "ai.onnx" else each["domain"] + "::"
        print(f"  {each['count']:>5} {domain}{each['name']}")
    print(f"parameters: {found['parameters']:,} in {found['weight_bytes']:,} bytes")
    taken = found["dynamic_extents_as"]
    note = f" with {taken} for each dynamic extent" if taken else ""
    print(f"cost: {found['multiply_adds']:,} multiply-adds per evaluation{note}")
    if found["multiply_adds_unknown"]:
        missing = ", ".join(f"{n} {name}" for name, n in found["multiply_adds_unknown"].items())
        print(f"  not counted, or once only: {missing}")
    for problem in found["problems"]:
        print(f"problem: {problem}")
