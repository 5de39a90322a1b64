"""The compiler's end: features in, decisions out."""

from __future__ import annotations

import copy
import pickle
from enum import IntEnum

import numpy as np
import pytest

from compiler_bridge import BridgeError, BridgeTimeout, Runner, TensorSpec

X = TensorSpec("x", "int64")
Y = TensorSpec("y", "int64")

NUMPY_AND_C_NAMES = [
    ("bool", "bool"),
    ("int8", "int8_t"),
    ("int16", "int16_t"),
    ("int32", "int32_t"),
    ("int64", "int64_t"),
    ("uint8", "uint8_t"),
    ("uint16", "uint16_t"),
    ("uint32", "uint32_t"),
    ("uint64", "uint64_t"),
    ("float32", "float"),
    ("float64", "double"),
]
DTYPES = [numpy for numpy, _ in NUMPY_AND_C_NAMES]


# Specs


@pytest.mark.parametrize(("numpy", "c"), [*NUMPY_AND_C_NAMES, ("str", "string")])
def test_a_spec_knows_numpy_and_c_names(numpy, c):
    assert TensorSpec("t", numpy).dtype == numpy
    assert TensorSpec("t", c).dtype == numpy
    assert TensorSpec("t", c) == TensorSpec("t", numpy)
    assert TensorSpec("t", numpy).raw() == ("t", c, (1,))
    assert TensorSpec.from_raw(("t", c, (2, -1))) == TensorSpec("t", numpy, [2, -1])


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        (np.float32, "float32"),
        (np.dtype("int16"), "int16"),
        ("<i8", "int64"),
        (int, "int64"),
        (float, "float64"),
        (bool, "bool"),
        (str, "str"),
    ],
)
def test_a_spec_takes_what_numpy_understands(given, dtype):
    assert TensorSpec("t", given).dtype == dtype


def test_a_spec_has_one_element_by_default_and_none_as_a_scalar():
    assert TensorSpec("t", "int8").shape == (1,)
    assert TensorSpec("t", "int8", []).shape == ()
    assert TensorSpec("t", "int8", np.array([2, 3])).shape == (2, 3)


@pytest.mark.parametrize("dtype", ["float16", "floaty", "complex64", "datetime64[s]", "U5", object])
def test_a_spec_refuses_other_types_and_lists_its_own(dtype):
    with pytest.raises(ValueError, match=r"is no element type; there are bool, int8.*str"):
        TensorSpec("t", dtype)


def test_specs_are_values():
    spec = TensorSpec("t", "int64", [2])
    assert {spec: 1}[TensorSpec("t", "int64_t", (2,))] == 1
    assert pickle.loads(pickle.dumps(spec)) == spec
    with pytest.raises(AttributeError):
        spec.name = "u"


@pytest.mark.parametrize(
    ("inputs", "outputs", "error", "message"),
    [
        ([X, X], Y, ValueError, "features: two tensors are named 'x'"),
        ([X], [], ValueError, "the signature has no decision"),
        ([X], [Y, Y], ValueError, "decision: two tensors are named 'y'"),
        ([TensorSpec("", "int64")], Y, ValueError, "has no name"),
        ([TensorSpec("x", "int64", [-2])], Y, BridgeError, "'x': extent -2"),
        ([TensorSpec("x", "int64", [1] * 9)], Y, BridgeError, "'x': rank 9 is above 8"),
    ],
)
def test_impossible_signatures_are_refused(inputs, outputs, error, message):
    with pytest.raises(error, match=message):
        Runner("constant:1", inputs, outputs)


# constant: and heuristic:


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_constant_has_the_type_and_shape_of_the_decision(dtype):
    with Runner("constant:1", [X], TensorSpec("y", dtype, [2, 3])) as runner:
        decision = runner.evaluate({"x": 5})["y"]
    assert decision.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(decision, np.ones((2, 3), dtype))


def test_a_constant_decides_every_output():
    outputs = [TensorSpec("a", "int64", []), TensorSpec("b", "float32"), TensorSpec("c", str, [2])]
    with Runner("constant:4", [X], outputs) as runner:
        decision = runner.evaluate()
    assert list(decision) == ["a", "b", "c"]
    assert decision["a"].shape == ()
    assert decision["a"] == 4
    assert decision["b"].dtype == np.float32
    assert decision["c"] == ["4", "4"]


def test_decisions_are_the_callers_own():
    with Runner("constant:4", [X], Y) as runner:
        first = runner.evaluate()["y"]
        first[0] = 99
        assert runner.evaluate()["y"].item() == 4
    assert first.item() == 99


def test_the_heuristic_runner_abstains_and_says_so():
    with Runner("heuristic:", [X], Y) as runner:
        assert runner.why_not == "abstained: heuristic: has no model"
        with pytest.raises(BridgeError) as caught:
            runner.evaluate({"x": 1})
    assert caught.value.code == "abstained"


def test_evaluate_or_prefers_the_model():
    with Runner("constant:4", [X], Y) as runner:
        assert runner.why_not is None
        decision = runner.evaluate_or({"x": 1}, lambda: pytest.fail("the model decides"))
    assert decision["y"].item() == 4


def test_evaluate_or_falls_back():
    with Runner("heuristic:", [X], Y) as runner:
        assert runner.evaluate_or({"x": 1}, lambda: "mine") == "mine"
        assert runner.evaluate_or(None, lambda: 7) == 7


def test_evaluate_or_does_not_hide_the_callers_mistakes():
    with Runner("heuristic:", [X], Y) as runner, pytest.raises(KeyError, match="nope"):
        runner.evaluate_or({"nope": 1}, lambda: pytest.fail("not the model's fault"))


def test_an_absent_peer_is_a_reason_not_an_error_unless_wanted(address):
    with Runner(address, [X], Y) as runner:
        assert runner.why_not.startswith(f"unavailable: nobody serves {address}")
        assert runner.evaluate_or({"x": 1}, lambda: "mine") == "mine"
    with pytest.raises(BridgeError, match="nobody serves") as caught:
        Runner(f"{address}?on_error=fail", [X], Y)
    assert caught.value.code == "unavailable"
    assert not isinstance(caught.value, TimeoutError)


def test_waiting_for_a_peer_has_a_deadline(address):
    with pytest.raises(BridgeTimeout, match="nobody serves") as caught:
        Runner(f"{address}?on_error=fail&connect=50ms", [X], Y)
    assert isinstance(caught.value, TimeoutError)
    assert isinstance(caught.value, BridgeError)
    assert caught.value.code == "timeout"


@pytest.mark.parametrize("kind", [BridgeError, BridgeTimeout])
def test_errors_travel_between_processes(kind):
    error = kind("timeout", "no answer")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert again.code == "timeout"
        assert str(again) == "timeout: no answer"


# Runner strings


@pytest.mark.parametrize(
    ("text", "column", "why"),
    [
        ("", 1, "empty"),
        ("constant", 9, "expected ':'"),
        ("nope:1", 1, "there is no scheme 'nope:'"),
        ("constant:abc", 10, "'abc' is no value for 'y', which is int64_t[1]"),
        ("constant:1.5", 10, "'1.5' is no value for 'y'"),
        ("constant:%zz", 10, "two hex digits"),
        ("constant:1?colour=red", 12, "colour"),
        ("constant:1?on_error=maybe", 21, "maybe"),
        ("heuristic:x", 11, "takes no target"),
        ("pipe:/tmp/x?timeout=soon", 21, "soon"),
        ("pipe:/tmp/x?serdes=xml", 20, "xml"),
        ("pipe:", 6, "expected the path"),
        ("pipe:/tmp/x?timeout=1s&timeout=2s", 24, "given twice"),
    ],
)
def test_a_bad_runner_string_is_a_value_error_that_points(text, column, why):
    with pytest.raises(ValueError, match=r"^runner string, column ") as caught:
        Runner(text, [X], Y)
    first, shown, caret = str(caught.value).split("\n")
    assert first.startswith(f"runner string, column {column}: ")
    assert why in first
    assert shown == f"  {text}"
    assert caret == "  " + " " * (column - 1) + "^"


# Features


class Colour(IntEnum):
    RED = 3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("serdes", ["bitstream", "json"])
def test_every_type_arrives_as_it_is(echo, dtype, serdes):
    kind = np.dtype(dtype)
    if kind.kind == "b":
        values = np.array([[True, False, True]])
    elif kind.kind in "iu":
        limits = np.iinfo(kind)
        values = np.array([[limits.min, 1, limits.max]], kind)
    else:
        limits = np.finfo(kind)
        values = np.array([[limits.min, limits.smallest_subnormal, 0.1]], kind)
    back = echo(TensorSpec("x", dtype, [1, 3]), values, serdes=serdes)
    assert back.dtype == kind
    np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("int64", 5, 5),
        ("int64", True, 1),
        ("int64", 5.0, 5),
        ("int64", -(2**63), -(2**63)),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("int64", Colour.RED, 3),
        ("int8", np.int64(-128), -128),
        ("uint8", np.float32(255), 255),
        ("float32", 0.1, np.float32(0.1)),
        ("float32", 2**24, 2**24),
        ("float64", np.float32(0.5), 0.5),
        ("float32", np.float64(0.25), 0.25),
        ("float64", 7, 7.0),
        ("float64", np.bool_(True), 1.0),
        ("bool", 1, True),
        ("bool", np.bool_(False), False),
        ("bool", 1.0, True),
        ("int16", np.array(7), 7),
        ("int16", np.array([7.0]), 7),
        ("int16", [7], 7),
        ("int16", (7,), 7),
        ("uint8", bytearray(b"\x07"), 7),
    ],
)
def test_numbers_convert_where_the_value_is_kept(echo, dtype, value, expected):
    back = echo(TensorSpec("x", dtype), value)
    assert back.dtype == np.dtype(dtype)
    assert back.shape == (1,)
    assert back[0] == expected


def test_a_number_fills_a_scalar_and_a_dynamic_tensor(echo):
    scalar = echo(TensorSpec("x", "float32", []), 1.5)
    assert scalar.shape == ()
    assert scalar == 1.5
    grown = echo(TensorSpec("x", "int32", [-1]), 9)
    assert grown.tolist() == [9]


def test_infinities_are_kept(echo):
    assert echo(TensorSpec("x", "float32"), float("inf"))[0] == np.inf
    assert echo(TensorSpec("x", "float32"), np.float64("-inf"), serdes="json")[0] == -np.inf


@pytest.mark.parametrize(
    ("dtype", "value", "why"),
    [
        ("int64", 1.5, "1.5 cannot be kept exactly"),
        ("int64", float("nan"), "nan cannot be kept exactly"),
        ("int64", 2**63, f"{2**63} cannot be kept exactly"),
        ("int64", 2**64, "too large an integer"),
        ("int64", -(2**63) - 1, "too small an integer"),
        ("uint8", 256, "256 cannot be kept exactly"),
        ("uint8", -1, "-1 cannot be kept exactly"),
        ("bool", 2, "2 cannot be kept exactly"),
        ("float32", 2**24 + 1, "16777217 cannot be kept exactly"),
        ("float32", 1e300, "1e+300 cannot be kept exactly"),
        ("float64", 2**53 + 1, "cannot be kept exactly"),
        ("int8", np.array([128]), "128 cannot be kept exactly"),
        ("int8", np.float64(0.5), "0.5 cannot be kept exactly"),
        ("int64", "1", "got str"),
        ("int64", b"1", "got bytes"),
        ("int64", None, "got NoneType"),
        ("int64", ["1"], "got elements of type <U1"),
        ("int64", [None], "got elements of type object"),
        ("int64", {}, "got elements of type object"),
        ("int64", np.array([1j]), "got elements of type complex128"),
        ("int64", np.array([1], ">i8"), "got elements of type >i8"),
        ("int64", np.array([1], "M8[s]"), "cannot include dtype 'M'"),
        ("int64", [[1], [2, 3]], "inhomogeneous"),
        ("int64", [1, 2], "got shape [2]"),
        ("int64", [], "got shape [0]"),
        ("int64", [[1]], "got shape [1,1]"),
        ("str", 1, "expected str, got int"),
        ("str", b"1", "expected str, got int"),
        ("str", [1], "expected str, got int"),
        ("str", {"a"}, "expected str, got set"),
        ("str", ["a", "b"], "got shape [2]"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(dtype, value, why):
    spec = TensorSpec("callee_users", dtype)
    with Runner("constant:4", [spec], Y) as runner:
        with pytest.raises(ValueError, match=r"^feature 'callee_users' is ") as caught:
            runner.populate_features({"callee_users": value})
        assert f"is {spec.raw()[1]}[1]: " in str(caught.value)
        assert why in str(caught.value)
        # The mistake is over: nothing is left of it for the next decision.
        assert runner.evaluate()["y"].item() == 4


def test_arrays_must_have_the_shape(echo):
    spec = TensorSpec("x", "int32", [2, 3])
    values = np.arange(6, dtype=np.int32)
    np.testing.assert_array_equal(echo(spec, values.reshape(2, 3)), values.reshape(2, 3))
    np.testing.assert_array_equal(echo(spec, values), values.reshape(2, 3))  # flat is as good
    for wrong in (values.reshape(3, 2), values[:5], values.reshape(1, 2, 3)):
        with pytest.raises(ValueError, match=r"^feature 'x' is int32_t\[2,3\]: got shape"):
            echo(spec, wrong)


def test_arrays_need_not_be_contiguous(echo):
    big = np.arange(48, dtype=np.float32).reshape(6, 8)
    for view in (big[::2, 1:8:2], big.T[1:4, 2:6].T[:3], big[2::-1, :3]):
        assert not view.flags.c_contiguous
        back = echo(TensorSpec("x", "float32", [-1, -1]), view)
        np.testing.assert_array_equal(back, view)
    strided = np.arange(20)[::2]
    np.testing.assert_array_equal(echo(TensorSpec("x", "int8", [10]), strided), strided)


def test_read_only_arrays_are_fine(echo):
    values = np.arange(4)
    values.flags.writeable = False
    np.testing.assert_array_equal(echo(TensorSpec("x", "int64", [4]), values), values)


def test_lists_nest(echo):
    assert echo(TensorSpec("x", "int64", [4]), [1, 2, 3, 4]).tolist() == [1, 2, 3, 4]
    matrix = [[1, 2.5], [3, 4]]
    assert echo(TensorSpec("x", "float64", [2, 2]), matrix).tolist() == matrix
    cube = np.arange(8).reshape(2, 2, 2).tolist()
    assert echo(TensorSpec("x", "uint8", [2, -1, 2]), cube).tolist() == cube


@pytest.mark.parametrize("serdes", ["bitstream", "json"])
def test_dynamic_features_take_the_size_that_comes(echo, serdes):
    rows = TensorSpec("x", "float32", [-1, 3])
    for count in (4, 1, 0, 7):
        values = np.arange(count * 3, dtype=np.float32).reshape(count, 3)
        back = echo(rows, np.ones((2, 3), np.float32), values, serdes=serdes)
        assert back.shape == (count, 3)
        np.testing.assert_array_equal(back, values)
    with pytest.raises(ValueError, match=r"'x' is float\[\?,3\]: got shape \[3,2\]"):
        echo(rows, np.zeros((3, 2), np.float32), serdes=serdes)


@pytest.mark.parametrize("serdes", ["bitstream", "json"])
@pytest.mark.parametrize(
    ("shape", "value"),
    [
        ([1], ["hello"]),
        ([2], ["", "two"]),
        ([-1], []),
        ([-1], ["a", "b", "c"]),
        ([2, 2], [["a", "b"], ["c", "d"]]),
        ([1], ['quotes " and \\ and \n and \x01']),
        ([1], ["é€😀"]),
        ([1], ["nul\0inside"]),
    ],
)
def test_strings_arrive_as_they_are(echo, shape, value, serdes):
    assert echo(TensorSpec("x", str, shape), value, serdes=serdes) == value


def test_one_string_may_stand_for_itself(echo):
    assert echo(TensorSpec("x", str), "hello") == ["hello"]
    assert echo(TensorSpec("x", str, []), "hello") == "hello"
    assert echo(TensorSpec("x", str, [-1]), "hello") == ["hello"]


def test_bytes_that_are_no_text_survive_as_surrogates(echo):
    odd = b"\xff\xfe".decode("utf-8", "surrogateescape")
    assert echo(TensorSpec("x", str), odd) == [odd]


def test_bad_lists_of_strings_are_refused_by_name():
    inside_itself: list[object] = []
    inside_itself.append(inside_itself)
    cases = [
        ([["a", "b"], ["c"]], "the lists differ in length"),
        (["a", ["b", "c"]], "the lists differ in depth"),
        (inside_itself, "the lists are nested too deeply"),
        ([["a", "b"]], r"got shape \[1,2\]"),
    ]
    with Runner("constant:4", [TensorSpec("names", str, [2, 2])], Y) as runner:
        for value, why in cases:
            with pytest.raises(ValueError, match=rf"^feature 'names' is string\[2,2\]: {why}"):
                runner.populate_features({"names": value})
        with pytest.raises(UnicodeEncodeError):
            runner.populate_features({"names": ["\ud800"] * 4})
        assert runner.evaluate()["y"].item() == 4


def test_an_impossible_size_is_refused_before_memory_is_touched():
    # Zero pages that are never read: a byte each, but four bytes per element as float32.
    values = np.zeros(2**28 + 1, np.int8)
    with Runner("constant:4", [TensorSpec("x", "float32", [-1])], Y) as runner:
        with pytest.raises(ValueError, match=r"'x' is float\[\?\]: no room for 268435457 elements"):
            runner.populate_features({"x": values})
        with pytest.raises(BridgeError) as caught:
            runner.evaluate()
        assert caught.value.code == "out_of_memory"
        assert runner.evaluate({"x": [1, 2]})["y"].item() == 4


def test_features_keep_their_values(served, address):
    peer = served(lambda request: request["a"][0] * 10 + request["b"][0])
    inputs = [TensorSpec("a", "int64"), TensorSpec("b", "int64")]
    with Runner(address, inputs, Y) as runner:
        runner.populate_features({"a": 1})
        assert runner.evaluate()["y"].item() == 10
        assert runner.evaluate({"b": 2})["y"].item() == 12
        assert runner.evaluate({})["y"].item() == 12
        assert runner.evaluate({"a": 3})["y"].item() == 32
    assert len(peer.seen) >= 4


def test_get_tensor_writes_in_place(served, address):
    served(lambda request: request["m"].sum())
    inputs = [TensorSpec("m", "int32", [2, 3]), TensorSpec("d", "int32", [-1])]
    with Runner(address, inputs, Y) as runner:
        tensor = runner.get_tensor("m")
        assert tensor.dtype == np.int32
        assert tensor.shape == (2, 3)
        assert tensor.ctypes.data % 64 == 0
        tensor[:] = 1
        assert runner.evaluate()["y"].item() == 6
        tensor[1, 2] = 100
        assert runner.evaluate()["y"].item() == 105
        runner.populate_features({"m": np.arange(6)})
        assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
        with pytest.raises(ValueError, match=r"'d' is int32_t.*only fixed features"):
            runner.get_tensor("d")
        with pytest.raises(KeyError, match="there is no feature 'z'; the signature has m, d"):
            runner.get_tensor("z")
    tensor[0, 0] = 7  # still memory that one may write to
    assert tensor[0, 0] == 7


def test_unknown_features_are_key_errors():
    with Runner("constant:4", [X, TensorSpec("z", "int8")], Y) as runner:
        with pytest.raises(KeyError, match="there is no feature 'w'; the signature has x, z"):
            runner.populate_features({"w": 1})
        with pytest.raises(KeyError, match="there is no feature 'x\\\\x00'"):
            runner.populate_features({"x\0": 1})
        with pytest.raises(KeyError, match="no feature"):
            runner.populate_features({"\udcff": 1})
        with pytest.raises(TypeError, match="expected str, got int"):
            runner.populate_features({1: 1})


# Legality


def test_a_mask_allows_some_indices():
    with Runner("constant:2", [X], Y) as runner:
        runner.set_mask([True, True, False])
        with pytest.raises(BridgeError, match="decision 'y': 2 is masked out") as caught:
            runner.evaluate()
        assert caught.value.code == "illegal_decision"
        assert runner.evaluate_or(None, lambda: "mine") == "mine"
        assert runner.why_not is None  # the model goes on
        runner.set_mask([True, True])  # too short for the index
        with pytest.raises(BridgeError, match="masked out"):
            runner.evaluate()
        runner.set_mask([False, False, True])
        assert runner.evaluate()["y"].item() == 2
        runner.set_mask([])
        assert runner.evaluate()["y"].item() == 2


@pytest.mark.parametrize("make", [np.array, tuple, lambda mask: [int(each) for each in mask]])
def test_a_mask_may_be_any_sequence_of_truths(make):
    with Runner("constant:1", [X], Y) as runner:
        runner.set_mask(make([False, True]))
        assert runner.evaluate()["y"].item() == 1
        runner.set_mask(make([True, False]))
        with pytest.raises(BridgeError, match="masked out"):
            runner.evaluate()


def test_a_range_bounds_decisions():
    with Runner(
        "constant:5", [X], [TensorSpec("a", "int64"), TensorSpec("b", "float32")]
    ) as runner:
        runner.set_range(0, 5)
        assert runner.evaluate()["a"].item() == 5
        runner.set_range(0, 4.9, output=1)
        with pytest.raises(BridgeError, match="decision 'b': 5 is out of range") as caught:
            runner.evaluate()
        assert caught.value.code == "illegal_decision"


def test_rules_for_an_output_that_is_not_there_are_a_mistake():
    with Runner("constant:5", [X], Y) as runner:
        runner.set_mask([True], output=1)
        with pytest.raises(ValueError, match="setMask: there is no output 1"):
            runner.evaluate()
        runner.set_range(0, 1, output=7)
        with pytest.raises(ValueError, match="setRange: there is no output 7"):
            runner.evaluate()
        assert runner.evaluate()["y"].item() == 5


def test_nan_is_no_decision(served, address):
    answers = iter([float("nan"), 1.5])
    served(lambda request: 0.0 if request.done else next(answers))
    with Runner(address, [X], TensorSpec("y", "float64")) as runner:
        with pytest.raises(BridgeError, match="'y': nan is not a number") as caught:
            runner.evaluate()
        assert caught.value.code == "illegal_decision"
        assert runner.evaluate()["y"].item() == 1.5


# Rewards, contexts, closing


def test_a_decision_is_rewarded_once():
    with Runner("constant:5", [X], Y) as runner:
        with pytest.raises(ValueError, match="there is no decision to reward yet"):
            runner.reward(1.0)
        runner.evaluate()
        with pytest.raises(ValueError, match="a reward must be finite"):
            runner.reward(float("nan"))
        runner.reward(1.0)
        with pytest.raises(ValueError, match="has its reward already"):
            runner.reward(1.0)
        runner.evaluate()
        runner.reward(2)
        runner.end_episode()
        with pytest.raises(ValueError, match="no decision to reward"):
            runner.reward(3)


@pytest.mark.parametrize("name", ["", "a.cpp", "nul\0inside", "é", "\udcff.cpp"])
def test_any_context_reaches_the_peer(served, address, name):
    served(lambda request: request.context)
    with Runner(address, [X], TensorSpec("y", str)) as runner:
        runner.switch_context("before")
        assert runner.evaluate()["y"] == ["before"]
        runner.switch_context(name)
        assert runner.evaluate()["y"] == [name]


def test_a_closed_runner_says_so():
    runner = Runner("constant:4", [X], Y)
    with runner as same:
        assert same is runner
    runner.close()  # again is fine
    calls = [
        lambda: runner.evaluate({"x": 1}),
        lambda: runner.populate_features({"x": 1}),
        lambda: runner.get_tensor("x"),
        lambda: runner.reward(1),
        lambda: runner.end_episode(),
        lambda: runner.switch_context("a"),
        lambda: runner.set_mask([True]),
        lambda: runner.set_range(0, 1),
        lambda: runner.why_not,
    ]
    for call in calls:
        with pytest.raises(ValueError, match="the runner is closed"):
            call()
