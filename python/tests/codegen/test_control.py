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
    r"\(Loop\): the number of rounds \(input 0\) must be known": f"y = Loop (n, , x) <{PLAIN}>",
    r"\(Loop\): whether there is a first round": f"y = Loop (lots, c, x) <{PLAIN}>",
    r"\(Loop\): .* there are more than 2048 of all loops": f"y = Loop (lots, , x) <{PLAIN}>",
    r"\(Loop\): whether there is a round 1 depends on values": "y = Loop (lots, , x) <{}>".format(
        ENDLESS.format(nodes="r = Relu (s) m = ReduceMax <keepdims: int = 0> (r) h = Less (m, m)")
    ),
    r"\(Loop\), round 0, its NonZero: .* values that only": "y = Loop (lots, , x) <{}>".format(
        ENDLESS.format(nodes="z = NonZero (s) r = Relu (s) h = Identity (g)")
    ),
    r"\(If\): both branches .* one can fail: .*, then, its Gather": """y = If (c) <
        then_branch = t () => (float[N,3] a) { a = Gather <axis: int = 1> (x, k) },
        else_branch = e () => (float[N,3] b) { b = Relu (x) }>""",
    r"\(If\): its branches give results of shapes \[N,3\] and \[3,N\]": """y = If (c) <
        then_branch = t () => (float[N,3] a) { a = Identity (x) },
        else_branch = e () => (float[N,3] b) { b = Transpose (x) }>""",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_refused(reason: str) -> None:
    proto = model(RUNNING.format(nodes=REFUSED[reason]))
    with pytest.raises(Unsupported, match=reason):
        generate(proto, "Model", maxima=MAXIMUM)
