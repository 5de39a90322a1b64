"""Random graphs in generated code and in ONNX Runtime; their answers must agree.

python -m codegen.fuzz --count 2000        so many graphs
python -m codegen.fuzz --seed 7 --only 12  the 12th graph of this seed, again
"""

from __future__ import annotations

import argparse
import collections
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ._cases import Case, Checked, check
from ._compiled import Array, Call, Toolchain, build
from ._emx import Foreign, compiled, foreign
from ._graphs import MAXIMUM, Graph, drawn
from ._reference import Expected, difference
from ._shrink import culprit, described

BATCH = 50


@dataclass
class Tally:
    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # of what is refused, and the like

    def text(self) -> str:
        names = ["graphs", "dynamic", "compared", "refused", "unknown to ONNX Runtime"]
        names += ["elements", "unstable", "emx", "emx agrees", "emx is wrong"]
        return ", ".join(f"{self.counts[name]} {name}" for name in names)


def _case(graph: Graph, label: str) -> Case:
    return Case(label, graph.model, graph.samples(), MAXIMUM if graph.is_dynamic else None)


def run(
    count: int,
    seed: int,
    *,
    only: int | None = None,
    with_emx: bool = False,
    toolchain: Toolchain | None = None,
    cache: Path | None = None,
) -> Tally:
    """Graphs of one seed after the other. Those with fixed shapes may not be refused."""
    tally = Tally()
    while count > 0:
        graphs = drawn(BATCH, seed)[: min(count, BATCH)]
        count -= BATCH
        cases = [_case(graph, f"--seed {seed} --only {i}") for i, graph in enumerate(graphs)]
        if only is not None:
            graphs, cases = graphs[only : only + 1], cases[only : only + 1]
        checked = check(cases, toolchain, cache=cache)
        _count(graphs, cases, checked, tally)
        for i, why in checked.failures.items():
            found = culprit(cases[i], toolchain)
            tally.failures.append(f"{cases[i].label}: {why}\n{found}")
        if with_emx:
            _against_emx(cases, checked, tally)
        seed += 1
    return tally


def _count(graphs: Sequence[Graph], cases: Sequence[Case], checked: Checked, tally: Tally) -> None:
    tally.counts["graphs"] += len(cases)
    tally.counts["dynamic"] += sum(graph.is_dynamic for graph in graphs)
    tally.counts["refused"] += len(checked.refused)
    tally.counts["unknown to ONNX Runtime"] += len(checked.unknown)
    tally.counts["compared"] += len({i for i, _ in checked.answers})
    tally.counts["elements"] += checked.elements
    tally.counts["unstable"] += checked.unstable
    for i, why in checked.refused.items():
        tally.notes.append(f"{cases[i].label}: refused: {why}")
        if not graphs[i].is_dynamic:
            tally.failures.append(f"{cases[i].label}: refused: {why}\n{described(cases[i])}")


def _against_emx(cases: Sequence[Case], checked: Checked, tally: Tally) -> None:
    """With the first sample of each graph that it takes. Where it differs from both others, the
    error is its own."""
    models: dict[int, Foreign] = {}
    for i, case in enumerate(cases):
        model = foreign(case.model, f"E{i}", case.samples[0]) if (i, 0) in checked.answers else None
        if model:
            models[i] = model
    with tempfile.TemporaryDirectory() as folder:
        objects = compiled(models, Path(folder))
        models = {i: m for i, m in models.items() if str(Path(folder, f"E{i}.o")) in objects}
        program = build(models, Toolchain(flags=("-O1", *objects, "-lm")), cache=Path(folder))
        answers = program.run([Call(i, cases[i].samples[0]) for i in models])
    for (i, model), answer in zip(models.items(), answers, strict=True):
        tally.counts["emx"] += 1
        ours, wanted = checked.answers[i, 0], checked.expected[i, 0]
        names = [port.name for port in model.description.outputs]
        theirs = dict(zip(names, answer.outputs, strict=False))
        near_ours = {n: replace(wanted[n], value=ours[n]) for n in names}
        if _agree(theirs, near_ours):
            tally.counts["emx agrees"] += 1
        elif answer.error or not _agree(theirs, wanted):
            tally.counts["emx is wrong"] += 1
            tally.notes.append(f"{cases[i].label}: emx is wrong {answer.error}".strip())
        else:
            tally.failures.append(f"{cases[i].label}: emx is nearer to ONNX Runtime")


def _agree(answers: Mapping[str, Array], wanted: Mapping[str, Expected]) -> bool:
    return bool(answers) and not any(difference(a, wanted[n]) for n, a in answers.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--emx", action="store_true", help="also compare with emx-onnx-cgen")
    parser.add_argument("--sanitize", action="store_true", help="with ASan and UBSan")
    options = parser.parse_args()
    flags = ["-O1"]
    if options.sanitize:
        flags += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    start = time.monotonic()
    tally = run(
        BATCH if options.only is not None else options.count,
        options.seed,
        only=options.only,
        with_emx=options.emx,
        toolchain=Toolchain(flags=tuple(flags)),
    )
    for failure in tally.failures:
        print(failure, end="\n\n")
    for note in tally.notes:
        print(note)
    print(f"{tally.text()}; {len(tally.failures)} failures, {time.monotonic() - start:.0f} s")
    if tally.failures:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
