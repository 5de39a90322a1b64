"""What scoring finds out: pairs of figures, and what they say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ._decisions import Disagreement
from ._measure import Measurement
from ._statistics import Comparison, compare


@dataclass(frozen=True)
class Metric:
    """A figure of which less is better."""

    key: str
    title: str
    unit: str
    counted: str  # what a number of it is a number of
    of_programs: bool = False


METRICS = (
    Metric("text", "text", "bytes", "bytes of text"),
    Metric("total", "all loaded bytes", "bytes", "loaded bytes"),
    Metric("instructions", "IR instructions", "", "IR instructions"),
    Metric("seconds", "compile time", "s", "seconds of compile time"),
    Metric("executed", "executed instructions", "", "executed instructions", of_programs=True),
)
METRIC = {metric.key: metric for metric in METRICS}
# How the plugin says that a model was opened, and failed later.
PARTLY = "where the model does not"


@dataclass(frozen=True)
class Pair:
    """A module, compiled by both."""

    module: str
    baseline: Measurement
    policy: Measurement

    def values(self, metric: str) -> tuple[float, float] | None:
        a, b = getattr(self.baseline, metric), getattr(self.policy, metric)
        return None if a is None or b is None else (a, b)


@dataclass(frozen=True)
class ProgramPair:
    """A program, run as compiled by both; `difference` says how what it did differs."""

    name: str
    baseline: int | None
    policy: int | None
    difference: str | None

    def values(self) -> tuple[float, float] | None:
        if self.baseline is None or self.policy is None or self.difference:
            return None
        return self.baseline, self.policy


@dataclass(frozen=True)
class Failure:
    """A module or program that is left out. `side` is empty if neither policy is to blame."""

    name: str
    side: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {f'by the {self.side}: ' if self.side else ''}{self.why}"


@dataclass
class Score:
    """Everything that a report is made of."""

    corpus: str
    policy: str
    baseline: str
    clang: str
    seed: int = 0
    metric: str = "text"  # the one that the verdict is about
    pairs: list[Pair] = field(default_factory=list)
    programs: list[ProgramPair] = field(default_factory=list)
    broken: list[Failure] = field(default_factory=list)
    broken_programs: list[Failure] = field(default_factory=list)
    from_cache: int = 0  # how many modules' baseline was measured in an earlier run
    disagreement: Disagreement | None = None  # if the policy's decisions were recorded
    remarks: list[str] = field(default_factory=list)

    @cached_property
    def comparisons(self) -> dict[str, Comparison]:
        """By metric; those of which there is no pair are not in it."""
        found = {}
        for metric in METRICS:
            values = list(self.values(metric))
            baseline, policy = ([pair[side] for pair in values] for side in (0, 1))
            comparison = compare(baseline, policy, self.seed)
            if comparison:
                found[metric.key] = comparison
        return found

    def values(self, metric: Metric) -> Iterable[tuple[float, float]]:
        """The pairs of a metric."""
        if metric.of_programs:
            every = (program.values() for program in self.programs)
        else:
            every = (pair.values(metric.key) for pair in self.pairs)
        return (values for values in every if values)

    @property
    def wrong_programs(self) -> list[ProgramPair]:
        return [program for program in self.programs if program.difference]

    @property
    def fallbacks(self) -> list[Pair]:
        """Modules in which the policy did not decide, or not all the way."""
        return [pair for pair in self.pairs if pair.policy.said]

    @property
    def did_not_decide(self) -> bool:
        """Whether the policy took not one decision: equal figures then say nothing about it."""
        if not self.pairs:
            return False
        if self.disagreement:
            return self.disagreement.own_decisions == 0
        if len(self.fallbacks) < len(self.pairs):
            return False
        return not self.may_have_decided or not self._differs

    @property
    def may_have_decided(self) -> bool:
        """Whether nobody knows: the policy failed late, and its decisions were not recorded."""
        lines = (line for pair in self.pairs for line in pair.policy.said)
        return self.disagreement is None and any(PARTLY in line for line in lines)

    @property
    def _differs(self) -> bool:
        """Whether any module came out otherwise than by the baseline."""
        return any(
            values[0] != values[1]
            for pair in self.pairs
            for metric in ("text", "total", "instructions")
            if (values := pair.values(metric))
        )
