"""If, Loop and Scan: rounds are written out, and both branches evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from compiler_bridge.codegen import Unsupported, generate

from ._cases import Case, check

MAXIMUM = 8
HEAD = '<ir_version: 10, opset_import: ["": 21]> agraph '


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEAD + text)


BRANCHES = """
    y, z = If (c) <
        then_branch = yes () => (float[N,3] a, float[1] b) {{ a = Tanh (x) b = {then} }},
        else_branch = no () => (float[N,3] d, float[1] e) {{ d = Neg (x) e = Identity (k) }}
    >"""


def branches(condition: str, then: str = "Neg (k)") -> str:
    return (
        "(float[N,3] x) => (float[N,3] y, float[1] z) <float[1] k = {2.5}, float t = {0}> { "
        f"{condition} {BRANCHES.format(then=then)} }}"
    )


# Carries s, and gives a row each round; w is a weight of the body, v of the graph around it.
BODY = """
    body = b (int64 i, bool go, float[N,3] s) => (bool on, float[N,3] r, float[N] row)
    <float[3,3] w = {0.5,0.1,-0.2, 0.3,0.7,0.1, -0.4,0.2,0.6}> {
        m = MatMul (x, v)
        p = MatMul (s, w)
        q = Add (p, m)
        r = Tanh (q)
        row = ReduceSum <keepdims: int = 0> (r, axis)
        one = Constant <value_int: int = 1> ()
        next = Add (i, one)
        on = Less (next, limit)
    }"""


def loop(rounds: str, first: str, limit: int = 99) -> str:
    return f"""(float[N,3] x) => (float[N,3] y, float[R,N] rows)
    <float[3,3] v = {{0.1,0.2,0.3, 0.4,0.5,0.6, 0.7,0.8,0.9}}, int64[1] axis = {{-1}},
     bool yes = {{1}}, int64 five = {{5}}, int64 many = {{9223372036854775807}},
     int64 limit = {{{limit}}}> {{
        y, rows = Loop ({rounds}, {first}, x) <{BODY}>
    }}"""


LOOPS = {
    "counted": loop("five", ""),
    "counted, and allowed to begin": loop("five", "yes"),
    "until its condition is false": loop("many", "yes", limit=3),
    "until its condition is false, without a count": loop('""', "yes", limit=4),
    "one round": loop("five", "yes", limit=1),
    "no round": """(float[N,3] x) => (float[N,3] y) <int64 none = {0}> {
        y = Loop (none, , x) <body = b (int64 i, bool go, float[N,3] s)
            => (bool on, float[N,3] r) { r = Tanh (s) on = Identity (go) }>
    }""",
    "a loop in a loop, with a choice": """(float[N,3] x) => (float[N,3] y)
        <int64 three = {3}, int64 two = {2}> {
        y = Loop (three, , x) <body = o (int64 i, bool go, float[N,3] s)
            => (bool on, float[N,3] r) {
            on = Identity (go)
            odd = Equal (i, two)
            t = If (odd) <
                then_branch = yes () => (float[N,3] a) { a = Neg (s) },
                else_branch = no () => (float[N,3] d) {
                    d = Loop (two, , s) <body = n (int64 j, bool f, float[N,3] u)
                        => (bool g, float[N,3] v) { g = Identity (f) h = Sin (u) v = Add (h, x) }>
                }
            >
            r = Sub (t, x)
        }>
    }""",
    "results that are constants": """(float[N,3] x) => (float[N,3] y, int64[R] rows)
        <int64 three = {3}> {
        y, rows = Loop (three, , x) <body = b (int64 i, bool go, float[N,3] s)
            => (bool on, float[N,3] r, int64 row)
            { on = Identity (go) r = Identity (s) row = Mul (i, i) }>
    }""",
    "a scan of columns, one of them backwards": """(float[N,3] x)
        => (float[N,1] y, float[3,N,1] rows, float[N,1,3] back) <float[1,3] k = {1,2,3}> {
        axis = Constant <value_ints: ints = [1]> ()
        s = ReduceMean <keepdims: int = 1> (x, axis)
        f = Relu (x)
        y, rows, back = Scan <num_scan_inputs: int = 3, scan_input_axes: ints = [1, -1, 1],
            scan_input_directions: ints = [0, 1, 1], scan_output_axes: ints = [0, -1],
            scan_output_directions: ints = [0, 1],
            body = b (float[N,1] c, float[N] p, float[N] q, float[1] r)
                => (float[N,1] n, float[N,1] row, float[N,1] last) {
                one = Constant <value_ints: ints = [1]> ()
                pp = Unsqueeze (p, one)
                qq = Unsqueeze (q, one)
                t = Mul (c, pp)
                u = Mul (r, qq)
                n = Sub (t, u)
                row = Relu (n)
                last = Neg (n)
            }
        > (s, x, f, k)
    }""",
    "what a weight decides": branches("c = Less (k, t)"),
    "what an input decides": branches("m = ReduceMax <keepdims: int = 0> (x) c = Less (t, m)"),
}


def samples() -> list[dict[str, Any]]:
    random = np.random.default_rng(3)
    rows = [random.standard_normal((n, 3)).astype(np.float32) for n in (1, 2, MAXIMUM)]
    return [{"x": each} for each in [*rows, -np.abs(rows[1])]]


def test_what_onnx_runtime_says() -> None:
    cases = [Case(name, model(text), samples(), MAXIMUM) for name, text in LOOPS.items()]
    checked = check(cases)
    assert {cases[i].label: why for i, why in checked.failures.items()} == {}
    assert {cases[i].label: why for i, why in checked.refused.items()} == {}
    assert {cases[i].label: why for i, why in checked.unknown.items()} == {}


def test_weights_of_a_body_are_there_once() -> None:
    made = generate(model(loop("five", "yes")), "Model", maxima=MAXIMUM)
    assert len(made.weights) < 2 * 64 + 9 * 4  # two of nine floats, the first of them padded


def test_weights_of_a_body_inside_a_body_are_there_once() -> None:
    text = """(float[N,3] x) => (float[N,3] y) <int64 n = {4}> {
        y = Loop (n, , x) <body = o (int64 i, bool go, float[N,3] s) => (bool on, float[N,3] r) {
            on = Identity (go)
            r = Loop (n, , s) <body = p (int64 j, bool f, float[N,3] u) => (bool h, float[N,3] v)
                <float[3] w = {1,2,3}> {
                h = Identity (f)
                k = Constant <value_floats: floats = [4.0, 5.0, 6.0]> ()
                t = Mul (u, w)
                v = Add (t, k)
            }>
        }>
    }"""
    made = generate(model(text), "Model", maxima=MAXIMUM)
    assert len(made.weights) <= 2 * 64


def test_defaults_of_functions() -> None:
    text = """<ir_version: 10, opset_import: ["": 21, "own": 1]> agraph (float[N,3] x)
        => (float[N,3] y, float[N,3] z) <bool c = {1}> {
            y = own.outer (x)
            z = If (c) <
                then_branch = t () => (float[N,3] a) { a = own.leaky (x) },
                else_branch = e () => (float[N,3] b) { b = own.leaky <alpha: float = 9.0> (x) }>
        }
        <domain: "own", opset_import: ["": 21]> leaky <alpha: float = 0.5> (p) => (q)
        { q = LeakyRelu <alpha: float = @alpha> (p) }
        <domain: "own", opset_import: ["": 21, "own": 1]> outer <beta: float = 0.3> (p) => (q)
        { r = own.leaky (p) q = own.leaky <alpha: float = @beta> (r) }"""
    checked = check([Case("functions", onnx.parser.parse_model(text), samples(), MAXIMUM)])
    assert (checked.failures, checked.refused, checked.unknown) == ({}, {}, {})


def test_what_is_evaluated_twice_with_other_outputs() -> None:
    text = """(float[N,3] x) => (float[2,3] a, float[2,3] b, float[2,1] c) <float[3] s = {1,2,3},
        float[2,3] k = {1,2,4,5,7,9}> {
            a = LayerNormalization (k, s)
            b, c, d = LayerNormalization (k, s)
            e, , f = LayerNormalization (k, s)
        }"""
    checked = check([Case("constants", model(text), samples(), MAXIMUM)])
    assert (checked.failures, checked.refused, checked.unknown) == ({}, {}, {})


def test_rounds_share_functions() -> None:
    few, many = (
        generate(model(loop("many", "yes", limit=limit)), "Model", maxima=MAXIMUM).source
        for limit in (4, 40)
    )
    assert few.count("FN void node") == many.count("FN void node")
    assert "(Loop), round 0, its MatMul; and 39 more\n" in many


RUNNING = """(float[N,3] x, int64 n, bool c, int64[2] k) => (float[N,3] y) <int64 lots = {{5000}}>
    {{ {nodes} }}"""
ENDLESS = "body = b (int64 i, bool g, float[N,3] s) => (bool h, float[N,3] r) {{ {nodes} }}"
PLAIN = ENDLESS.format(nodes="r = Relu (s) h = Identity (g)")
REFUSED = {
    r"\(Loop\): the number of rounds varies": f"y = Loop (n, , x) <{PLAIN}>",
    r"\(Loop\): whether there is a first round": f"y = Loop (lots, c, x) <{PLAIN}>",
    r"\(Loop\): .* there are more than 2048, or no end": f"y = Loop (lots, , x) <{PLAIN}>",
    r"\(Loop\): whether there is a round 1 depends on values": "y = Loop (lots, , x) <{}>".format(
        ENDLESS.format(nodes="r = Relu (s) m = ReduceMax <keepdims: int = 0> (r) h = Less (m, m)")
    ),
    r"\(Loop\), round 0, its NonZero: .* values that only": "y = Loop (lots, , x) <{}>".format(
        ENDLESS.format(nodes="z = NonZero (s) r = Relu (s) h = Identity (g)")
    ),
    r"\(If\): both branches .* one can fail: .*, then, its Gather": """y = If (c) <
        then_branch = t () => (float[N,3] a) { a = Gather <axis: int = 1> (x, k) },
        else_branch = e () => (float[N,3] b) { b = Relu (x) }>""",
    r"\(Loop\): input M: has type bool, needs int64": f"y = Loop (c, , x) <{PLAIN}>",
    r"\(Loop\): input M: has shape \[2\], needs one element": f"y = Loop (k, , x) <{PLAIN}>",
    r"\(Loop\): its body has 3 inputs and 2 outputs, needs 4": f"y = Loop (n, , x, x) <{PLAIN}>",
    r"\(Loop\): what it carries was float32, and is float64": "y = Loop (lots, , x) <{}>".format(
        ENDLESS.format(nodes="r = Cast <to: int = 11> (s) h = Identity (g)")
    ),
    r"\(If\): a branch has 0 inputs and 1 outputs, needs 0 and 2": """y, z = If (c) <
        then_branch = t () => (float[N,3] a, float[N,3] d) { a = Relu (x) d = Neg (x) },
        else_branch = e () => (float[N,3] b) { b = Relu (x) }>""",
    r"\(Scan\): how many places it scans varies, but each round": """y = Scan <
        num_scan_inputs: int = 1, body = b (float[3] p) => (float[3] q) { q = Relu (p) }> (x)""",
    r"\(Scan\): scan_input_axes has 2 numbers, needs 1": """y = Scan <num_scan_inputs: int = 1,
        scan_input_axes: ints = [0, 1], body = b (float[3] p) => (float[3] q) { q = Relu (p) }
        > (x)""",
    r"\(If\): its branches give results of shapes \[N,3\] and \[3,N\]": """y = If (c) <
        then_branch = t () => (float[N,3] a) { a = Identity (x) },
        else_branch = e () => (float[N,3] b) { b = Transpose (x) }>""",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_refused(reason: str) -> None:
    proto = model(RUNNING.format(nodes=REFUSED[reason]))
    with pytest.raises(Unsupported, match=reason):
        generate(proto, "Model", maxima=MAXIMUM)
