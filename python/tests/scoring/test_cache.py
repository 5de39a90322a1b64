"""Entries of the cache that are damaged are as good as none."""

from __future__ import annotations

import json

import pytest

from compiler_bridge.scoring import Cache, _stored

from .conftest import MUCH

MEASURED = {"text": 3, "total": 5, "instructions": 7, "seconds": 0.5, "said": []}
RAN = {"instructions": 9, "runs": [[0, "digest", "text"]]}
NAME = "abcd"


def test_what_was_put_there():
    found = _stored.measurement(MEASURED)
    assert (found.text, found.total, found.instructions) == (3, 5, 7)
    assert found.seconds is None
    assert _stored.measurement({**MEASURED, "instructions": None}).instructions is None
    assert _stored.outcome(RAN, 1).runs == ((0, "digest", "text"),)
    assert _stored.outcome({**RAN, "instructions": None}, 1).instructions is None


@pytest.mark.parametrize("entry", [None, [], {}, 3, "x", [[]], {"text": {}}])
def test_other_shapes(entry):
    assert _stored.measurement(entry) is None
    assert _stored.outcome(entry, 1) is None


@pytest.mark.parametrize("value", ["3", -1, 1.5, True, [], 1 << 63])
def test_what_is_no_count(value):
    assert _stored.measurement({**MEASURED, "text": value}) is None
    assert _stored.measurement({**MEASURED, "instructions": value}) is None
    assert _stored.outcome({**RAN, "instructions": value}, 1) is None


@pytest.mark.parametrize(
    "runs", [None, {}, [], [[0, "a"]], ["abc"], [["0", "a", "b"]], [[0, "a", "b"]] * 2]
)
def test_what_is_no_run(runs):
    assert _stored.outcome({**RAN, "runs": runs}, 1) is None


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b"PK\x03\x04 no archive"])
def test_files_that_cannot_be_read(content, tmp_path):
    folder = tmp_path / "score" / NAME[:2]
    folder.mkdir(parents=True)
    for ending in ("json", "npz"):
        (folder / f"{NAME}.{ending}").write_bytes(content)
    cache = Cache(tmp_path)
    assert cache.get(NAME) is None
    assert cache.get_decisions(NAME) is None


def test_a_damaged_cache_changes_nothing(corpus, describe, score, cache, tmp_path):
    describe(expected="expected.txt")
    file = tmp_path / "x.json"

    def run():
        done = score(corpus, MUCH, "--json", file)
        assert done.status == 0, done.err
        result = json.loads(file.read_text())
        return result["baselines_from_cache"], result["metrics"]["text"], result["programs"]

    _, *figures = run()
    entries = sorted(cache.rglob("*.json"))
    assert len(entries) == 7, "six modules and a program"
    assert run() == (6, *figures)
    for wrong in ("{}", "[]"):
        for entry in entries:
            entry.write_text(wrong)
        assert run() == (0, *figures)
    assert run() == (6, *figures)
