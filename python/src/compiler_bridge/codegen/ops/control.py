"""Control flow. Generated code has none of it: rounds are written out, one after the other, and
of an If both branches are evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from .._builder import ONE, Builder
from .._extent import Extent, shape_text
from .._ir import Kernel, Value
from .._registry import Node, operator
from .._subgraph import Subgraph
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
    for branch in (then, otherwise):
        if branch.inputs or len(branch.outputs) < len(node.outputs):
            g.fail(
                f"a branch has {len(branch.inputs)} inputs and {len(branch.outputs)} outputs, "
                f"needs 0 and {len(node.outputs)}"
            )
    if condition.constant is not None:
        return then([], "then") if condition.constant.item() else otherwise([], "else")
    before = len(g.program.body)
    yes, no = then([], "then"), otherwise([], "else")
    for each in g.program.body[before:]:
        if isinstance(each, Kernel) and each.fails:
            g.fail(f"both branches are evaluated, but one can fail: {each.node}")
    scalar = g.reshape(condition, ())
    results = []
    for left, right, _ in zip(yes, no, node.outputs, strict=False):
        _need_alike(g, "branches", [left, right])
        results.append(g.map("where", scalar, left, right, dtype=left.dtype))
    return results


@operator("Loop")
def _loop(g: Builder, node: Node) -> list[Value]:
    body, carried = node.graph("body"), [node[i] for i in range(2, len(node.inputs))]
    _need_body(g, body, len(carried) + 2, len(carried) + 1, len(node.outputs) + 1)
    for i, (name, kind) in enumerate((("M", "int64"), ("cond", "bool"))):
        need_type(g, name, node.given(i), kind)
        need_one(g, name, node.given(i))
    trips = node.given(0)
    if trips is not None and trips.constant is None:
        _refuse_length(g, "the number of rounds")
    rounds = node.number(0, "the number of rounds")
    goes_on = node.number(1, "whether there is a first round", True)
    done, rows = 0, []
    while goes_on and (rounds is None or done < rounds):
        _count_round(g)
        counter = g.constant(np.array(done, np.int64))
        inputs = [counter, g.constant(np.array(True)), *carried]
        condition, *results = body(inputs, f"round {done}")
        _need_types(g, carried, results)
        carried = results[: len(carried)]
        rows.append(results[len(carried) :])
        done += 1
        if done == rounds:
            break
        need_type(g, "condition of the body", condition, "bool")
        need_one(g, "condition of the body", condition)
        if condition.constant is None:
            g.fail(
                f"whether there is a round {done} depends on values that only the running model "
                "knows"
            )
        goes_on = condition.constant.item()
    columns = range(len(body.outputs) - len(carried) - 1)
    return [*carried, *_columns(g, node, len(carried), rows, [0 for _ in columns])]


@operator("Scan")
def _scan(g: Builder, node: Node) -> list[Value]:
    if node.opset < 9:
        g.fail("before opset 9 it is not supported")
    body, count = node.graph("body"), node.attribute("num_scan_inputs")
    values = [node[i] for i in range(len(node.inputs))]
    if not 1 <= count <= len(values):
        g.fail(f"num_scan_inputs is {count}, and there are {len(values)} inputs")
    states = len(values) - count
    _need_body(g, body, len(values), states, len(node.outputs))
    carried, sequences = values[:states], values[states:]
    outputs = len(body.outputs) - states

    def given(name: str, places: int) -> list[int]:
        numbers = list(node.attribute(name) or [0] * places)
        if len(numbers) != places:
            g.fail(f"{name} has {len(numbers)} numbers, needs {places}")
        return numbers

    axes = given("scan_input_axes", count)
    lengths = []
    for i, sequence in enumerate(sequences):
        need_rank(g, f"{states + i}, which is scanned", sequence, 1, more=True)
        axes[i] = node.checked_axis(axes[i], sequence.rank)
        lengths.append(sequence.shape[axes[i]])
    rounds = lengths[0].constant
    if rounds is None:
        _refuse_length(g, "how many places it scans")
    if len(set(lengths)) > 1:
        g.fail(f"scans {' and '.join(map(str, lengths))} places, which must be the same number")
    backward, rows = given("scan_input_directions", count), []
    for done in range(rounds):
        _count_round(g)
        places = [rounds - 1 - done if back else done for back in backward]
        parts = [_part(g, *each) for each in zip(sequences, axes, places, strict=True)]
        results = body([*carried, *parts], f"round {done}")
        _need_types(g, carried, results)
        carried = results[:states]
        rows.append(results[states:])
    along, reverse = given("scan_output_axes", outputs), given("scan_output_directions", outputs)
    return [*carried, *_columns(g, node, states, rows, along, reverse)]


def _refuse_length(g: Builder, what: str) -> NoReturn:
    g.fail(
        f"{what} varies, but each round becomes code: export the model with a fixed length "
        "(--max does not help; onnx: runs such models)"
    )


def _need_body(g: Builder, body: Subgraph, inputs: int, least: int, wanted: int) -> None:
    """That it has these inputs, and outputs for what is carried and what the node gives."""
    if len(body.inputs) != inputs or len(body.outputs) < max(least, wanted):
        g.fail(
            f"its body has {len(body.inputs)} inputs and {len(body.outputs)} outputs, "
            f"needs {inputs} and at least {max(least, wanted)}"
        )


def _need_types(g: Builder, before: Sequence[Value], after: Sequence[Value]) -> None:
    for old, new in zip(before, after, strict=False):
        if old.dtype != new.dtype:
            g.fail(f"what it carries was {old.dtype}, and is {new.dtype} after a round")


def _need_alike(g: Builder, what: str, values: Sequence[Value]) -> None:
    first = values[0]
    for value in values[1:]:
        if value.dtype != first.dtype:
            g.fail(f"its {what} give results of types {first.dtype} and {value.dtype}")
        if value.shape != first.shape:
            shapes = f"{shape_text(first.shape)} and {shape_text(value.shape)}"
            g.fail(f"its {what} give results of shapes {shapes}, which must be the same")


def _count_round(g: Builder) -> None:
    g.rounds += 1
    if g.rounds > _MOST_ROUNDS:
        g.fail(f"each round becomes code, and there are more than {_MOST_ROUNDS}, or no end")


def _part(g: Builder, value: Value, axis: int, place: int) -> Value:
    if value.constant is not None:
        return g.constant(np.take(value.constant, place, axis), weight=value.weight)
    return squeezed(g, section(g, value, axis, place, 1), [axis])


def _columns(
    g: Builder,
    node: Node,
    carried: int,
    rows: Sequence[Sequence[Value]],
    axes: Sequence[int],
    backward: Sequence[int] = (),
) -> list[Value]:
    """What rounds have given, along an axis each; the node's outputs after those it carries."""
    results = []
    for i, axis in enumerate(axes):
        if not node.wants(carried + i):
            results.append(g.constant(np.zeros(0)))
            continue
        column = [row[i] for row in rows]
        if backward and backward[i]:
            column.reverse()
        results.append(_stacked(g, column, axis))
    return results


def _stacked(g: Builder, rows: Sequence[Value], axis: int) -> Value:
    """Rows along a new axis."""
    if not rows:
        g.fail("has no round, so that the shape of what its rounds would give is not known")
    _need_alike(g, "rounds", rows)
    shape, rank = rows[0].shape, rows[0].rank + 1
    if not -rank <= axis < rank:
        g.fail(f"axis {axis} of a tensor with {rank} axes")
    axis %= rank
    numbers = [row.constant for row in rows if row.constant is not None and not row.weight]
    if len(numbers) == len(rows):
        return g.constant(np.stack(numbers, axis))
    longer: tuple[Extent, ...] = (*shape[:axis], ONE, *shape[axis:])
    return concat(g, [g.reshape(row, longer) for row in rows], axis)
