"""Operators that find elements: the largest, the smallest, the k first."""

from __future__ import annotations

from .._builder import ONE, Builder, loops
from .._extent import Extent, Shape, dense_strides
from .._ir import Call, Index, Literal, Load, Value
from .._registry import Node, operator
from .._types import BOOL, FLOAT, INT64
from ._checks import need_extents, need_one
from .reduction import LARGEST, SMALLEST, flattened, start_of


def _along(value: Value, axis: int) -> tuple[str, list[str], Shape]:
    """Where columns along the axis begin, with the indices and extents of loops over them."""
    indices = [f"I{i}" for i in range(value.rank)]
    place = value.at([*indices[:axis], "0", *indices[axis + 1 :]])
    rest = [*indices[:axis], *indices[axis + 1 :]]
    return place, rest, (*value.shape[:axis], *value.shape[axis + 1 :])


def place_of_best(g: Builder, value: Value, axis: int, largest: bool, last: bool) -> Value:
    """The axis stays with an extent of 1."""
    value = g.stored(value)
    if not value.rank:
        value = g.reshape(value, (ONE,))
        return g.reshape(place_of_best(g, value, 0, largest, last), ())
    count, stride = value.shape[axis], value.strides[axis]
    if count.constant == 0:
        g.fail("an empty axis has no largest or smallest element")
    place, indices, extents = _along(value, axis)
    later = "true" if last else "false"
    if value.dtype == FLOAT and stride == ONE:
        how = LARGEST if largest else SMALLEST
        start = start_of(how, value.dtype)
        found = f"placeInRow<{later}>({how.struct}(), A0 + ({place}), {count}, {start})"
    else:
        order = "Larger" if largest else "Smaller"
        found = f"placeOfBest<{order}, {later}>(A0 + ({place}), {count}, {stride})"
    shape = (*value.shape[:axis], ONE, *value.shape[axis + 1 :])
    code = loops(indices, extents, f"*Y0++ = {found};")
    name = "ArgMax" if largest else "ArgMin"
    return g.kernel(name, [(INT64, shape)], [value], code, needs=["best"])[0]


@operator("ArgMax", "ArgMin")
def _place_of_best(g: Builder, node: Node) -> Value:
    value = node[0]
    axis = node.axis(value.rank, 0)
    last = bool(node.attribute("select_last_index", 0))
    found = place_of_best(g, value, axis, node.operator == "ArgMax", last)
    if node.attribute("keepdims", 1) or not value.rank:
        return found
    return g.reshape(found, (*value.shape[:axis], *value.shape[axis + 1 :]))


@operator("Hardmax")
def _hardmax(g: Builder, node: Node) -> Value:
    value, axis = node[0], 1
    if node.opset >= 13:
        axis = node.axis(value.rank, -1)
    else:
        value = g.reshape(value, flattened(node, value))
    if value.shape[axis].constant == 0:
        return node[0]
    found = g.broadcast(place_of_best(g, value, axis, True, False), value.shape)
    here = Call("eq", (Index(axis, INT64), Load(found)), BOOL)
    one, zero = (Literal(number, value.dtype) for number in (1, 0))
    result = g.emit(value.shape, value.dtype, Call("where", (here, one, zero), value.dtype))
    return g.reshape(result, node[0].shape)


@operator("TopK")
def _topk(g: Builder, node: Node) -> list[Value]:
    value = g.stored(node[0])
    if not value.rank:
        g.fail("needs a tensor with axes")
    axis = node.axis(value.rank, -1)
    if node.opset >= 10:
        need_one(g, "K", node[1])
    wanted = node.extents(1, "k")[0] if node.opset >= 10 else Extent.of(node.attribute("k"))
    count = value.shape[axis]
    if wanted.constant is not None and wanted.constant < 0:
        g.fail(f"k is {wanted}")
    need_extents(g, "k", [wanted])
    spare = (count - wanted).constant
    if spare is not None and spare < 0:
        g.fail(f"k is {wanted}, but there are only {count}")
    shape = (*value.shape[:axis], wanted, *value.shape[axis + 1 :])
    outs = [(value.dtype, shape), (INT64, shape)]
    code = _topk_code(value, axis, wanted, bool(node.attribute("largest", 1)))
    if spare is None:
        reason = g.message("k is larger than the axis")
        code = f"if ({wanted} > {count})\nreturn {reason};\n{code}"
    scratch = [(INT64, (wanted,))]
    return g.kernel(
        "TopK", outs, [value], code, needs=["topk"], fails=spare is None, scratch=scratch
    )


def _topk_code(value: Value, axis: int, wanted: Extent, largest: bool) -> str:
    place, indices, extents = _along(value, axis)
    stride, count = value.strides[axis], value.shape[axis]
    shape = (*value.shape[:axis], wanted, *value.shape[axis + 1 :])
    out = Value(value.dtype, shape, None, dense_strides(shape))
    at = out.at([*indices[:axis], "K", *indices[axis:]])
    order = "Larger" if largest else "SmallerFirst"
    body = (
        f"const auto *P = A0 + ({place});\n"
        f"topPlaces<{order}>(P, {count}, {stride}, {wanted}, S0);\n"
        f"for (int64_t K = 0; K < {wanted}; ++K) {{\n"
        f"Y0[{at}] = P[S0[K] * {stride.factor()}];\nY1[{at}] = S0[K];\n}}"
    )
    return loops(indices, extents, body)
