"""What `./dev bench inline` concludes from its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from _inline_suites import CXX, SUITES, C
from _inline_tests import Tested

from compiler_bridge.scoring._statistics import Comparison, compare

THRESHOLDS = (-50, -25, -10, 0, 5, 10, 15, 25, 50)
OZ, POLICY, THRESHOLD, SEARCH = "oz", "policy", "threshold", "best_search"
# Of times: the drivers, which users start.
CLANG_DRIVER, OUR_DRIVER = "clang", "cbridge_clang"
METRICS = ("text", "total")
Size = list[int]
"""Text and total, as in METRICS."""
Sizes = dict[str, list[Size]]
"""By way to compile; a size per module."""
Row = dict[str, Any]


def threshold_name(threshold: int) -> str:
    return f"{THRESHOLD} {threshold}"


def budget_name(budget: int) -> str:
    return f"k{budget}"


K2, K8 = budget_name(2), budget_name(8)
WAYS = (POLICY, THRESHOLD, K2, K8, SEARCH)


@dataclass
class Measured:
    """Of a package. What is missing was not measured."""

    package: str
    modules: int
    sizes: Sizes = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    """Of the processor, per module: OZ, POLICY and both drivers."""
    tests: Tested | None = None

    @property
    def language(self) -> str:
        return SUITES[self.package].language

    def sum(self, way: str, metric: str) -> int | None:
        place = METRICS.index(metric)
        return sum(size[place] for size in self.sizes[way]) if way in self.sizes else None

    def growth(self, way: str, metric: str) -> float | None:
        """In percent of plain clang's."""
        ours, plain = self.sum(way, metric), self.sum(OZ, metric)
        return (ours / plain - 1) * 100 if ours is not None and plain else None

    def row(self) -> Row:
        ways = (OZ, *WAYS)
        sums = {f"{way}_{metric}": self.sum(way, metric) for metric in METRICS for way in ways}
        spent = {
            f"{way}_seconds": sum(self.seconds[way]) if way in self.seconds else None
            for way in (OZ, POLICY, CLANG_DRIVER, OUR_DRIVER)
        }
        row: Row = {"package": self.package, "language": self.language, "modules": self.modules}
        return row | sums | spent | {"tests": str(self.tests) if self.tests else None}


def best_threshold(measured: Sequence[Measured]) -> int:
    """By text over all packages; of equals the one closest to nothing."""

    def text(threshold: int) -> tuple[int, int]:
        sums = (each.sum(threshold_name(threshold), "text") or 0 for each in measured)
        return sum(sums), abs(threshold)

    return min(THRESHOLDS, key=text)


def choose_threshold(measured: Sequence[Measured]) -> int:
    """Adds the sizes of the best one."""
    best = best_threshold(measured)
    for each in measured:
        each.sizes[THRESHOLD] = each.sizes[threshold_name(best)]
    return best


def summarize(measured: Sequence[Measured], threshold: int) -> Row:
    """Changes, growths and shares are in percent."""
    parts = {"all": list(measured)}
    parts |= {name: [each for each in measured if each.language == name] for name in (C, CXX)}
    found: Row = {name: _part(part) for name, part in parts.items() if part}
    sweep = {
        str(each): {
            metric: _percent(_change(measured, threshold_name(each), metric)) for metric in METRICS
        }
        for each in THRESHOLDS
    }
    found["threshold"] = {"best": threshold, "sweep": sweep}
    changes = found["all"]["change"]
    found["points_better_than_threshold"] = {
        metric: changes[THRESHOLD][metric]["percent"] - changes[POLICY][metric]["percent"]
        for metric in METRICS
    }
    found["largest_growth"] = {metric: _largest_growth(measured, metric) for metric in METRICS}
    found["larger_than_plain"] = {way: _larger(measured, way) for way in (K2, K8)}
    found["not_smallest"] = _not_smallest(measured)
    found["compile_time"] = _time(measured, OZ, POLICY)
    found["compile_time_of_drivers"] = _time(measured, CLANG_DRIVER, OUR_DRIVER)
    found["tests"] = _tests(measured)
    return found


def _part(measured: Sequence[Measured]) -> Row:
    changes = {
        way: {metric: _percent(_change(measured, way, metric)) for metric in METRICS}
        for way in WAYS
    }
    captured = {
        way: {metric: _captured(measured, way, metric) for metric in METRICS}
        for way in (POLICY, THRESHOLD, K2, K8)
    }
    modules = sum(each.modules for each in measured)
    return {"modules": modules, "change": changes, "captured": captured}


def _pairs(measured: Sequence[Measured], way: str, metric: str) -> tuple[list[int], list[int]]:
    """Sizes of all modules by plain clang and so; none if it was not measured everywhere."""
    if not all(way in each.sizes for each in measured):
        return [], []
    place = METRICS.index(metric)
    plain, ours = (
        [size[place] for each in measured for size in each.sizes[name]] for name in (OZ, way)
    )
    return plain, ours


def _change(measured: Sequence[Measured], way: str, metric: str) -> Comparison | None:
    return compare(*_pairs(measured, way, metric))


def _percent(found: Comparison | None) -> Row | None:
    """With its interval, null if there are too few modules for one."""
    if found is None:
        return None
    total, sure = found.total, found.has_interval
    return {
        "percent": total.value * 100,
        "low": total.low * 100 if sure else None,
        "high": total.high * 100 if sure else None,
    }


def _captured(measured: Sequence[Measured], way: str, metric: str) -> float | None:
    """Of the search's gain."""
    ours, search = (_change(measured, each, metric) for each in (way, SEARCH))
    if ours is None or search is None or search.total.value >= 0:
        return None
    return ours.total.value / search.total.value * 100 + 0.0  # no negative zero


def _largest_growth(measured: Sequence[Measured], metric: str) -> Row | None:
    growths = [(each.growth(POLICY, metric), each.package) for each in measured]
    known = [(growth, package) for growth, package in growths if growth is not None]
    if not known:
        return None
    growth, package = max(known)
    return {"package": package, "percent": growth}


def _larger(measured: Sequence[Measured], way: str) -> int | None:
    """Objects with more loaded bytes than plain clang's."""
    plain, ours = _pairs(measured, way, "total")
    return sum(b > a for a, b in zip(plain, ours, strict=True)) if plain else None


def _not_smallest(measured: Sequence[Measured]) -> int | None:
    """Objects of K=2 that have more loaded bytes than the smaller of plain clang's and the
    policy's."""
    if not all(K2 in each.sizes for each in measured):
        return None
    return sum(len(not_smallest(each.sizes)) for each in measured)


def not_smallest(sizes: Sizes) -> list[int]:
    """Such modules."""
    place = METRICS.index("total")
    rows = zip(sizes[OZ], sizes[POLICY], sizes[K2], strict=True)
    return [i for i, (a, b, k) in enumerate(rows) if k[place] > min(a[place], b[place])]


def _time(measured: Sequence[Measured], before: str, after: str) -> Row | None:
    if not all(each.seconds for each in measured):
        return None
    plain, policy = ([s for m in measured for s in m.seconds[way]] for way in (before, after))
    found = compare(plain, policy)
    if found is None:
        return None
    total, sure = found.total, found.has_interval
    return {
        "ratio": 1 + total.value,
        "low": 1 + total.low if sure else None,
        "high": 1 + total.high if sure else None,
    }


def _tests(measured: Sequence[Measured]) -> Row | None:
    known = {each.package: each.tests for each in measured if each.tests}
    if not known:
        return None
    return {
        "packages": len(known),
        "passed": sum(each.passed for each in known.values()),
        "total": sum(each.total for each in known.values()),
        "changed_objects": sum(each.changed for each in known.values()),
        "differ": {package: each.differ for package, each in known.items() if each.differ},
    }
