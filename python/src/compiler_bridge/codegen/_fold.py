"""Constants: nodes that are evaluated when the model is compiled."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..export import _operators
from ._builder import Builder
from ._extent import Extent, shape_of
from ._ir import Array, Value
from ._types import INT32, INT64, DType, supported

# Whose results are not a function of their inputs, or would only be copied.
_NEVER = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial"}
_NEVER |= {"Bernoulli", "Dropout", "Identity", "If", "Loop", "Scan"}
_LARGEST = 1 << 26  # elements
# Those that need more memory than their inputs; they are quick.
_GROWING = {"ConstantOfShape", "Expand", "EyeLike", "OneHot", "Pad", "Range", "Tile"}
_LARGEST_GROWN = 1 << 12


def fold(
    onnx: Any, proto: Any, inputs: Sequence[Value | None], opset: int, g: Builder
) -> list[Value] | None:
    """Its outputs, if all its inputs are constants."""
    if proto.op_type in _NEVER or any(v is not None and v.constant is None for v in inputs):
        return None
    # What is done twice with the same weights, say a transposition, is one tensor.
    key: object = id(proto)  # a constant of its own, but the same one in each round of a loop
    if inputs:
        attributes = tuple(each.SerializeToString() for each in proto.attribute)
        same = tuple(id(v.constant) if v is not None else None for v in inputs)
        wanted = tuple(bool(name) for name in proto.output)
        key = (proto.domain, proto.op_type, wanted, opset, attributes, same)
    if key in g.folded:
        return g.folded[key][1]
    names = [name if name else "" for name in proto.input]
    feeds = {
        name: value.constant for name, value in zip(names, inputs, strict=True) if value is not None
    }
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            results = _evaluate(onnx, proto, feeds, opset)
    except Exception:
        return None  # the operator's own function says what is wrong
    if proto.op_type == "Cast" and not _fits(inputs[0], results[0]):
        return None  # what does not fit is not NumPy's to decide
    values = []
    largest = _LARGEST_GROWN if proto.op_type in _GROWING else _LARGEST
    weight = any(value is not None and value.weight for value in inputs)
    for array in results:
        array = np.asarray(array)
        if not supported(array.dtype) or array.size > largest:
            return None
        values.append(g.constant(array, weight=weight))
    g.folded[key] = ((proto, inputs), values)
    return values


def _fits(value: Value | None, result: Any) -> bool:
    """Whether a cast has changed no more than the fraction of a number."""
    source, to = None if value is None else value.constant, np.asarray(result).dtype
    if source is None or source.dtype.kind != "f" or to.kind not in "iu":
        return True
    limits = np.iinfo(to)
    wide = source.astype(np.float64)
    return bool(np.all((wide > limits.min - 1.0) & (wide < limits.max + 1.0)))


def _evaluate(onnx: Any, proto: Any, feeds: dict[str, Array | None], opset: int) -> list[Any]:
    helper, undefined = onnx.helper, onnx.TensorProto.UNDEFINED
    outputs = [name for name in proto.output if name]
    node = onnx.NodeProto()
    node.CopyFrom(proto)
    graph = helper.make_graph(
        [node],
        "constant",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype), None
            )
            for name, array in feeds.items()
        ],
        [helper.make_tensor_value_info(name, undefined, None) for name in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(proto.domain, opset)])
    ours = _operators.reference_operators()  # which imports onnx.reference, too
    evaluator = onnx.reference.ReferenceEvaluator(model, new_ops=ours)
    found = iter(evaluator.run(outputs, feeds))
    return [next(found) if name else np.zeros(0, np.float32) for name in proto.output]


def fold_extents(
    onnx: Any, proto: Any, inputs: Sequence[Value | None], g: Builder
) -> list[Value] | None:
    """The same for arithmetic with extents, by which models compute shapes."""
    if proto.domain not in ("", "ai.onnx") or proto.op_type not in _SYMBOLIC:
        return None
    operands: list[Array] = []
    some = False
    for value in inputs:
        if value is None:
            operands.append(np.zeros(0, object))
        elif value.extents is not None:
            operands.append(value.extents)
            some = True
        elif value.constant is not None and value.dtype.kind in "iub":
            operands.append(value.constant)
        else:
            return None
    if not some:
        return None
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in proto.attribute}
    try:
        results = _SYMBOLIC[proto.op_type](operands, attributes)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None
    if proto.op_type == "Equal":
        return [g.constant(np.asarray(results, np.bool_))]
    if proto.op_type == "Cast":
        return [symbolic(g, results, INT32 if attributes["to"] == _INT32 else INT64)]
    dtype = next(v.dtype for v in inputs if v is not None and v.extents is not None)
    return [symbolic(g, results, dtype)]


def symbolic(g: Builder, extents: Any, dtype: DType = INT64) -> Value:
    """An integer tensor of extents; a constant, if none varies."""
    array = np.empty(np.shape(extents), object)
    array[...] = extents
    for place in np.ndindex(array.shape):
        array[place] = Extent.of(array.item(place))
    numbers = [each.constant for each in array.flat]
    if None not in numbers:
        return g.constant(np.array(numbers, dtype).reshape(array.shape))
    return Value(dtype, shape_of(array.shape), extents=array)


Operands = list[Array]
_INT32, _INT64 = 6, 7  # as ONNX counts types


def _extents(array: Array) -> Array:
    result = np.empty(array.shape, object)
    for place in np.ndindex(array.shape):
        result[place] = Extent.of(array.item(place))
    return result


def _divide(left: Array, right: Array) -> Array:
    def one(a: Any, b: Any) -> Extent:
        quotient = Extent.of(a).divided_by(Extent.of(b))
        if quotient is None:
            raise ArithmeticError
        return quotient

    return np.frompyfunc(one, 2, 1)(left, right)  # type: ignore[no-any-return]


def _equal(left: Array, right: Array) -> Array:
    """Extents are never negative, so that a -1 is told from all of them."""

    def one(a: Any, b: Any) -> bool:
        a, b = Extent.of(a), Extent.of(b)
        if a == b:
            return True
        difference = (a - b).constant
        signs = [
            (a.constant or 0) < 0 <= (b.constant or 0),
            (b.constant or 0) < 0 <= (a.constant or 0),
        ]
        if difference is None and not any(signs):
            raise ArithmeticError
        return False

    result = np.frompyfunc(one, 2, 1)(left, right)
    return np.asarray(result, object)


def _gather(x: Operands, attributes: dict[str, Any]) -> Any:
    return np.take(x[0], x[1].astype(np.int64), attributes.get("axis", 0))


def _slice(x: Operands, _: dict[str, Any]) -> Any:
    def numbers(i: int, default: int) -> list[int]:
        if i >= len(x) or x[i].size == 0:
            return [default] * x[1].size
        return [_number(each) for each in x[i].reshape(-1)]

    starts, ends, steps = numbers(1, 0), numbers(2, 0), numbers(4, 1)
    axes = list(range(len(starts))) if len(x) < 4 or x[3].size == 0 else numbers(3, 0)
    cut = [slice(None)] * x[0].ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        extent = x[0].shape[axis]
        if step < 0 and end < -extent:
            cut[axis] = slice(start, None, step)
        else:
            cut[axis] = slice(start, end, step)
    return x[0][tuple(cut)]


def _number(value: Any) -> int:
    constant = Extent.of(value).constant
    if constant is None:
        raise ValueError
    return constant


def _axes(x: Operands, attributes: dict[str, Any]) -> tuple[int, ...] | None:
    if len(x) > 1:
        return tuple(_number(each) for each in x[1].reshape(-1))
    return tuple(attributes["axes"]) if "axes" in attributes else None


def _where(x: Operands, _: dict[str, Any]) -> Any:
    return np.frompyfunc(lambda c, a, b: a if c else b, 3, 1)(*x)


def _reduce_product(x: Operands, attributes: dict[str, Any]) -> Any:
    multiply: Any = np.multiply.reduce
    keep = bool(attributes.get("keepdims", 1))
    return multiply(_extents(x[0]), axis=_axes(x, attributes), keepdims=keep)


_SYMBOLIC: dict[str, Any] = {
    "Add": lambda x, _: _extents(x[0]) + _extents(x[1]),
    "Sub": lambda x, _: _extents(x[0]) - _extents(x[1]),
    "Mul": lambda x, _: _extents(x[0]) * _extents(x[1]),
    "Div": lambda x, _: _divide(x[0], x[1]),
    "Cast": lambda x, a: x[0] if a["to"] in (_INT32, _INT64) else 1 / 0,
    "Concat": lambda x, a: np.concatenate([_extents(each) for each in x], a["axis"]),
    "Equal": lambda x, _: _equal(x[0], x[1]),
    "Expand": lambda x, _: np.broadcast_to(
        x[0], np.broadcast_shapes(x[0].shape, tuple(map(_number, x[1])))
    ),
    "Gather": _gather,
    "Identity": lambda x, _: x[0],
    "ReduceProd": _reduce_product,
    "Reshape": lambda x, _: x[0].reshape([_number(each) for each in x[1]]),
    "Slice": _slice,
    "Squeeze": lambda x, a: np.squeeze(x[0], _axes(x, a)),
    "Unsqueeze": lambda x, a: np.expand_dims(x[0], _axes(x, a) or ()),
    "Where": _where,
}
