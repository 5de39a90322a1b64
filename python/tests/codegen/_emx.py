"""Models in the C of emx-onnx-cgen, another generator, in the form of our own."""

from __future__ import annotations

import functools
import re
import subprocess
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from compiler_bridge.codegen import Description, Port

from ._compiled import Array

_CTYPES = {
    onnx.TensorProto.FLOAT: "float",
    onnx.TensorProto.DOUBLE: "double",
    onnx.TensorProto.BOOL: "bool",
    onnx.TensorProto.INT64: "int64_t",
    onnx.TensorProto.INT32: "int32_t",
}


_NAME = "the_model_of_emx"


@functools.cache
def _compiler() -> Any:
    """One for all models: it takes seconds to read its templates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from emx_onnx_cgen.compiler import Compiler, CompilerOptions
    return Compiler(CompilerOptions(model_name=_NAME, large_weight_threshold=0))


@dataclass(frozen=True)
class Foreign:
    header: str
    c: str
    description: Description
    source: str = ""


def foreign(model: onnx.ModelProto, name: str, sample: Mapping[str, Array]) -> Foreign | None:
    """The model for the extents of one sample, or none if there is something that emx lacks."""
    fixed = _fixed(model, sample)
    try:
        text = _compiler().compile(fixed).replace(_NAME, f"{name}_c")
    except Exception:
        return None
    graph = onnx.shape_inference.infer_shapes(fixed, data_prop=True).graph
    inputs, outputs = tuple(map(_port, graph.input)), tuple(map(_port, graph.output))
    if any(0 in port.shape or "?" in port.shape for port in (*inputs, *outputs)):
        return None
    description = Description(name, f"emx_{name}", inputs, outputs, (), "", 0, True, ("baseline",))
    return Foreign(_header(description), _source(text, description), description)


def _fixed(model: onnx.ModelProto, sample: Mapping[str, Array]) -> onnx.ModelProto:
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for value in result.graph.input:
        for dimension, extent in zip(
            value.type.tensor_type.shape.dim, sample[value.name].shape, strict=True
        ):
            dimension.dim_value = extent
    for value in result.graph.output:
        value.type.tensor_type.ClearField("shape")
    return onnx.shape_inference.infer_shapes(result, data_prop=True)


def _port(value: Any) -> Port:
    tensor = value.type.tensor_type
    shape = tuple(d.dim_value if d.HasField("dim_value") else "?" for d in tensor.shape.dim)
    count = 1
    for extent in shape:
        count *= extent if isinstance(extent, int) else 1
    return Port(value.name, value.name, _CTYPES[tensor.elem_type], shape, max(1, count))


def _header(d: Description) -> str:
    def members(ports: tuple[Port, ...]) -> str:
        return " ".join(f"{p.ctype} {p.identifier}[{p.capacity}] = {{}};" for p in ports)

    arguments = [f"in.{p.identifier}" for p in d.inputs]
    arguments += [f"out.{p.identifier}" for p in d.outputs]
    return f"""#pragma once
#include <cstdint>
extern "C" void {d.name}_c({", ".join(["void *"] * len(arguments))});
namespace {d.namespace} {{
struct {d.name} {{
  struct Inputs {{ {members(d.inputs)} }} in;
  struct Outputs {{ {members(d.outputs)} }} out;
  struct Extents {{}} extents;
  enum class Level {{ Baseline, V3 }};
  explicit {d.name}(Level) {{}}
  const char *evaluate() {{
    {d.name}_c({", ".join(arguments)});
    return nullptr;
  }}
}};
}}
"""


def _source(text: str, d: Description) -> str:
    """C whose constants have names that no other model's have."""
    names = re.findall(r"^const (?:EMX_UNUSED )?\w+ (\w+)\[", text, flags=re.M)
    for name in set(names):
        text = re.sub(rf"\b{name}\b", f"{d.name}_{name}", text)
    return text


def compiled(models: Mapping[int, Foreign], folder: Path) -> tuple[str, ...]:
    """Objects of those that a C compiler takes; the calls of others do not link."""

    def compile_one(item: tuple[int, Foreign]) -> str:
        source = folder / f"{item[1].description.name}.c"
        source.write_text(item[1].c)
        target = source.with_suffix(".o")
        command = ["gcc", "-O1", "-w", "-c", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True)
        return str(target) if done.returncode == 0 else ""

    with ThreadPoolExecutor(2) as pool:
        return tuple(filter(None, pool.map(compile_one, models.items())))
