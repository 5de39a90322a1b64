"""The pieces of the benchmarks on which their verdicts rest."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler_bridge import Runner

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(autouse=True)
def _bench_importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(BENCH))
    yield
    for name in [n for n in sys.modules if n.startswith(("_inline", "_cost", "_make", "_native"))]:
        del sys.modules[name]


def test_marked_lines_are_counted() -> None:
    from _cost_lines import count

    text = """
#include <cbridge/MLModelRunner.h>
auto Runner = open(); // cbridge
int Other = 0;
  // cbridge: begin
  // why
  Runner.ask(

      Site);
  // cbridge: end
more(); // cbridge is not at the end
"""
    assert count(text, "x.cpp").lines == 3
    assert count("x" * 100 + "; // cbridge\n", "x.cpp").folded == 2


@pytest.mark.parametrize("text", ["// cbridge: begin\n", "// cbridge: end\n"])
def test_half_a_marker_is_an_error(text: str) -> None:
    from _cost_lines import count

    with pytest.raises(SystemExit, match=r"x\.cpp.*other half"):
        count(text, "x.cpp")


def test_every_pass_of_the_cost_benchmark_is_marked() -> None:
    from _cost_lines import rows

    lines = {row["pass"]: row["lines"] for row in rows()}
    assert lines["new-pass"] == 3
    assert all(count > 0 for count in lines.values())


def test_records_that_differ_are_counted() -> None:
    from _inline_check import differing

    one = {"a": np.array([[1, 0], [2, 1], [3, 1]])}
    assert differing(one, one) == 0
    assert differing(one, {"a": np.array([[1, 0], [2, 0]])}) == 2  # another, and one missing
    assert differing(one, {"b": np.array([[1, 0]])}) == 4


def test_the_border_lies_in_the_widest_gap() -> None:
    from _inline_policy import widest_gap

    logits = np.concatenate([np.linspace(-1, -0.01, 200), np.linspace(0.05, 1, 200)])
    assert widest_gap(logits) == pytest.approx(0.02)


def test_a_policy_is_the_same_in_numpy_and_onnx(tmp_path: Path) -> None:
    from _inline_policy import DECISION, DEFAULT, fit, write_onnx

    random = np.random.default_rng(3)
    names = [f"feature_{i}" for i in range(38)]
    x = random.integers(-1000, 1000, (400, 38))
    decisions = (x[:, 0] + x[:, 1] > 0).astype(np.int64)
    policy = fit(names, x, decisions)
    wanted = policy.logits(x) > 0
    assert np.mean(wanted == decisions) > 0.6  # it has learnt something
    write_onnx(policy, False, tmp_path / "policy.onnx")
    write_onnx(policy, True, tmp_path / "equal.onnx")
    with (
        Runner(f"onnx:{tmp_path}/policy.onnx?on_error=fail") as own,
        Runner(f"onnx:{tmp_path}/equal.onnx?on_error=fail") as equal,
    ):
        for i, row in enumerate(x[:50]):
            features = {name: row[k : k + 1] for k, name in enumerate(names)}
            assert own.evaluate(features)[DECISION].item() == wanted[i]
            default = i % 3 == 0
            said = equal.evaluate(features | {DEFAULT: np.array([default], np.int64)})
            assert said[DECISION].item() == default


def test_outputs_of_test_suites_are_read() -> None:
    from _inline_suites import automake, ctest, m4_checks, run_make_tests, runtests

    assert automake("PASS: a\nSKIP: b\nXFAIL: c\nFAIL: d.sh\nPASS: a\n# PASS:  2\n") == {
        "a": True,
        "d.sh": False,
        "a (2)": True,
    }
    printed = """\
      Start  1: one
 1/3 Test  #1: one ..............   Passed    0.01 sec
 2/3 Test  #2: two ..............***Failed    0.02 sec
 3/3 Test #3: three_is_longer ...***Exception: SegFault  1.62 sec
"""
    assert ctest(printed) == {"one": True, "two": False, "three_is_longer": False}
    assert runtests("obj/test/a_test      PASS\nobj/test/b_test    FAIL; output in x\n") == {
        "obj/test/a_test": True,
        "obj/test/b_test": False,
    }
    printed = """\
Finding tests...

features/archives ......... ok     (2 passed)
features/dash-W ...........
*** Test died (features/dash-W): x
FAILED (1/2 passed)
options/none .............. FAILED (no tests found!)
vms/library ............... N/A

3 Tests in 1 Category Complete
"""
    assert run_make_tests(printed) == {
        "features/archives 1": True,
        "features/archives 2": True,
        "features/dash-W 1": True,
        "features/dash-W 2": False,
        "options/none": False,
    }
    assert run_make_tests("make: *** no such target\n") == {}
    checks = "Checking ./1.a\nChecking ./2.b\nChecking ./3.c\n"
    ended = "Skipped checks were:\n  ./3.c\nFailed checks were:\n  ./2.b:out ./2.b:err\nPASS: d\n"
    assert m4_checks(checks + ended) == {"d": True, "./1.a": True, "./2.b": False}
    assert not any(m4_checks(checks).values())  # it was ended


def test_only_tests_that_pass_with_plain_clang_count() -> None:
    from _inline_tests import compare_results

    plain = {"a": True, "b": True, "c": False, "d": True}
    found = compare_results(plain, {"a": True, "b": False, "c": True, "e": True})
    assert (str(found), found.differ) == ("1/3", ["b", "d"])


def test_a_test_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    from _inline_tests import run_to_end

    # `set -m` gives it a process group of its own.
    script = "set -m; sleep 1000 & echo $! >pid; exec sleep 1000"
    with open(tmp_path / "log", "wb") as log:
        assert run_to_end(["bash", "-c", script], dict(os.environ), tmp_path, log, 0.5) is None
        assert run_to_end(["sh", "-c", "exit 3"], dict(os.environ), tmp_path, log, 60) == 3
    started = int((tmp_path / "pid").read_text())
    state = Path(f"/proc/{started}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def _measured() -> list[Any]:
    from _inline_summary import (
        CLANG_DRIVER,
        K2,
        K8,
        OUR_DRIVER,
        OZ,
        POLICY,
        SEARCH,
        THRESHOLDS,
        Measured,
        threshold_name,
    )
    from _inline_tests import Tested

    def sizes(*text: int) -> list[list[int]]:
        return [[size, 2 * size] for size in text]

    c = Measured("sed", 2, {OZ: sizes(1000, 1000), POLICY: sizes(1010, 1000)})
    c.sizes |= {K2: sizes(1000, 1000), K8: sizes(990, 1000), SEARCH: sizes(980, 1000)}
    cxx = Measured("re2", 1, {OZ: sizes(2000), POLICY: sizes(1900)})
    cxx.sizes |= {K2: sizes(1900), K8: sizes(1850), SEARCH: sizes(1820)}
    for each in (c, cxx):
        for threshold in THRESHOLDS:
            changed = [[a + abs(threshold - 10), b] for a, b in each.sizes[OZ]]
            each.sizes[threshold_name(threshold)] = changed
        times = {OZ: 1.0, POLICY: 1.04, CLANG_DRIVER: 1.2, OUR_DRIVER: 1.248}
        each.seconds = {way: [time] * each.modules for way, time in times.items()}
        each.tests = Tested(10, 10, [], changed=1)
    return [c, cxx]


def test_sizes_are_summed_up_and_judged() -> None:
    from _inline_summary import K2, K8, POLICY, choose_threshold, summarize
    from _inline_verdict import judge, remarks, table

    measured = _measured()
    assert choose_threshold(measured) == 10
    found = summarize(measured, 10)
    change = found["all"]["change"]
    assert change[POLICY]["text"]["percent"] == pytest.approx(-2.25)
    assert found["C"]["change"][POLICY]["text"]["percent"] == pytest.approx(0.5)
    assert found["C++"]["change"][K8]["total"]["percent"] == pytest.approx(-7.5)
    assert found["all"]["captured"][K8]["text"] == pytest.approx(80)
    assert found["points_better_than_threshold"]["text"] == pytest.approx(2.25)
    assert found["largest_growth"]["text"] == {"package": "sed", "percent": pytest.approx(0.5)}
    assert found["larger_than_plain"] == {K2: 0, K8: 0}
    assert found["not_smallest"] == 0
    assert found["compile_time"]["ratio"] == pytest.approx(1.04)
    assert found["compile_time_of_drivers"]["ratio"] == pytest.approx(1.04)
    assert {goal["what"]: goal["met"] for goal in judge(found)} == {
        "policy: text, %": True,
        "policy: text, %, floor": True,
        "policy: points better than the best threshold": True,
        "K=2: text, %": True,
        "K=2: text, %, floor": True,
        "K=8: text, % of the search's gain": True,
        "K=8: text, % of the search's gain, floor": True,
        "policy: largest growth of a package, %": True,
        "K=2: objects larger than plain clang's": True,
        "K=8: objects larger than plain clang's": True,
        "K=2: objects larger than plain's or the policy's": True,
        "policy: CPU time / plain": True,
        "cbridge-clang: CPU time / clang": True,
        "tests that pass with plain clang only": True,
        "tested objects that the policy changed": True,
    }
    assert "re2" in table(measured, found)
    assert "1.040 times" in remarks(measured, found)
    row = measured[1].row()
    sizes = [f"{way}_text" for way in ("oz", "policy", "threshold", "k2", "k8", "best_search")]
    assert {"package", "modules", "oz_total", "policy_total", *sizes} <= row.keys()
    assert (row["oz_seconds"], row["policy_seconds"]) == (1.0, 1.04)
    assert (row["language"], row["k8_total"], row["tests"]) == ("C++", 3700, "10/10")


def test_too_few_modules_have_no_intervals() -> None:
    from _inline_summary import POLICY, choose_threshold, summarize
    from _inline_verdict import remarks, table

    measured = _measured()
    few = summarize(measured, choose_threshold(measured))
    assert few["all"]["change"][POLICY]["text"]["low"] is None
    assert "95 %" not in remarks(measured, few)
    assert " to " not in table(measured, few)
    many = summarize(measured * 2, choose_threshold(measured))
    assert many["all"]["modules"] == 6
    assert many["all"]["change"][POLICY]["text"]["low"] < -2.25
    assert "(95 % interval 1.040 to 1.040)" in remarks(measured, many)


def test_a_part_of_the_modules_is_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    from _inline_report import print_goals
    from _inline_summary import choose_threshold, summarize
    from _inline_verdict import judge, unjudged

    measured = _measured()
    measured[0].tests = measured[1].tests = None
    goals = unjudged(judge(summarize(measured, choose_threshold(measured))))
    assert {goal["met"] for goal in goals} == {None}
    print_goals(goals)
    printed = capsys.readouterr().out
    assert (printed.count("not judged"), printed.count("not measured")) == (13, 2)


def test_a_policy_that_is_worse_than_a_threshold_is_called_so() -> None:
    from _inline_summary import choose_threshold, summarize
    from _inline_verdict import remarks

    measured = _measured()
    found = summarize(measured, choose_threshold(measured))
    found["points_better_than_threshold"] = {"text": -2.671, "total": 0.001}
    assert "worse by 2.67 points (text), equal (all loaded bytes)" in remarks(measured, found)


def test_what_was_not_measured_is_no_goal_that_is_met() -> None:
    from _inline_summary import K2, K8, choose_threshold, summarize
    from _inline_verdict import judge, remarks, table

    measured = _measured()
    for each in measured:
        del each.sizes[K2], each.sizes[K8]
        each.seconds, each.tests = {}, None
    found = summarize(measured, choose_threshold(measured))
    unknown = [goal["what"] for goal in judge(found) if goal["met"] is None]
    assert len(unknown) == 11
    assert measured[0].row()["k2_text"] is None
    assert table(measured, found)
    assert remarks(measured, found)


def test_a_budget_that_keeps_a_larger_object_is_seen() -> None:
    from _inline_summary import K2, choose_threshold, summarize
    from _inline_verdict import judge

    measured = _measured()
    measured[1].sizes[K2] = [[2000, 4001]]
    found = summarize(measured, choose_threshold(measured))
    assert (found["larger_than_plain"][K2], found["not_smallest"]) == (1, 1)
    missed = [goal["what"] for goal in judge(found) if goal["met"] is False]
    assert "K=2: objects larger than plain clang's" in missed


def test_a_search_that_has_changed_is_another_one(tmp_path: Path) -> None:
    from _inline_sizes import folder_digest

    (tmp_path / "a.log").write_bytes(b"1")
    first = folder_digest(tmp_path)
    assert folder_digest(tmp_path) == first
    (tmp_path / "a.log").write_bytes(b"2")
    second = folder_digest(tmp_path)
    (tmp_path / "b.log").write_bytes(b"")
    assert len({first, second, folder_digest(tmp_path)}) == 3


def test_only_packages_that_are_named_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import _inline_corpus

    fetched = []

    def fetch(packages: list[str], folder: Path, least: int) -> Path:
        fetched.append((packages, folder.name, least))
        return folder

    monkeypatch.setattr(_inline_corpus, "fetch", fetch)
    every, folder = ["re2", "sed", "m4"], tmp_path / "all"
    _inline_corpus.fetch_some(["re2", "m4"], every, folder, 9)
    _inline_corpus.fetch_some(every, every, folder, 9)
    folder.mkdir()
    (folder / "complete").write_text("re2\nsed\nm4\n")
    _inline_corpus.fetch_some(["m4"], every, folder, 9)
    assert fetched == [(["re2", "m4"], "all-re2-m4", 1), (every, "all", 9), (every, "all", 9)]
