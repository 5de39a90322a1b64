"""Models with inputs, many at a time, in generated code and in ONNX Runtime."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import onnx

from compiler_bridge.codegen import Unsupported, generate

from ._compiled import LEVELS, Answer, Array, Call, Generated, Toolchain, build, different_bits
from ._reference import Expected, NotEvaluatedError, Reference, difference


@dataclass(frozen=True)
class Case:
    label: str
    model: onnx.ModelProto
    samples: Sequence[Mapping[str, Array]]
    maxima: int | None = None  # of the extents that vary
    exact: bool = False


@dataclass
class Checked:
    """What came out; by the place of the case, or by the places of case and sample."""

    failures: dict[int, str] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)  # by the generator
    unknown: dict[int, str] = field(default_factory=dict)  # to ONNX Runtime
    expected: dict[tuple[int, int], dict[str, Expected]] = field(default_factory=dict)
    answers: dict[tuple[int, int], dict[str, Array]] = field(default_factory=dict)

    @property
    def elements(self) -> int:
        return sum(e.value.size for outputs in self.expected.values() for e in outputs.values())

    @property
    def unstable(self) -> int:
        return sum(
            int((~e.stable).sum()) for outputs in self.expected.values() for e in outputs.values()
        )


def check(
    cases: Sequence[Case], toolchain: Toolchain | None = None, *, cache: Path | None = None
) -> Checked:
    """Compares all answers, of both levels, with the reference and with each other. Without a
    cache, what was compiled is not kept."""
    result = Checked()
    models: dict[int, Generated] = {}
    for i, case in enumerate(cases):
        if _evaluate(i, case, result):
            try:
                models[i] = generate(case.model, f"M{i}", maxima=case.maxima, namespace=f"N{i}")
            except Unsupported as error:
                result.refused[i] = str(error)
            except Exception as error:
                result.failures[i] = f"{type(error).__name__}: {error}"
    places = [place for place in result.expected if place[0] in models]
    calls = [Call(i, cases[i].samples[s], level) for i, s in places for level in LEVELS]
    with tempfile.TemporaryDirectory() as folder:
        program = build(models, toolchain, per_unit=25, cache=cache or Path(folder))
        answers = program.run(calls)
    for number, (i, s) in enumerate(places):
        names = [port.name for port in models[i].description.outputs]
        pair = answers[2 * number : 2 * number + 2]
        if not pair[0].error:
            result.answers[i, s] = dict(zip(names, pair[0].outputs, strict=True))
        if wrong := _wrong(result.expected[i, s], names, pair):
            result.failures.setdefault(i, f"sample {s}, {wrong}")
    return result


def _evaluate(i: int, case: Case, result: Checked) -> bool:
    """Whether ONNX Runtime has an answer to at least one of the samples."""
    try:
        reference = Reference(case.model, exact=case.exact)
    except NotEvaluatedError as error:
        result.unknown[i] = str(error)
        return False
    for s, sample in enumerate(case.samples):
        try:
            result.expected[i, s] = reference(sample)
        except NotEvaluatedError as error:
            result.unknown[i] = str(error)
    known = any((i, s) in result.expected for s in range(len(case.samples)))
    if known:
        result.unknown.pop(i, None)
    return known


def _wrong(expected: Mapping[str, Expected], names: Sequence[str], pair: Sequence[Answer]) -> str:
    for level, answer in zip(LEVELS, pair, strict=True):
        if answer.error:
            return f"{level}: {answer.error}"
    for name, value in zip(names, pair[0].outputs, strict=True):
        if text := difference(value, expected[name]):
            return f"output {name}: {text}"
    if different_bits(pair[0].outputs, pair[1].outputs):
        return "levels differ"
    return ""
