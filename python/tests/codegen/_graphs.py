"""Random ONNX graphs that are valid, node by node; recipes for the nodes are in _recipes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir
from onnx import TensorProto, helper, numpy_helper

from ._compiled import ROOT

set_hypothesis_home_dir(ROOT / "build" / "hypothesis")  # it writes there, whatever is asked

Array = np.ndarray[Any, Any]
Shape = tuple[int | str, ...]

OPSET = 21
DYNAMIC = "N"
MAXIMUM = 6  # of the extent N
_ELEMENTS = 3000  # of the largest value, with N at its maximum

DTYPES = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "int64": TensorProto.INT64,
    "int32": TensorProto.INT32,
    "bool": TensorProto.BOOL,
}
# Of nothing they are not defined; of no steps, ONNX Runtime aborts.
_OF_SOMETHING = ("LSTM", "GRU", "RNN", "ArgM", "TopK", "Reduce")
_NAMES = {int(number): name for name, number in DTYPES.items()}


@dataclass(frozen=True)
class Value:
    name: str
    dtype: str
    shape: Shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith("float")

    @property
    def has_elements(self) -> bool:
        return 0 not in self.shape

    @property
    def is_static(self) -> bool:
        return DYNAMIC not in self.shape

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(MAXIMUM if e == DYNAMIC else int(e) for e in self.shape)


@dataclass(frozen=True)
class Input:
    """An input and the values it may have."""

    value: Value
    low: int = -4
    high: int = 4


@dataclass(frozen=True)
class Graph:
    model: onnx.ModelProto
    inputs: tuple[Input, ...]
    seed: int

    @property
    def is_dynamic(self) -> bool:
        return any(not each.value.is_static for each in self.inputs)

    def samples(self) -> list[dict[str, Array]]:
        """Inputs by name; a dynamic extent has another value in each."""
        generator = np.random.default_rng(self.seed)
        extents = [MAXIMUM, 1, 3] if self.is_dynamic else [0, 0]
        nodes = self.model.graph.node
        if self.is_dynamic and not any(n.op_type.startswith(_OF_SOMETHING) for n in nodes):
            extents.append(0)
        return [
            {each.value.name: _content(each, extent, generator) for each in self.inputs}
            for extent in extents
        ]


def _content(each: Input, extent: int, generator: np.random.Generator) -> Array:
    shape = tuple(extent if e == DYNAMIC else int(e) for e in each.value.shape)
    if each.value.dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if each.value.is_float:
        return np.asarray(generator.normal(0, 2, shape), dtype=each.value.dtype)
    return np.asarray(generator.integers(each.low, each.high, shape, each.value.dtype, True))


@dataclass
class Builder:
    """A graph that grows. A node whose result is of no use is not kept."""

    generator: np.random.Generator
    dynamic: bool
    values: list[Value] = field(default_factory=list)  # what nodes may use
    inputs: list[Input] = field(default_factory=list)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    results: dict[str, onnx.ValueInfoProto] = field(default_factory=dict)
    count: int = 0

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def integer(self, low: int, high: int) -> int:
        return int(self.generator.integers(low, high, endpoint=True))

    def chance(self, percent: int) -> bool:
        return self.integer(1, 100) <= percent

    def one_of(self, items: Sequence[Any]) -> Any:
        return items[self.integer(0, len(items) - 1)]

    def pick(self, fits: Callable[[Value], bool] = lambda v: True) -> Value | None:
        """A value that fits; later ones are likelier, so that graphs are deep."""
        found = [v for v in self.values if fits(v)]
        if not found:
            return None
        return found[-1] if self.chance(50) else self.one_of(found)

    def constant(self, array: Array) -> str:
        name = self.name("c")
        self.constants.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def integers(self, *numbers: int) -> str:
        return self.constant(np.array(numbers, dtype=np.int64))

    def weights(self, *shape: int, dtype: str = "float32") -> str:
        return self.constant(self.generator.normal(0, 0.7, shape).astype(dtype))

    def input(self, dtype: str, shape: Shape, low: int = -4, high: int = 4) -> Value:
        value = Value(self.name("x"), dtype, shape)
        self.inputs.append(Input(value, low, high))
        self.values.append(value)
        return value

    def fresh(self, dtype: str, shape: Shape, low: int = -4, high: int = 4) -> str:
        """Something new of this shape: a constant or an input."""
        value = Value("", dtype, shape)
        if not value.is_static or self.chance(40):
            return self.input(dtype, shape, low, high).name
        return self.constant(_content(Input(value, low, high), 0, self.generator))

    def shape(self, *, least: int = 0) -> Shape:
        rank = self.integer(least, 4)
        extents = [0 if self.chance(1) else self.integer(1, 5) for _ in range(rank)]
        if self.dynamic and rank:
            return (DYNAMIC, *extents[1:])
        return tuple(extents)

    def node(self, operator: str, inputs: Sequence[str], outputs: int = 1, **more: Any) -> bool:
        """Adds a node, if shape inference and sizes are content with it."""
        names = [self.name("v") for _ in range(outputs)]
        used = more.pop("used", None)  # of several outputs, those that are wanted
        if used is not None:
            names = [n if i in used else "" for i, n in enumerate(names)]
        node = helper.make_node(operator, list(inputs), names, **more)
        self.nodes.append(node)
        try:
            inferred = self._inferred()
        except onnx.shape_inference.InferenceError:
            self.nodes.pop()
            return False
        found = [(n, inferred.get(n)) for n in names if n]
        if any(info is None or not _small(_value(info)) for _, info in found):
            self.nodes.pop()
            return False
        for name, info in found:
            assert info is not None
            self.results[name] = info
            value = _value(info)
            if value is not None and all(isinstance(e, int) or e == DYNAMIC for e in value.shape):
                self.values.append(value)
        return True

    def last(self) -> Value:
        return self.values[-1]

    def _inferred(self) -> dict[str, onnx.ValueInfoProto]:
        model = self.model(list(self.results.values()))
        result = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        return {info.name: info for info in result.graph.value_info}

    def model(self, outputs: Sequence[onnx.ValueInfoProto]) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "g",
            [
                helper.make_tensor_value_info(i.value.name, DTYPES[i.value.dtype], i.value.shape)
                for i in self.inputs
            ],
            outputs,
            self.constants,
        )
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10
        )


def _value(info: onnx.ValueInfoProto | None) -> Value | None:
    """None if its type or shape is not known."""
    if info is None or info.type.tensor_type.elem_type not in _NAMES:
        return None
    tensor = info.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    shape = tuple(
        d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in tensor.shape.dim
    )
    return Value(info.name, _NAMES[tensor.elem_type], shape)


def _small(value: Value | None) -> bool:
    if value is None:
        return False
    extents = [e if isinstance(e, int) else 2 * MAXIMUM for e in value.shape]
    return int(np.prod(extents)) <= _ELEMENTS


@st.composite
def graphs(draw: Callable[[st.SearchStrategy[Any]], Any], salt: int) -> Graph:
    from ._recipes import RECIPES

    # What is drawn from hypothesis is mostly small and like what was drawn before: graphs of Abs.
    number = draw(st.integers(0, 2**62))
    generator = np.random.default_rng([salt, number])
    wanted = int(generator.integers(1, 12, endpoint=True))
    builder = Builder(generator, dynamic=bool(generator.integers(0, 4) == 0))
    kinds = ["float32"] * 8 + ["float64", "int64", "int32", "bool"]
    for _ in range(builder.integer(1, 2)):
        builder.input(builder.one_of(kinds), builder.shape(least=int(builder.dynamic)))
    for _ in range(2 * wanted):
        if len(builder.nodes) >= wanted:
            break
        builder.one_of(RECIPES)(builder)
    if not builder.nodes:
        builder.node("Identity", [builder.values[0].name])
    return Graph(builder.model(_outputs(builder)), tuple(builder.inputs), number)


def _outputs(builder: Builder) -> list[onnx.ValueInfoProto]:
    """All that no node uses, and some of the others."""
    inner = {name for node in builder.nodes for name in node.input}
    return [
        info for name, info in builder.results.items() if name not in inner or builder.chance(15)
    ]


def drawn(count: int, number: int) -> list[Graph]:
    """So many graphs; the same for the same number."""
    found: list[Graph] = []

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(graphs(number))
    def collect(graph: Graph) -> None:
        found.append(graph)

    collect()
    return found
