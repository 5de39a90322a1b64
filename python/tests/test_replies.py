"""The model's end: what a peer may answer."""

from __future__ import annotations

import numpy as np
import pytest

from compiler_bridge import BridgeError, CompilerInterface, TensorSpec

X = TensorSpec("x", "int64")
Y = TensorSpec("y", "int64")
SERIALIZERS = ["bitstream", "json"]


def values(answers):
    return [answer["y"].item() for answer in answers]


@pytest.mark.parametrize(
    ("spec", "reply", "expected"),
    [
        (TensorSpec("y", "int64"), 5, [5]),
        (TensorSpec("y", "int64"), 5.0, [5]),
        (TensorSpec("y", "int64"), True, [1]),
        (TensorSpec("y", "int64"), np.int8(5), [5]),
        (TensorSpec("y", "int64"), np.float32(5), [5]),
        (TensorSpec("y", "int64"), np.array(5), [5]),
        (TensorSpec("y", "int64"), np.array([5], np.uint8), [5]),
        (TensorSpec("y", "int64"), [5], [5]),
        (TensorSpec("y", "int64"), {"y": 5}, [5]),
        (TensorSpec("y", "int64", []), 5, 5),
        (TensorSpec("y", "float32"), 0.5, [0.5]),
        (TensorSpec("y", "bool"), np.True_, [True]),
        (TensorSpec("y", "uint64"), 2**64 - 1, [2**64 - 1]),
        (TensorSpec("y", "int16", [2, 2]), [[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        (TensorSpec("y", "int16", [2, 2]), np.arange(8).reshape(4, 2)[::2], [[0, 1], [4, 5]]),
        (TensorSpec("y", "int16", [-1]), [], []),
        (TensorSpec("y", "int16", [-1]), 7, [7]),
        (TensorSpec("y", "float64", [-1, 2]), np.ones((3, 2)), [[1, 1]] * 3),
    ],
)
@pytest.mark.parametrize("serdes", SERIALIZERS)
def test_forms_of_replies(address, asking, spec, reply, expected, serdes):
    with CompilerInterface(address, sessions=1) as compiler:
        asked = asking([X], spec, [{"x": 1}], f"?serdes={serdes}")
        assert compiler.next(timeout=20) is not None
        assert compiler.reply(reply) is True
    (answer,) = asked.result()
    assert answer["y"].dtype == np.dtype(spec.dtype)
    assert answer["y"].tolist() == expected


@pytest.mark.parametrize("serdes", SERIALIZERS)
@pytest.mark.parametrize(
    ("shape", "reply", "expected"),
    [
        ([1], "yes", ["yes"]),
        ([1], ["é\0"], ["é\0"]),
        ([-1], [], []),
        ([-1], ["a", "bb"], ["a", "bb"]),
        ([2, 2], [["a", "b"], ["c", "d"]], [["a", "b"], ["c", "d"]]),
        ([-1, 2], [["a", "b"]], [["a", "b"]]),
        ([1], {"y": np.str_("numpy")}, ["numpy"]),
        ([2], np.array(["a", "bb"]), ["a", "bb"]),
    ],
)
def test_replies_of_strings(address, asking, shape, reply, expected, serdes):
    with CompilerInterface(address, sessions=1) as compiler:
        asked = asking([X], TensorSpec("y", str, shape), [{"x": 1}], f"?serdes={serdes}")
        assert compiler.next(timeout=20) is not None
        assert compiler.reply(reply) is True
    assert asked.result() == [{"y": expected}]


@pytest.mark.parametrize("serdes", SERIALIZERS)
def test_several_and_dynamic_outputs(address, asking, serdes):
    outputs = [
        TensorSpec("index", "int64"),
        TensorSpec("weights", "float32", [-1]),
        TensorSpec("why", str),
    ]
    sizes = [3, 0, 100_000, 1]  # grows beyond what a pipe takes at once, and shrinks
    with CompilerInterface(address, sessions=1) as compiler:
        asked = asking([X], outputs, [{"x": size} for size in sizes], f"?serdes={serdes}")
        for request in compiler:
            size = request["x"].item()
            compiler.reply({"why": f"{size}", "index": -size, "weights": np.arange(size)})
    for size, answer in zip(sizes, asked.result(), strict=True):
        assert list(answer) == ["index", "weights", "why"]
        assert answer["index"].item() == -size
        np.testing.assert_array_equal(answer["weights"], np.arange(size, dtype=np.float32))
        assert answer["why"] == [str(size)]


def test_wrong_replies_name_the_decision_and_can_be_corrected(address, asking):
    outputs = [TensorSpec("y", "int8"), TensorSpec("z", "float32", [-1, 2])]
    good = {"y": 1, "z": [[1, 2]]}
    wrong = [
        (5, "several outputs: reply with a dict by name"),
        ({"y": 1}, "decision 'z' is missing"),
        ({}, "decision 'y' is missing"),
        ({**good, "w": 1}, "there is no decision 'w'; the compiler wants y, z"),
        ({**good, 5: 1}, "there is no decision '5'; the compiler wants y, z"),
        ({**good, "y": 128}, r"decision 'y' is int8_t\[1\]: 128 cannot be kept exactly"),
        ({**good, "y": 0.5}, r"decision 'y' is int8_t\[1\]: 0.5 cannot be kept exactly"),
        ({**good, "y": 2**64}, r"decision 'y' is int8_t\[1\]: too large an integer"),
        ({**good, "y": "no"}, r"decision 'y' is int8_t\[1\]: got str"),
        ({**good, "y": None}, r"decision 'y' is int8_t\[1\]: got NoneType"),
        ({**good, "y": [1, 2]}, r"decision 'y' is int8_t\[1\]: got shape \[2\]"),
        ({**good, "z": [1, 2]}, r"decision 'z' is float\[\?,2\]: got shape \[2\]"),
        ({**good, "z": [[1], [2, 3]]}, r"decision 'z' is float\[\?,2\]: .*inhomogeneous"),
        ({**good, "z": [["a", "b"]]}, r"decision 'z' is float\[\?,2\]: got elements of type <U1"),
    ]
    with CompilerInterface(address, sessions=1) as compiler:
        asked = asking([X], outputs, [{"x": 1}, {"x": 2}])
        for expected in (1, 2):
            assert compiler.next(timeout=20)["x"].item() == expected
            for reply, why in wrong:
                with pytest.raises(ValueError, match=f"^{why}"):
                    compiler.reply(reply)
            assert compiler.reply({"y": expected, "z": [[3, 4]]}) is True
            assert compiler.reply(good) is False  # nobody waits for it any more
        assert compiler.next(timeout=20).done
    answers = asked.result()
    assert [answer["y"].item() for answer in answers] == [1, 2]
    assert [answer["z"].tolist() for answer in answers] == [[[3, 4]]] * 2


def test_forgetting_to_reply_is_a_value_error(address, asking):
    with CompilerInterface(address, sessions=1) as compiler:
        asked = asking([X], Y, [{"x": 1}])
        compiler.next(timeout=20)
        for _ in range(2):
            with pytest.raises(ValueError, match="reply to the latest request first"):
                compiler.next(timeout=20)
        assert compiler.reply(8) is True
        assert compiler.next(timeout=20).done
    assert values(asked.result()) == [8]


def test_fail_is_an_error_for_one_decision(address, asking):
    with CompilerInterface(address, sessions=1) as compiler:
        asked = asking([X], Y, [{"x": 1}, {"x": 2}])
        assert compiler.fail("nobody asked") is False
        compiler.next(timeout=20)
        assert compiler.fail("the model is not\nready: é") is True
        assert compiler.reply(1) is False
        compiler.next(timeout=20)
        assert compiler.reply(3) is True
    error, answer = asked.result()
    assert type(error) is BridgeError
    assert error.code == "peer_error"
    assert str(error) == f"peer_error: {address}: the model is not\nready: é"
    assert answer["y"].item() == 3


def test_a_long_reason_is_cut_and_still_an_error(address, asking):
    with CompilerInterface(address, sessions=1) as compiler:
        asked = asking([X], Y, [{"x": 1}])
        compiler.next(timeout=20)
        assert compiler.fail("x" + "é" * 1500) is True  # byte 2,000 is in the midst of one
    (error,) = asked.result()
    assert error.code == "peer_error"
    assert "xéé" in str(error)
    assert len(str(error)) < 2100


def serve_and_raise(address, error):
    """A peer whose policy has a bug."""
    with CompilerInterface(address) as compiler:
        for _ in compiler:
            raise error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (ValueError("odd \udcff"), "ValueError: odd \udcff"),
        (SystemExit(3), "SystemExit: 3"),
    ],
)
def test_an_exception_reaches_the_compiler(address, asking, tmp_path, error, text):
    asked = asking([X], Y, [{"x": 1}, {"x": 2}], "?connect=10s")
    with pytest.raises(type(error)) as caught:
        serve_and_raise(address, error)
    assert caught.value is error
    first, second = asked.result()
    assert first.code == "peer_error"
    assert str(first) == f"peer_error: {address}: {text}"
    assert second.code == "peer_closed"
    assert list(tmp_path.iterdir()) == []


def test_an_exception_that_cannot_be_told_still_closes(address, asking, tmp_path):
    asked = asking([X], Y, [{"x": 1}], "?connect=10s")
    with pytest.raises(UnicodeEncodeError):
        serve_and_raise(address, ValueError("not even half a character: \ud800"))
    (error,) = asked.result()
    assert error.code == "peer_closed"
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_is_not_an_answer(address, asking):
    asked = asking([X], Y, [{"x": 1}], "?connect=10s")
    with pytest.raises(KeyboardInterrupt):
        serve_and_raise(address, KeyboardInterrupt())
    (error,) = asked.result()
    assert error.code == "peer_closed"
