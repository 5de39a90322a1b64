"""Decisions that differ, from the logs of two compiles."""

from __future__ import annotations

import numpy as np
import pytest

from compiler_bridge import TensorSpec
from compiler_bridge.log import LogWriter
from compiler_bridge.scoring import _remarks
from compiler_bridge.scoring._decisions import Asked, Disagreement, read
from compiler_bridge.scoring._remarks import Site

SIZE, NODES = TensorSpec("size", "int64", [1]), TensorSpec("node_count", "int64", [1])
DEFAULT = TensorSpec("inlining_default", "int64", [1])
INLINE = TensorSpec("inlining_decision", "int64", [1])


def recorded(folder, rows, inputs=(SIZE, NODES), sites=()):
    """What `read` makes of rows: the features' values, then the decision."""
    folder.mkdir()
    with LogWriter(folder / "x.log", list(inputs), INLINE) as log:
        for *values, decision in rows:
            features = {spec.name: [value] for spec, value in zip(inputs, values, strict=True)}
            log.write("m", features, {"inlining_decision": [decision]})
    return read(folder, sites)


def test_nothing_recorded(tmp_path):
    assert read(tmp_path / "none") is None
    assert read(tmp_path) is None


def test_the_same_questions(tmp_path):
    """Later questions are the same although an earlier answer has changed the module's counts."""
    before = recorded(tmp_path / "a", [(10, 5, 1), (20, 4, 0), (30, 4, 1), (10, 3, 0)])
    after = recorded(tmp_path / "b", [(10, 5, 0), (99, 5, 1), (20, 5, 0), (10, 5, 1)])
    found = Disagreement()
    found.add("m.o", before, after)
    assert (found.asked_baseline, found.asked_policy, found.compared) == (4, 4, 3)
    first, second = found.differences
    assert (first.module, first.context, first.ordinal) == ("m.o", "m", 0)
    assert (first.baseline, first.policy) == ([1], [0])
    assert first.features == {"size": 10, "node_count": 5}
    assert (second.ordinal, second.baseline, second.policy) == (3, [0], [1])


def test_a_score_is_no_decision(tmp_path):
    """A model that tells how sure it is can be compared with one that does not."""
    before = recorded(tmp_path / "a", [(10, 5, 1), (20, 5, 0)])
    (tmp_path / "b").mkdir()
    score = TensorSpec("inlining_score", "float32", [1])
    with LogWriter(tmp_path / "b/x.log", [SIZE, NODES], [INLINE, score]) as log:
        for size, decision in (10, 0), (20, 0):
            features = {"size": [size], "node_count": [5]}
            log.write("m", features, {"inlining_decision": [decision], "inlining_score": [0.5]})
    found = Disagreement()
    found.add("m.o", before, read(tmp_path / "b"))
    assert found.compared == 2
    (only,) = found.differences
    assert (only.ordinal, only.baseline, only.policy) == (0, [1], [0])


def test_the_heuristic_at_the_same_site(tmp_path):
    rows = [(1, 0, 0), (2, 1, 0), (3, 0, 1), (4, 1, 1)]
    policy = recorded(tmp_path / "a", rows, (SIZE, DEFAULT))
    found = Disagreement(baseline_is_heuristic=True)
    found.add("m.o", None, policy)
    assert found.compared == 4
    assert [each.ordinal for each in found.differences] == [1, 2]
    # Of another baseline it says nothing.
    found = Disagreement()
    found.add("m.o", None, policy)
    assert (found.asked_policy, found.compared) == (4, 0)


def test_sites_by_name(tmp_path):
    sites = [Site("f", "g", True, True), Site("f", "h", False, True)]
    asked = recorded(tmp_path / "a", [(1, 5, 1), (2, 5, 0)], sites=sites)
    assert asked.labels == {"caller": ["f", "f"], "callee": ["g", "h"]}
    found = Disagreement(baseline_is_heuristic=True)
    found.add("m.o", None, asked)
    (only,) = found.differences
    assert only.labels == {"caller": "f", "callee": "h"}
    assert found.symbols() == ["f", "h"]
    found.rename({"h": "ns::h"})
    assert found.differences[0].labels == {"caller": "f", "callee": "ns::h"}
    # Two policies meet at a site even if its features have changed.
    other = recorded(tmp_path / "b", [(1, 9, 1), (7, 9, 1)], sites=[*sites[:1], sites[1]])
    assert "caller" not in other.labels, "remarks that contradict the log were believed"
    same = [Site("f", "g", True, None), Site("f", "h", True, None)]
    other = recorded(tmp_path / "c", [(1, 9, 1), (7, 9, 1)], sites=same)
    plain = [Site("f", "g", True, None), Site("f", "h", False, None)]
    asked = recorded(tmp_path / "d", [(1, 5, 1), (2, 5, 0)], sites=plain)
    found = Disagreement()
    found.add("m.o", asked, other)
    assert found.compared == 2
    assert [each.labels["callee"] for each in found.differences] == ["h"]


def test_decisions_of_the_heuristic_in_place_of_the_policy(tmp_path):
    """They are known, and do not hide what the policy decided elsewhere."""
    sites = [Site("f", "g", False, True), Site("f", "h", True, True, "7 is out of range")]
    asked = recorded(tmp_path / "a", [(1, 5, 0), (2, 5, 1)], sites=sites)
    found = Disagreement(baseline_is_heuristic=True)
    found.add("m.o", None, asked)
    assert (found.asked_policy, found.own_decisions, found.compared) == (2, 1, 2)
    assert found.fallbacks == {"7 is out of range": 1}
    (only,) = found.differences
    assert only.labels == {"caller": "f", "callee": "g"}


def test_logs_of_other_signatures_are_not_joined(tmp_path):
    found = Disagreement()
    one = recorded(tmp_path / "a", [(1, 1)], [SIZE])
    found.add("m.o", one, recorded(tmp_path / "b", [(1, 2, 0)]))
    assert (found.compared, found.differences) == (0, [])


def test_telling_features(tmp_path):
    rows = [(size, 7, 0, int(size > 80)) for size in range(100)]
    found = Disagreement(baseline_is_heuristic=True)
    found.add("m.o", None, recorded(tmp_path / "a", rows, (SIZE, NODES, DEFAULT)))
    ((name, effect),) = found.telling()
    sizes = np.arange(100)
    shift = sizes[81:].mean() - sizes[:81].mean()
    assert (name, effect) == ("size", pytest.approx(shift / sizes.std()))
    assert Disagreement().telling() == []


def test_saved_and_loaded(tmp_path):
    sites = [Site("f", "g", True, None)]
    asked = recorded(tmp_path / "a", [(1, 5, 1)], sites=sites)
    asked.save(tmp_path / "x.npz")
    again = Asked.load(tmp_path / "x.npz")
    assert list(again.keys()) == list(asked.keys())
    assert (again.labels, again.names) == (asked.labels, asked.names)
    assert again.decisions.tolist() == [[1]]


def test_what_is_damaged_is_not_loaded(tmp_path):
    file = tmp_path / "x.npz"
    recorded(tmp_path / "a", [(1, 5, 1), (2, 5, 1)]).save(file)
    with np.load(file) as stored:
        arrays = dict(stored)
    changes = {
        "contexts": np.array(["m"]),
        "names": np.array(["size"]),
        "features": np.array([["a", "b"], ["c", "d"]]),
        "decisions": np.array([1.0, 0.0]),
        "label caller": np.array(["f"]),
    }
    for name, wrong in changes.items():
        np.savez(file, **{**arrays, name: wrong})
        with pytest.raises(ValueError, match=r"columns|table|name"):
            Asked.load(file)


REMARKS = """\
--- !Passed
Pass:            cbridge
Name:            Inlined
Function:        main
Args:
  - String:          ''''
  - Callee:          '_Z1fIc''d'
  - Caller:          main
  - Model:           'constant:1'
  - Default:         would not
...
--- !Missed
Pass:            cbridge
Name:            NotInlined
Args:
  - Callee:          "x\\ty"
  - Caller:          main
  - Fallback:        gone
...
--- !Missed
Pass:            cbridge
Name:            Other
...
--- !Analysis
Pass:            cbridge
Name:            Grown
Args:
  - Callee:          f
  - Caller:          main
...
"""


def test_remarks(tmp_path):
    file = tmp_path / "x.yaml"
    assert _remarks.read(file) == []
    file.write_text(REMARKS)
    assert _remarks.read(file) == [
        Site("main", "_Z1fIc'd", True, False),
        Site("main", "x\ty", False, False, "gone"),
    ]
