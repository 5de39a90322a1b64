"""What a policy adds to a compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler_bridge.scoring import Policy, ScoreError


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "plugin.so"
    path.write_bytes(b"a plugin")
    return path


def test_plain_clang(monkeypatch):
    monkeypatch.setenv("CBRIDGE_INLINE_MODEL", "native:other")
    monkeypatch.setenv("CBRIDGE_DISABLE", "1")
    policy = Policy.parse("heuristic:")
    assert policy.arguments == ()
    assert not policy.asks_a_model
    assert not policy.records
    assert "CBRIDGE_INLINE_MODEL" not in policy.environment()


def test_flags():
    policy = Policy.parse("flags:-mllvm '-x=a b' -O3")
    assert policy.arguments == ("-mllvm", "-x=a b", "-O3")
    with pytest.raises(ScoreError, match="No closing quotation"):
        Policy.parse("flags:'-x")


def test_a_model(plugin, monkeypatch):
    monkeypatch.setenv("CBRIDGE_DISABLE", "1")
    policy = Policy.parse("native:m.so?level=x86-64", str(plugin))
    assert policy.arguments == (f"-fpass-plugin={plugin}",)
    assert policy.code_arguments == ()
    assert policy.environment()["CBRIDGE_INLINE_MODEL"] == "native:m.so?level=x86-64"
    assert "CBRIDGE_DISABLE" not in policy.environment()
    recorded = policy.recorded(Path("/tmp/a b"))
    assert recorded.text == "native:m.so?level=x86-64&record=/tmp/a%20b/"
    assert Policy.parse("constant:1", str(plugin)).recorded(Path("/x")).text == (
        "constant:1?record=/x/"
    )
    assert not Policy.parse("constant:1?record=/mine/", str(plugin)).records


def test_mistakes(tmp_path):
    with pytest.raises(ScoreError, match="'nonsense' is no policy"):
        Policy.parse("nonsense")
    with pytest.raises(ScoreError, match=r"--plugin .*/none\.so: there is no such file"):
        Policy.parse("constant:1", f"{tmp_path}/none.so")


def test_what_decisions_depend_on(plugin, tmp_path):
    model = tmp_path / "m 1.so"
    model.write_bytes(b"one")
    weights = tmp_path / "w"
    weights.write_bytes(b"one")
    text = f"native:{tmp_path}/m%201.so?weights={weights}"
    seen = []
    for change in (None, model, weights, plugin):
        if change:
            change.write_bytes(b"two")
        seen.append(str(Policy.parse(text, str(plugin)).fingerprint()))
    assert len(set(seen)) == 4
    logs = tmp_path / "logs"
    logs.mkdir()
    replay = Policy.parse(f"replay:{logs}/", str(plugin))
    before = replay.fingerprint()
    (logs / "x.log").write_bytes(b"")
    assert replay.fingerprint() != before


def test_files_in_flags(tmp_path):
    profile = tmp_path / "p.prof"
    profile.write_bytes(b"one")
    policy = Policy.parse(f"flags:-fprofile-sample-use={profile}")
    before = policy.fingerprint()
    profile.write_bytes(b"two")
    assert policy.fingerprint() != before


def test_pipes_are_asked_by_one_at_a_time(plugin):
    assert Policy.parse("pipe:/tmp/x", str(plugin)).takes_turns
    assert not Policy.parse("shm:x", str(plugin)).takes_turns


def test_peers_may_change_their_mind(plugin):
    for text in ("shm:x", "pipe:/tmp/x", "grpc:localhost:1", "native:m.so?spawn=x"):
        assert not Policy.parse(text, str(plugin)).is_reproducible
    for text in ("native:m.so", "onnx:m.onnx", "constant:1"):
        assert Policy.parse(text, str(plugin)).is_reproducible
