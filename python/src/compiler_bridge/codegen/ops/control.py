"""Control flow. Generated code has none of it: rounds are written out, one after the other, and
of an If both branches are evaluated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._builder import ONE, Builder
from .._extent import Extent, shape_text
from .._ir import Kernel, Value
from .._registry import Node, operator
from ._checks import need_one, need_rank, need_type
from ._parts import concat, section, squeezed

# Of all loops together. Each is code; more would take compilers minutes.
_MOST_ROUNDS = 2048


@operator("If")
def _if(g: Builder, node: Node) -> list[Value]:
    condition = node[0]
    need_type(g, "cond", condition, "bool")
    need_one(g, "cond", condition)
    then, otherwise = node.graph("then_branch"), node.graph("else_branch")
    if condition.constant is not None:
        return then([], "then") if condition.constant.item() else otherwise([], "else")
    before = len(g.program.body)
    yes, no = then([], "then"), otherwise([], "else")
    for each in g.program.body[before:]:
        if isinstance(each, Kernel) and each.fails:
            g.fail(f"both branches are evaluated, but one can fail: {each.node}")
    scalar = g.reshape(condition, ())
    results = []
    for left, right in zip(yes, no, strict=True):
        if left.shape != right.shape:
            shapes = f"{shape_text(left.shape)} and {shape_text(right.shape)}"
            g.fail(f"its branches give results of shapes {shapes}, which must be the same")
        if left.dtype != right.dtype:
            g.fail(f"its branches give results of types {left.dtype} and {right.dtype}")
        results.append(g.map("where", scalar, left, right, dtype=left.dtype))
    return results


@operator("Loop")
def _loop(g: Builder, node: Node) -> list[Value]:
    body, carried = node.graph("body"), [node[i] for i in range(2, len(node.inputs))]
    if len(body.inputs) != len(carried) + 2 or len(body.outputs) <= len(carried):
        g.fail(
            f"its body has {len(body.inputs)} inputs and {len(body.outputs)} outputs, "
            f"which do not fit {len(carried)} values that it carries"
        )
    rounds = node.number(0, "the number of rounds")
    goes_on = node.number(1, "whether there is a first round", True)
    collected: list[list[Value]] = [[] for _ in body.outputs[len(carried) + 1 :]]
    done = 0
    while goes_on and (rounds is None or done < rounds):
        _count_round(g)
        counter = g.constant(np.array(done, np.int64))
        inputs = [counter, g.constant(np.array(True)), *carried]
        condition, *results = body(inputs, f"round {done}")
        carried, rows = results[: len(carried)], results[len(carried) :]
        for column, row in zip(collected, rows, strict=True):
            column.append(row)
        done += 1
        if done == rounds:
            break
        if condition.constant is None:
            g.fail(
                f"whether there is a round {done} depends on values that only the running model "
                "knows"
            )
        goes_on = bool(condition.constant.item())
    return [*carried, *(_stacked(g, column, 0) for column in collected)]


@operator("Scan")
def _scan(g: Builder, node: Node) -> list[Value]:
    if node.opset < 9:
        g.fail("before opset 9 it is not supported")
    body, count = node.graph("body"), node.attribute("num_scan_inputs")
    states = len(node.inputs) - count
    values = [node[i] for i in range(len(node.inputs))]
    if count < 1 or states < 0 or len(body.inputs) != len(values) or len(body.outputs) < states:
        g.fail(f"{len(values)} inputs, {count} of them scanned, do not fit its body")
    carried, sequences = values[:states], values[states:]
    outputs = len(body.outputs) - states

    def given(name: str, places: int) -> list[int]:
        return list(node.attribute(name) or [0] * places)

    for sequence in sequences:
        need_rank(g, "scanned", sequence, 1, more=True)
    axes = [
        node.checked_axis(axis, sequence.rank)
        for axis, sequence in zip(given("scan_input_axes", count), sequences, strict=True)
    ]
    lengths = {s.shape[axis] for s, axis in zip(sequences, axes, strict=True)}
    rounds = next(iter(lengths)).constant
    if len(lengths) > 1 or rounds is None:
        g.fail("its scanned inputs must have one length, which is known when compiled")
    backward = given("scan_input_directions", count)
    collected: list[list[Value]] = [[] for _ in range(outputs)]
    for done in range(rounds):
        _count_round(g)
        places = [rounds - 1 - done if back else done for back in backward]
        parts = [_part(g, *each) for each in zip(sequences, axes, places, strict=True)]
        results = body([*carried, *parts], f"round {done}")
        carried = results[:states]
        for column, row in zip(collected, results[states:], strict=True):
            column.append(row)
    for column, back in zip(collected, given("scan_output_directions", outputs), strict=True):
        if back:
            column.reverse()
    stacked = [
        _stacked(g, column, axis)
        for column, axis in zip(collected, given("scan_output_axes", outputs), strict=True)
    ]
    return [*carried, *stacked]


def _count_round(g: Builder) -> None:
    g.rounds += 1
    if g.rounds > _MOST_ROUNDS:
        g.fail(f"each round becomes code, and there are more than {_MOST_ROUNDS} of all loops")


def _part(g: Builder, value: Value, axis: int, place: int) -> Value:
    if value.constant is not None:
        return g.constant(np.take(value.constant, place, axis), weight=value.weight)
    return squeezed(g, section(g, value, axis, place, 1), [axis])


def _stacked(g: Builder, rows: Sequence[Value], axis: int) -> Value:
    """Rows along a new axis."""
    if not rows:
        g.fail("has no round, so that the shape of what its rounds would give is not known")
    if len({(row.shape, row.dtype) for row in rows}) > 1:
        g.fail("its rounds give results of different shapes")
    shape, rank = rows[0].shape, rows[0].rank + 1
    if not -rank <= axis < rank:
        g.fail(f"axis {axis} of a tensor with {rank} axes")
    axis %= rank
    numbers = [row.constant for row in rows if row.constant is not None and not row.weight]
    if len(numbers) == len(rows):
        return g.constant(np.stack(numbers, axis))
    longer: tuple[Extent, ...] = (*shape[:axis], ONE, *shape[axis:])
    return concat(g, [g.reshape(row, longer) for row in rows], axis)
