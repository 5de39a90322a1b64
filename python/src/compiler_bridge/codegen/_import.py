"""From ONNX to a Program: node by node, folding what is constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..export import _model
from ..export._check import first_line
from ._builder import Builder, Unsupported
from ._extent import Extent, product
from ._fold import fold, fold_extents
from ._inline import without_functions
from ._ir import Buffer, Load, Map, Program, Value, whole
from ._names import identifier
from ._registry import OPERATORS, REFUSED, Node
from ._subgraph import Body, Scope, Subgraph
from ._types import supported

_STANDARD = ("", "ai.onnx")


def import_model(model: Any, maxima: Mapping[str, int] | int | None) -> Program:
    onnx = _model.require("onnx", "compile")
    try:
        onnx.checker.check_model(model)
    except Exception as error:
        raise Unsupported(f"is no valid ONNX model: {first_line(error)}") from None
    return _Importer(onnx, without_functions(onnx, model), maxima).run()


class _Importer:
    def __init__(self, onnx: Any, model: Any, maxima: Mapping[str, int] | int | None) -> None:
        self.onnx, self.model, self.graph = onnx, model, model.graph
        self.opsets = {entry.domain: entry.version for entry in model.opset_import}
        self.given = maxima
        self.builder = Builder({})
        self.values: dict[str, Value] = {}
        self.symbols: dict[str, str] = {}  # the model's names -> identifiers
        # By node, which keeps its identity by being here, and attribute.
        self.bodies: dict[tuple[int, str], tuple[Any, Body]] = {}

    def run(self) -> Program:
        initializers = self.initializers(self.graph)
        self.values.update(initializers)
        for each in self.graph.input:
            if each.name not in initializers:
                self.add_input(each)
        self.check_maxima()
        for node in self.graph.node:
            self.translate(node, self.opsets, self.values)
        for each in self.graph.output:
            self.add_output(each)
        return self.builder.program

    def initializers(self, graph: Any) -> dict[str, Value]:
        if graph.sparse_initializer:
            raise Unsupported("sparse initializers are not supported")
        return {
            each.name: self.builder.constant(self.array(each, each.name), weight=True)
            for each in graph.initializer
        }

    def array(self, tensor: Any, what: str) -> Any:
        array = self.onnx.numpy_helper.to_array(tensor)
        if not supported(array.dtype):
            kind = "string" if array.dtype == object else array.dtype
            raise Unsupported(f"{what!r}: elements of type {kind} are not supported")
        return array

    def add_input(self, info: Any) -> None:
        if not info.type.HasField("tensor_type"):
            raise Unsupported(f"input {info.name!r}: only tensors are supported")
        tensor = info.type.tensor_type
        try:
            dtype = np.dtype(self.onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        except Exception:
            dtype = np.dtype(object)
        if not supported(dtype):
            name = self.onnx.TensorProto.DataType.Name(tensor.elem_type)
            raise Unsupported(f"input {info.name!r}: elements of type {name} are not supported")
        if not tensor.HasField("shape"):
            raise Unsupported(f"input {info.name!r}: has no shape")
        shape = tuple(
            self.extent(info.name, axis, dim) for axis, dim in enumerate(tensor.shape.dim)
        )
        inputs = self.builder.program.inputs
        value = whole(Buffer(f"in{len(inputs)}", "input", dtype, product(shape)), shape)
        inputs.append((info.name, value))
        self.values[info.name] = value

    def extent(self, name: str, axis: int, dim: Any) -> Extent:
        if dim.HasField("dim_value"):
            if dim.dim_value < 0:
                raise Unsupported(f"input {name!r}: extent {dim.dim_value}")
            return Extent.of(dim.dim_value)
        symbol = _model.extent_name(name, axis, dim)
        if symbol not in self.symbols:
            # With something in front that no other variable of generated code has.
            made = "N_" + identifier(symbol, [each[2:] for each in self.symbols.values()])
            self.symbols[symbol] = made
            self.builder.program.maxima[made] = self.maximum(symbol)
            self.builder.program.symbols[made] = symbol
        return Extent.of(self.symbols[symbol])

    def maximum(self, symbol: str) -> int:
        """0 if nobody said; check_maxima complains then."""
        given = self.given.get(symbol) if isinstance(self.given, Mapping) else self.given
        return given or 0

    def check_maxima(self) -> None:
        known = ", ".join(map(repr, self.symbols)) or "none"
        if isinstance(self.given, Mapping):
            for name in self.given:
                if name not in self.symbols:
                    raise Unsupported(f"--max {name}: no extent has this name; there are {known}")
        missing = [
            symbol for symbol, made in self.symbols.items() if self.builder.program.maxima[made] < 1
        ]
        if missing:
            made = self.symbols[missing[0]]
            place = next(
                name
                for name, value in self.builder.program.inputs
                if any(made in extent.symbols() for extent in value.shape)
            )
            options = " ".join(f"--max {symbol}=NUMBER" for symbol in missing)
            words = " ".join(f"{symbol}=NUMBER" for symbol in missing)
            raise Unsupported(
                f"input {place!r}: extent {missing[0]!r} varies; say how large it can be: "
                f"{options} (in CMake MAX {words})"
            )

    def add_output(self, info: Any) -> None:
        name = info.name
        if name not in self.values:
            raise Unsupported(f"output {name!r}: nothing computes it")
        program, builder = self.builder.program, self.builder
        builder.node = f"output {name!r}"
        source = builder.stored(self.values[name])
        declared = info.type.tensor_type.elem_type
        if declared and declared != self.onnx.helper.np_dtype_to_tensor_dtype(source.dtype):
            kind = self.onnx.TensorProto.DataType.Name(declared)
            raise Unsupported(f"output {name!r}: is {source.dtype}, not {kind} as the model says")
        buffer = Buffer(f"out{len(program.outputs)}", "output", source.dtype, source.size)
        out = whole(buffer, source.shape)
        program.outputs.append((name, out))
        builder.add(Map(builder.node, out, Load(source)))

    def translate(
        self, proto: Any, opsets: Mapping[str, int], values: Scope, inside: str = ""
    ) -> None:
        domain = "" if proto.domain in _STANDARD else proto.domain
        label = f"{domain}::{proto.op_type}" if domain else proto.op_type
        name = proto.name or next((each for each in proto.output if each), "")
        where = f"node {name!r} ({label})"
        if inside:
            where = f"{inside}, its {label}" + (f" {proto.name!r}" if proto.name else "")
        inputs = [values.get(each) if each else None for each in proto.input]
        for given, value in zip(proto.input, inputs, strict=True):
            if given and value is None:
                raise Unsupported(f"{where}: nothing computes its input {given!r}")
        outputs = self.evaluate(proto, domain, where, inputs, opsets, values)
        for each, value in zip(proto.output, outputs, strict=False):
            if each:
                values[each] = value

    def evaluate(
        self,
        proto: Any,
        domain: str,
        where: str,
        inputs: Sequence[Value | None],
        opsets: Mapping[str, int],
        values: Scope,
    ) -> Sequence[Value]:
        self.builder.node = where
        opset = opsets.get(proto.domain, opsets.get("ai.onnx", 1))
        known = fold(self.onnx, proto, inputs, opset, self.builder)
        if known is None:
            known = fold_extents(self.onnx, proto, inputs, self.builder)
        if known is not None:
            return known
        translate = OPERATORS.get((domain, proto.op_type))
        if translate is None:
            return self.expand(proto, domain, where, inputs, opset)
        attributes: dict[str, Any] = {}
        for each in proto.attribute:
            if each.HasField("g"):
                attributes[each.name] = self.subgraph(proto, each.name, opsets, values, where)
            else:
                attributes[each.name] = self.attribute(each, where)
        node = Node(where, proto.op_type, inputs, attributes, list(proto.output), opset)
        try:
            result = translate(self.builder, node)
        except Unsupported:
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {first_line(error)}"
            raise Unsupported(f"{where}: is not supported as it is used here ({what})") from error
        return [result] if isinstance(result, Value) else result

    def subgraph(
        self, node: Any, name: str, opsets: Mapping[str, int], values: Scope, where: str
    ) -> Subgraph:
        def translate(proto: Any, scope: Scope, inside: str) -> None:
            self.translate(proto, opsets, scope, inside)

        key = id(node), name
        if key not in self.bodies:
            graph = next(each.g for each in node.attribute if each.name == name)
            self.bodies[key] = node, Body(graph, self.initializers)
        return Subgraph(self.builder, self.bodies[key][1], values, where, translate)

    def attribute(self, proto: Any, where: str) -> Any:
        value = self.onnx.helper.get_attribute_value(proto)
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, self.onnx.TensorProto):
            return self.array(value, f"{where}: {proto.name}")
        if isinstance(value, list | tuple):
            return [each.decode() if isinstance(each, bytes) else each for each in value]
        return value

    def expand(
        self, proto: Any, domain: str, where: str, inputs: Sequence[Value | None], opset: int
    ) -> Sequence[Value]:
        """Operators that ONNX defines by others."""
        function = self.function_of(proto, domain, inputs, opset)
        if function is None:
            reason = REFUSED.get(proto.op_type, "the operator is not supported")
            hint = (
                "onnx: runs such models; 'cbridge compile --operators' lists what can be compiled"
            )
            raise Unsupported(f"{where}: {reason} ({hint})")
        values: dict[str, Value] = {}
        for name, value in zip(function.input, inputs, strict=False):
            if value is not None:
                values[name] = value
        attributes = {each.name: each for each in proto.attribute}
        defaults = {each.name: each for each in function.attribute_proto}
        schema = self.onnx.defs.get_schema(proto.op_type, opset, domain)
        for key, each in schema.attributes.items():
            if each.default_value.name:
                defaults.setdefault(key, each.default_value)
        opsets = {entry.domain: entry.version for entry in function.opset_import}
        for node in function.node:
            inner = self.onnx.NodeProto()
            inner.CopyFrom(node)
            del inner.attribute[:]
            for each in node.attribute:
                if not each.ref_attr_name:
                    inner.attribute.append(each)
                elif found := attributes.get(each.ref_attr_name, defaults.get(each.ref_attr_name)):
                    added = inner.attribute.add()
                    added.CopyFrom(found)
                    added.name = each.name
            # What the caller leaves out is left out inside, too.
            for i, name in enumerate(inner.input):
                if name and name not in values:
                    inner.input[i] = ""
            self.translate(inner, opsets or {"": opset}, values, where)
        return [values[name] for name in function.output if name in values]

    def function_of(
        self, proto: Any, domain: str, inputs: Sequence[Value | None], opset: int
    ) -> Any:
        defs, helper = self.onnx.defs, self.onnx.helper
        try:
            schema = defs.get_schema(proto.op_type, opset, domain)
        except Exception:
            return None
        if schema.has_context_dependent_function:
            types = []
            for value in inputs:
                if value is None:
                    types.append(self.onnx.TypeProto().SerializeToString())
                    continue
                kind = helper.np_dtype_to_tensor_dtype(value.dtype)
                shape = [extent.constant for extent in value.shape]
                types.append(helper.make_tensor_type_proto(kind, shape).SerializeToString())
            text = schema.get_context_dependent_function(proto.SerializeToString(), types)
            if not text:
                return None
            function = self.onnx.FunctionProto()
            function.ParseFromString(text)
            return function
        return schema.function_body if schema.has_function else None
