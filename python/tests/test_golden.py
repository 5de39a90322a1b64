"""The bytes on the wire, from Python's view.

`tests/golden` holds them; `cases.json` there tells what they mean. Each file is met from both
sides: as what a compiler sends to a peer in Python, and as what a compiler in Python sends.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, message_factory

from compiler_bridge import BridgeError, CompilerInterface, Runner, TensorSpec

GOLDEN = Path(__file__).parents[2] / "tests" / "golden"
CASES = json.loads((GOLDEN / "cases.json").read_text())
MESSAGES = [
    pytest.param(message["tensors"], serdes, (GOLDEN / file).read_bytes(), id=Path(file).stem)
    for message in CASES["messages"]
    for serdes, file in message["files"].items()
]
SESSION, RUNNER = 0x1112131415161718, 0x01020304


def specs(tensors):
    return [TensorSpec.from_raw((t["name"], t["type"], tuple(t["shape"]))) for t in tensors]


def values(tensor):
    """What a tensor of cases.json holds, as NumPy or as lists of str."""
    spec = TensorSpec.from_raw((tensor["name"], tensor["type"], tuple(tensor["shape"])))
    if spec.dtype == "str":
        return tensor["values"]
    numbers = [float(v) if isinstance(v, str) else v for v in tensor["values"]]
    return np.array(numbers, spec.dtype).reshape(tensor["extents"])


def same(value, expected):
    if isinstance(expected, list):
        return value == expected
    same_kind = value.dtype == expected.dtype and value.shape == expected.shape
    return same_kind and value.tobytes() == expected.tobytes()


def hello(serdes, features, decision):
    def listed(tensors):
        return [{key: t[key] for key in ("name", "type", "shape")} for t in tensors]

    said = {"serdes": serdes, "features": listed(features), "decision": listed(decision)}
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False).encode()


def test_a_header_is_64_bytes(wire):
    case = CASES["frame_header"]
    data = (GOLDEN / case["file"]).read_bytes()
    fields = ("flags", "runner", "session", "sequence", "reward", "version")
    made = wire.header(case["kind"], case["length"], **{key: case[key] for key in fields})
    assert len(data) == 64
    assert made == data
    assert case["magic"].encode() == data[:4]


def test_a_peer_understands_the_hello(wire, served, raw_compiler):
    case = CASES["hello"]
    peer = served(lambda request: {"inline": True, "why": [0.5, 2]})
    compiler = raw_compiler()
    compiler.send(wire.frame(wire.HELLO, (GOLDEN / case["file"]).read_bytes(), session=SESSION))
    header, payload = compiler.receive_frame()
    assert (header.kind, header.flags, header.session, header.sequence) == (
        wire.WELCOME,
        0,
        SESSION,
        0,
    )
    assert json.loads(payload) == {"decision": case["decision"]}

    # Extents of what is not fixed, and the size of strings; then every tensor on 64 bytes.
    question = b"".join(
        wire.padded(part)
        for part in (
            struct.pack("<qq", 0, 300) + struct.pack("<q", 16 + 4),
            struct.pack("<q", -5),  # callee_users
            b"",  # embedding, without rows
            struct.pack("<QQ", 0, 4) + b"text",  # offsets, then characters
            b"",  # no elements
        )
    )
    compiler.send(wire.frame(wire.REQUEST, question, session=SESSION, sequence=1, runner=RUNNER))
    header, payload = compiler.receive_frame()
    assert (header.kind, header.flags, header.runner, header.session, header.sequence) == (
        wire.REPLY,
        0,
        RUNNER,
        SESSION,
        1,
    )
    assert payload == b"".join(
        wire.padded(part) for part in (struct.pack("<q", 2), b"\1", struct.pack("<dd", 0.5, 2))
    )
    (request,) = peer.seen
    assert [TensorSpec.from_raw(raw) for raw in request._inputs] == specs(case["features"])
    assert [TensorSpec.from_raw(raw) for raw in request._outputs] == specs(case["decision"])
    assert (request.session, request.runner) == (SESSION, RUNNER)
    assert request["callee_users"].tolist() == [-5]
    assert request["embedding"].shape == (0, 300)
    assert request['a "name"\n'] == "text"
    assert request["é"].shape == (2, 0, 4)


def test_a_compiler_says_the_hello(wire, raw_peer, address):
    case = CASES["hello"]
    errors = []

    def connect():
        try:
            inputs, outputs = specs(case["features"]), specs(case["decision"])
            Runner(f"{address}?serdes=bitstream&on_error=fail", inputs, outputs)
        except BridgeError as error:
            errors.append(error)

    thread = threading.Thread(target=connect)
    thread.start()
    header, payload = raw_peer.receive_frame()
    assert header[:5] == (b"CBRG", 1, wire.HELLO, 0, 0)
    assert header.sequence == 0
    assert header.session != 0
    assert payload == (GOLDEN / case["file"]).read_bytes()
    raw_peer.send(
        wire.frame(wire.FAILURE, b"not today", session=header.session, flags=wire.ENDS_SESSION)
    )
    thread.join(20)
    assert [error.code for error in errors] == ["peer_closed"]
    assert "not today" in str(errors[0])


@pytest.mark.parametrize(("tensors", "serdes", "data"), MESSAGES)
def test_a_peer_reads_and_writes_the_message(tensors, serdes, data, wire, served, raw_compiler):
    """The features are the decision, once as they came and once from plain values."""
    seen = []

    def policy(request):
        seen.append(dict(request))
        if len(seen) == 1:
            return seen[0]
        return {t["name"]: values(t) for t in tensors}

    served(policy)
    compiler = raw_compiler()
    compiler.send(wire.frame(wire.HELLO, hello(serdes, tensors, tensors)))
    assert compiler.receive_frame()[0].kind == wire.WELCOME
    for sequence in (1, 2):
        compiler.send(wire.frame(wire.REQUEST, data, sequence=sequence))
        header, payload = compiler.receive_frame()
        assert (header.kind, header.sequence) == (wire.REPLY, sequence)
        assert payload == data
    for request in seen:
        assert list(request) == [t["name"] for t in tensors]
        for tensor in tensors:
            assert same(request[tensor["name"]], values(tensor)), tensor["name"]


@pytest.mark.parametrize(("tensors", "serdes", "data"), MESSAGES)
def test_a_compiler_writes_the_message(tensors, serdes, data, wire, raw_peer, asking):
    question = {t["name"]: values(t) for t in tensors}
    decision = TensorSpec("y", "int64")
    asked = asking(specs(tensors), decision, [question], f"?serdes={serdes}")
    header, said = raw_peer.receive_frame()
    y = [{"name": "y", "type": "int64_t", "shape": [1]}]
    assert json.loads(said) == json.loads(hello(serdes, tensors, y))
    welcome = json.dumps({"decision": y}).encode()
    raw_peer.send(wire.frame(wire.WELCOME, welcome, session=header.session))
    request, payload = raw_peer.receive_frame()
    assert (request.kind, request.flags, request.session, request.sequence) == (
        wire.REQUEST,
        0,
        header.session,
        1,
    )
    assert payload == data
    reply = {
        "bitstream": wire.padded(struct.pack("<q", 9)),
        "json": b'{"y":{"type":"int64_t","shape":[1],"values":[9]}}',
        "protobuf": b"\n\x12\n\x01y\x10\x05\x1a\x01\x01*\x08" + struct.pack("<q", 9),
    }[serdes]
    fields = {"session": header.session, "sequence": 1, "runner": request.runner}
    raw_peer.send(wire.frame(wire.REPLY, reply, **fields))
    assert [answer["y"].tolist() for answer in asked.result()] == [[9]]
    # The end of the episode, and of the session.
    assert [raw_peer.receive_frame()[0].kind for _ in range(2)] == [wire.END, wire.BYE]


@pytest.mark.parametrize(("tensors", "serdes", "data"), MESSAGES)
def test_a_compiler_reads_the_message(tensors, serdes, data, wire, raw_peer, asking):
    asked = asking([], specs(tensors), [{}], f"?serdes={serdes}")
    header, _ = raw_peer.receive_frame()
    welcome = json.dumps({"decision": json.loads(hello(serdes, [], tensors))["decision"]})
    raw_peer.send(wire.frame(wire.WELCOME, welcome.encode(), session=header.session))
    request, payload = raw_peer.receive_frame()
    assert payload == {"bitstream": b"", "json": b"{}", "protobuf": b""}[serdes]
    fields = {"session": header.session, "sequence": 1, "runner": request.runner}
    raw_peer.send(wire.frame(wire.REPLY, data, **fields))
    (answer,) = asked.result()
    if any("NaN" in t["values"] for t in tensors):
        assert answer.code == "illegal_decision"
        assert "is not a number" in str(answer)
        return
    for tensor in tensors:
        assert same(answer[tensor["name"]], values(tensor)), tensor["name"]


def test_context_reward_end_and_bye_on_the_wire(wire, raw_peer, address):
    """What a runner in Python sends beside its questions."""
    done = threading.Event()

    def compile_something():
        with Runner(address, [TensorSpec("x", "int64")], TensorSpec("y", "int64")) as runner:
            runner.switch_context("é.cpp")
            runner.evaluate({"x": 1})
            runner.reward(-1.25)
            runner.evaluate({"x": 2})
            runner.reward(2.5)
            runner.end_episode()
        done.set()

    thread = threading.Thread(target=compile_something)
    thread.start()
    frames = []
    welcome = b'{"decision":[{"name":"y","type":"int64_t","shape":[1]}]}'
    while not frames or frames[-1][0].kind != wire.BYE:
        header, payload = raw_peer.receive_frame()
        frames.append((header, payload))
        fields = {"session": header.session, "sequence": header.sequence, "runner": header.runner}
        if header.kind == wire.HELLO:
            raw_peer.send(wire.frame(wire.WELCOME, welcome, **fields))
        if header.kind == wire.REQUEST:
            raw_peer.send(wire.frame(wire.REPLY, wire.padded(struct.pack("<q", 7)), **fields))
    thread.join(20)
    assert done.is_set()
    assert [(h.kind, h.flags, h.sequence, h.reward) for h, _ in frames] == [
        (wire.HELLO, 0, 0, 0.0),
        (wire.CONTEXT, 0, 0, 0.0),
        (wire.REQUEST, 0, 1, 0.0),
        (wire.REQUEST, wire.HAS_REWARD, 2, -1.25),
        (wire.END, wire.HAS_REWARD, 2, 2.5),
        (wire.BYE, 0, 2, 0.0),
    ]
    assert frames[1][1] == "é.cpp".encode()
    assert [payload for _, payload in frames[2:4]] == [
        wire.padded(struct.pack("<q", 1)),
        wire.padded(struct.pack("<q", 2)),
    ]
    assert len({header.session for header, _ in frames}) == 1


def test_the_same_from_a_peers_view(wire, address, raw_compiler):
    with CompilerInterface(address, sessions=1) as compiler:
        raw = raw_compiler()
        y = [{"name": "y", "type": "bool", "shape": []}]
        raw.send(
            wire.frame(wire.HELLO, hello("json", [], y))
            + wire.frame(wire.CONTEXT, "é.cpp".encode())
            + wire.frame(wire.REQUEST, b"{}", sequence=1, runner=RUNNER)
        )
        request = compiler.next(timeout=20)
        assert (request.context, request.reward, len(request)) == ("é.cpp", None, 0)
        assert compiler.fail("why") is True
        raw.send(
            wire.frame(
                wire.REQUEST, b"{}", sequence=2, runner=RUNNER, flags=wire.HAS_REWARD, reward=0.25
            )
        )
        assert compiler.next(timeout=20).reward == 0.25
        assert compiler.reply(True) is True
        raw.send(
            wire.frame(wire.END, sequence=2, runner=RUNNER, flags=wire.HAS_REWARD, reward=-3)
            + wire.frame(wire.BYE, sequence=2)
        )
        end = compiler.next(timeout=20)
        assert (end.done, end.truncated, end.reward, end.runner) == (True, False, -3, RUNNER)
        answers = [raw.receive_frame() for _ in range(3)]
        assert [(h.kind, h.flags, h.sequence, h.runner) for h, _ in answers] == [
            (wire.WELCOME, 0, 0, 0),
            (wire.FAILURE, 0, 1, RUNNER),
            (wire.REPLY, 0, 2, RUNNER),
        ]
        assert [payload for _, payload in answers] == [
            b'{"decision":[{"name":"y","type":"bool","shape":[]}]}',
            b"why",
            b'{"y":{"type":"bool","shape":[],"values":[true]}}',
        ]
        raw.close()
        assert compiler.next(timeout=20) is None


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """The classes of compiler_bridge.proto, as protoc makes them for Python."""
    made = tmp_path_factory.mktemp("proto") / "descriptors"
    proto = GOLDEN.parents[1] / "proto"
    command = ["-m", "grpc_tools.protoc", f"-I{proto}", f"--descriptor_set_out={made}"]
    subprocess.run([sys.executable, *command, "compiler_bridge.proto"], check=True)
    files = descriptor_pb2.FileDescriptorSet.FromString(made.read_bytes()).file
    return message_factory.GetMessages(files)


@pytest.mark.parametrize("name", ["observation", "advice"])
def test_generated_classes_read_and_write_messages_of_grpc(name, generated):
    case = CASES[name]
    data = (GOLDEN / case["file"]).read_bytes()
    read = generated[f"compiler_bridge.v1.{case['message']}"].FromString(data)
    fields = ("kind", "session", "sequence", "runner", "truncated", "ends_session")
    assert [getattr(read, field) for field in fields] == [case[field] for field in fields]
    assert read.HasField("reward") == ("reward" in case)
    assert read.reward == case.get("reward", 0)
    assert getattr(read, "context", b"").decode() == case.get("context", "")
    assert read.WhichOneof("content") == "tensors"
    for tensor, expected in zip(read.tensors.tensor, case["tensors"], strict=True):
        assert tensor.name == expected["name"]
        assert list(tensor.shape) == expected["extents"]
        if expected["type"] == "string":
            assert [text.decode() for text in tensor.strings] == expected["values"]
        else:
            assert np.frombuffer(tensor.data, "<i8").tolist() == expected["values"]
    assert read.SerializeToString(deterministic=True) == data
