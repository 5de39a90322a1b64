"""The report: one file, well-formed, that loads nothing and shows what it should."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from compiler_bridge.scoring import _html, _plots, _svg, _table, _words
from compiler_bridge.scoring._decisions import Difference, Disagreement
from compiler_bridge.scoring._measure import Measurement
from compiler_bridge.scoring._result import Failure, Pair, ProgramPair, Score

EVIL = "<script>alert(1)</script>\"'&"


class Page(HTMLParser):
    """Elements that are all closed, in order; and all text."""

    VOID = frozenset(["meta"])

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: dict[str, int] = {}
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def scored(count=20, factor=0.9, **fields):
    pairs = [
        Pair(
            f"m{i}.o",
            Measurement(1000 + i, 2000 + i, 300, 0.5),
            Measurement(int((1000 + i) * (factor if i % 4 else 1)), 2000 + i, 301, 0.5),
        )
        for i in range(count)
    ]
    return Score("a/corpus", "native:p.so", "heuristic:", "clang 19", pairs=pairs, **fields)


def rich():
    found = Disagreement(asked_policy=9, compared=4)
    found.differences.append(
        Difference("m1.o", EVIL, 3, [0.0], [1.0], {"size": 7.0}, {"caller": EVIL})
    )
    result = scored(disagreement=found)
    result.pairs.append(Pair(EVIL, Measurement(0, 0, 0, None), Measurement(9, 9, 9, 1.0, (EVIL,))))
    result.programs += [
        ProgramPair("good", 1000, 1010, None),
        ProgramPair("bad", 1000, 1010, EVIL),
        ProgramPair("uncounted", None, None, None),
    ]
    result.broken.append(Failure(EVIL, "policy", EVIL))
    result.broken_programs.append(Failure(EVIL, "", EVIL))
    return result


@pytest.mark.parametrize("make", [scored, rich, lambda: scored(1), lambda: scored(factor=1)])
def test_the_page_is_whole_and_alone(make):
    page = Page(html := _html.report(make()))
    assert {"script", "link", "img", "iframe", "object", "base", "form"}.isdisjoint(page.seen)
    for name, value in page.attributes:
        assert name not in ("src", "href", "srcset", "action", "style"), value
        assert not name.startswith("on")
    assert not re.search(r"https?:|url\(|@import", html)
    assert "default-src 'none'" in html
    assert "prefers-color-scheme: dark" in html
    assert "nan" not in re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL).lower()


def test_names_are_text():
    page = Page(_html.report(rich()))
    assert page.text.count(EVIL) >= 5


def test_what_it_shows():
    result = rich()
    page = Page(_html.report(result))
    assert page.seen["svg"] >= 3
    assert _words.verdict(result) in page.text
    for part in ("Summary", "Best modules", "Worst modules", "Decisions that differ", "Programs"):
        assert part in page.text
    assert "All 21 modules" in page.text
    better = Page(_html.report(scored()))
    assert f"{_words.MINUS}7" in better.text


def test_a_large_corpus_is_cut():
    page = Page(_html.report(scored(2100)))
    assert "100 more are in the CSV file." in page.text
    assert page.seen["tr"] < 2100


def test_the_histogram_counts_each_module_once():
    changes = [-0.5, -0.02, -0.01, -0.001, 0.0, 0.0, 0.003, 0.02, 3.0]
    told = re.findall(r"<title>([^<]*): (\d+) modules?</title>", _plots.histogram(changes, "text"))
    assert sum(int(count) for _, count in told) == len(changes)
    assert dict(told)["no change"] == "2"
    assert "4 smaller" in _plots.histogram(changes, "text")
    assert "3 larger" in _plots.histogram(changes, "text")


def test_plots_of_extremes():
    for changes in ([0.0], [1e-9], [-1.0, 1e6], [0.001] * 1000):
        shapes = _plots.histogram(changes, "text")
        shapes += _plots.scatter([("m", 10.0, change) for change in changes], "text")
        for value in re.findall(r' (?:x|y|cx|cy|width|height)="(-?[\d.]+)"', shapes):
            assert -1 <= float(value) <= _svg.WIDTH + 1


def test_ticks():
    assert _svg.ticks(0, 1, 5) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert _svg.ticks(-0.03, 0.02, 5) == pytest.approx([-0.03, -0.02, -0.01, 0, 0.01, 0.02])
    assert _svg.ticks(3, 3) == [3]


def test_words():
    assert _words.percent(-0.00412) == f"{_words.MINUS}0.41 %"
    assert _words.percent(0.00001) == "0.00 %"
    assert _words.percent(-0.00001) == "0.00 %"
    assert _words.percent(0.5) == "+50.00 %"
    assert _words.verdict(scored()).startswith(f"Better: text {_words.MINUS}7.")
    assert _words.verdict(scored(factor=1)) == "Identical: text is the same, over 20 modules."
    assert _words.verdict(scored(2)) == (
        f"Too few to tell: text {_words.MINUS}5.05 %, over only 2 modules; a verdict takes at "
        "least 6."
    )
    assert "nothing to compare" in _words.verdict(scored(metric="executed"))


def test_no_intervals_of_too_few():
    few, enough = scored(5), scored(6)
    assert " to " not in _table.table(few)
    assert " to " in _table.table(enough)
    for result, class_ in ((few, "same"), (enough, "better")):
        assert ("whisker" in _plots.intervals(result)) == (result is enough)
        assert f'<g class="{class_}">' in _plots.intervals(result)
    assert "95 % interval" not in _plots.intervals(few).replace("with 95 % intervals", "")
    shown = re.sub(r"<style>.*?</style>", "", _html.report(few), flags=re.DOTALL)
    assert not re.search(r"\d to \S?\d", shown)
    assert re.search(r"\d to \S?\d", _html.report(enough))


def test_figures_of_the_scatter():
    points = [("m", 9670.0, 0.0002), ("n", 12.5, 0.0)]
    shapes = _plots.scatter(points, "text")
    assert "m: 9,670 bytes of text, +0.02 %" in shapes
    assert "bytes of text by the baseline" in shapes
    assert not re.search(r"\d%", shapes)
    assert "n: 12.50 seconds of compile time, 0.00 %" in _plots.scatter(points, "seconds")


def test_long_names_are_cut():
    name = "std::" + "vector<" * 40 + ">::insert"
    result = rich()
    found = result.disagreement.differences
    found[0] = dataclasses.replace(found[0], labels={"caller": name, "callee": "short"})
    page = Page(_html.report(result))
    assert name not in page.text
    assert f"{name[:39]}\N{HORIZONTAL ELLIPSIS}{name[-40:]}" in page.text
    assert ("title", name) in page.attributes


def test_whether_a_policy_decided():
    said = Measurement(1000, 2000, 300, 0.5, ("cbridge: by x: the peer is gone",))
    result = scored(factor=1)
    result.pairs = [Pair(pair.module, pair.baseline, said) for pair in result.pairs]
    assert result.did_not_decide
    assert "in all of 20 modules the heuristic did; by x: the peer is gone" in _words.verdict(
        result
    )
    # It was asked, and answered, before it was gone.
    result.disagreement = Disagreement(asked_policy=9)
    assert not result.did_not_decide
    (warning,) = _words.warnings(result)
    assert "fell back to the heuristic in 20 of 20 modules" in warning
    result.disagreement = Disagreement()
    assert result.did_not_decide


def test_whether_a_policy_decided_in_part():
    line = "cbridge: by x: 7 is out of range; LLVM's own heuristic decides where the model does not"
    result = scored(disagreement=Disagreement(asked_policy=524))
    result.pairs = [
        Pair(pair.module, pair.baseline, dataclasses.replace(pair.policy, said=(line,)))
        for pair in result.pairs
    ]
    result.disagreement.fallbacks["7 is out of range"] = 8
    assert not result.did_not_decide
    assert _words.warnings(result) == ["8 of 524 decisions were LLVM's, since 7 is out of range"]
    result.disagreement.fallbacks["the peer is gone"] = 516
    assert result.did_not_decide
    assert _words.warnings(result) == []
    # Without a record: only if what it made differs.
    result.disagreement = None
    assert not result.did_not_decide
    assert "in 20 of 20 modules: by x: 7 is out of range" in _words.warnings(result)[0]
    result.pairs = [
        Pair(pair.module, pair.baseline, dataclasses.replace(pair.baseline, said=(line,)))
        for pair in result.pairs
    ]
    assert result.did_not_decide
    assert _words.verdict(result).startswith(
        "The policy did not decide, or only as the heuristic does: in all of 20 modules it failed; "
    )
    # A policy that abstains says nothing about it.
    result = scored(disagreement=Disagreement(asked_policy=3, fallbacks=Counter({"no log": 3})))
    assert _words.verdict(result).startswith(
        "The policy did not decide: in all of 20 modules the heuristic did; no log."
    )


def test_what_points_the_other_way_is_told():
    """Smaller text that is paid for with larger tables is no plain win."""
    result = scored()
    result.pairs = [
        Pair(p.module, p.baseline, Measurement(p.policy.text, p.baseline.total + 50, 300, 0.5))
        for p in result.pairs
    ]
    verdict = _words.verdict(result)
    assert verdict.startswith("Better: ")
    assert verdict.endswith("But worse: all loaded bytes +2.49 %.")
