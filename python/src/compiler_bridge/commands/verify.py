"""`cbridge verify`: whether all engines make the same of a model."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from ..export import ModelError, _check, _model, _samples
from ..export._samples import Array
from ..export._signature import Signature
from ..spec import TensorSpec
from ._engines import ENGINES, Absent, Answers, Evaluate, Subject
from ._shared import Parser, positive, reading, run

_DESCRIPTION = """\
Evaluates an ONNX model on random inputs with every engine that is there, and compares: 'reference'
is the evaluator of the package onnx, 'onnxruntime' that of Python, the others are runners of
CompilerBridge; 'native' compiles the model first. Dynamic extents get several sizes. Exit status 0
if all agree, 1 if not, 2 if there is nothing to compare."""


def main(words: list[str]) -> int:
    parser = Parser("verify", _DESCRIPTION)
    parser.add_argument("model", metavar="MODEL.onnx")
    parser.add_argument(
        "--samples", type=positive, default=100, metavar="N", help="how many (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="of the inputs (default: %(default)s)"
    )
    parser.add_argument(
        "--tolerance",
        type=_tolerance,
        default=1e-4,
        metavar="T",
        help=f"of floats: {_samples.TOLERANCE_RULE} (default: %(default)s)",
    )
    parser.add_argument(
        "--range",
        action="append",
        default=[],
        type=_range,
        dest="ranges",
        metavar="INPUT=LOW:HIGH",
        help="what values an input takes, several "
        "times for several (default: floats normal, integers 0 to 9); HIGH is one of them, and may "
        "be an extent that varies, or so much less, as in edges=0:nodes-1; `cbridge inspect` shows "
        "the names",
    )
    parser.add_argument(
        "--custom-ops", metavar="FILE.so", help="a library of custom operators for ONNX Runtime"
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=list(ENGINES),
        metavar="ENGINE",
        help="leave one out: " + ", ".join(ENGINES),
    )
    parser.add_argument(
        "--require",
        action="append",
        default=[],
        choices=list(ENGINES),
        metavar="ENGINE",
        help="fail if this one does not take part; native, say, needs a C++ compiler",
    )
    return run(parser, words, _verify)


def _tolerance(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise ValueError
    return value


def _range(text: str) -> tuple[str, tuple[float, float | str]]:
    name, _, limits = text.rpartition("=")
    low, _, high = limits.partition(":")
    if not name or not high:
        raise ValueError
    first, last = float(low), _number(high)
    if not math.isfinite(first) or not (last is None or math.isfinite(last)):
        raise argparse.ArgumentTypeError(f"{text!r}: the limits must be finite numbers")
    return name, (first, high if last is None else last)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


# argparse shows them in "invalid ... value".
_tolerance.__name__, _range.__name__ = "tolerance", "range"


@dataclass
class _Result:
    worst: float = 0.0
    where: str = ""
    wrong: int = 0
    complaints: list[str] = field(default_factory=list)


def _verify(arguments: argparse.Namespace) -> int:
    if arguments.seed < 0:
        raise ModelError(f"--seed: {arguments.seed} is below 0")
    custom_ops = arguments.custom_ops
    if custom_ops and not Path(custom_ops).is_file():
        raise ModelError(f"{custom_ops}: there is no such file")
    ranges = dict(arguments.ranges)
    with reading(arguments.model):
        model = _model.load(arguments.model, "verify")
        subject = Subject(arguments.model, model, _checked(arguments.model, model), custom_ops)
        extents = {
            name: [each for each in names if each is not None]
            for name, names in _model.extent_names(model.graph).items()
        }
        _samples.check_ranges(ranges, subject.graph.inputs, extents)
        engines, absent = _start(subject, arguments.without)
    # Equal, since models need not give one name to what must be.
    drawn = _samples.samples(
        subject.graph.inputs,
        arguments.samples,
        arguments.seed,
        ranges,
        extents=extents,
        equal=True,
    )
    sample = next(drawn)
    _try_reference(engines, absent, sample)
    print(
        f"{arguments.model}: {arguments.samples} samples, seed {arguments.seed}, tolerance "
        f"{arguments.tolerance:g}: {_samples.TOLERANCE_RULE}"
    )
    for name, why in absent.items():
        print(f"  {name}: {why}")
    for name in arguments.require:
        if name in absent:
            raise ModelError(f"--require {name}: {absent[name]}")
    if len(engines) < 2:
        there = next(iter(engines), "none")
        raise ModelError(f"there is nothing to compare; engines that take the model: {there}")
    results = _compare(subject, engines, chain([sample], drawn), arguments.tolerance)
    first = next(iter(engines))
    print(f"  {first}: what the others are compared with")
    for name, result in results.items():
        print(f"  {name}: largest difference {result.worst:.3g}{result.where}")
        for complaint in result.complaints:
            print(f"    {complaint}")
        if result.wrong > len(result.complaints):
            print(f"    and {result.wrong - len(result.complaints)} more")
    wrong = sum(result.wrong for result in results.values())
    print("they disagree" if wrong else f"all {len(engines)} agree")
    return 1 if wrong else 0


def _checked(path: str, model: object) -> Signature:
    """The graph's signature, which what the metadata says must fit."""
    try:
        graph = _model.graph_signature(model)
        _model.used_signature(model).check_fit(graph)
        return graph
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def _start(subject: Subject, without: list[str]) -> tuple[dict[str, Evaluate], dict[str, str]]:
    engines: dict[str, Evaluate] = {}
    absent = {}
    for name, start in ENGINES.items():
        try:
            if name in without:
                raise Absent("left out")
            engines[name] = start(subject)
        except Absent as why:
            absent[name] = str(why)
        except ModelError as error:
            raise ModelError(f"{subject.path}: {error}") from None
    return engines, absent


def _try_reference(
    engines: dict[str, Evaluate], absent: dict[str, str], sample: dict[str, Array]
) -> None:
    """It lacks some of what operators can do. If ONNX Runtime has it, values do not matter."""
    if not {"reference", "onnxruntime"} <= engines.keys():
        return
    try:
        engines["reference"](sample)
        return
    except Exception as error:
        why = _check.first_line(error)
    try:
        engines["onnxruntime"](sample)
    except Exception:
        return
    del engines["reference"]
    absent["reference"] = f"cannot evaluate the model: {why}"


def _compare(
    subject: Subject,
    engines: dict[str, Evaluate],
    drawn: Iterable[dict[str, Array]],
    tolerance: float,
) -> dict[str, _Result]:
    first, *others = engines
    results = {name: _Result() for name in others}
    own = {
        node.op_type
        for graph in _model.all_graphs(subject.model.graph)
        for node in graph.node
        if node.domain not in ("", "ai.onnx", "ai.onnx.ml")
    }
    for i, sample in enumerate(drawn):
        wanted = _evaluate(first, engines[first], sample, i, own)
        for name in others:
            got = _evaluate(name, engines[name], sample, i, own)
            for spec in subject.graph.outputs:
                if spec.name in got:
                    _note(results[name], spec, got, wanted, i, tolerance)
    return results


def _evaluate(
    name: str, engine: Evaluate, sample: dict[str, Array], i: int, own: set[str]
) -> Answers:
    try:
        return engine(sample)
    except Exception as error:
        why = _check.first_line(error)
        node = re.search(r"\b(\w+) node", why)
        # Of an operator that is somebody's own, only they know what it takes.
        if not (node and node.group(1) in own):
            why += "; if the model takes only some values, say which: --range INPUT=LOW:HIGH"
        raise ModelError(
            f"{name}, sample {i}: {why}; --without {name} leaves this engine out"
        ) from None


def _note(
    result: _Result, spec: TensorSpec, got: Answers, wanted: Answers, i: int, tolerance: float
) -> None:
    difference = _samples.compare(spec, got[spec.name], wanted[spec.name], tolerance)
    if difference.amount > result.worst:
        result.worst, result.where = difference.amount, f" (output {spec.name!r}, sample {i})"
    if difference.text:
        result.wrong += 1
        if len(result.complaints) < 5:
            result.complaints.append(f"output {spec.name!r}, sample {i}: {difference.text}")
