"""C++ from ONNX: models as ordinary source files, without anything that they depend on.

from compiler_bridge.codegen import generate
made = generate(onnx.load("model.onnx"), "Model")
made.header, made.source
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from . import ops as ops
from ._adapter import adapter
from ._builder import Unsupported
from ._description import Description, Port, Symbol
from ._files import body, describe, fingerprint, header, instance_size, source
from ._functions import Functions
from ._fuse import fuse, remove_unused, write_outputs_in_place
from ._import import import_model
from ._plan import plan
from ._write import weights_file, write_files

__all__ = [
    "Description",
    "Generated",
    "Port",
    "Symbol",
    "Unsupported",
    "adapter",
    "generate",
    "weights_file",
    "write_files",
]


_LARGEST = 1 << 30  # bytes of an instance


@dataclass(frozen=True)
class Generated:
    """A model as C++. `weights`: what a file of weights has after its header. `memory`: bytes of an
    instance. `dump`: the program after each pass."""

    header: str
    source: str
    weights: bytes
    description: Description
    memory: int
    dump: str


def generate(
    model: Any,
    name: str,
    *,
    maxima: Mapping[str, int] | int | None = None,
    fast: bool = False,
    weights: str = "embed",
    namespace: str = "cbridge_models",
    made_from: str = "a model",
) -> Generated:
    """`maxima`: how large extents that vary can be, all or by name. `weights`: "embed", "file"."""
    program = import_model(model, maxima)
    dumps = [f"# imported, constants folded\n{program}"]
    for label, run in (
        ("outputs in place", write_outputs_in_place),
        ("unused removed", remove_unused),
        ("fused", fuse),
    ):
        run(program)
        dumps.append(f"# {label}\n{program}")
    layout = plan(program)
    dumps.append(f"# planned\n{layout}")
    about, members = describe(program, layout, name, namespace, weights == "embed")
    pieces, functions = body(Functions(program, layout, members))
    about = replace(about, fast=fast, fingerprint=fingerprint(functions, layout))
    size = instance_size(about, layout)
    if size > _LARGEST:
        largest = max((*about.inputs, *about.outputs), key=lambda port: port.capacity)
        raise Unsupported(
            f"an instance would have {size:,} bytes; at most {_LARGEST:,} are supported. The "
            f"largest input or output is {largest.name!r} with {largest.capacity:,} elements"
        )
    return Generated(
        header(about, made_from, layout),
        source(about, made_from, f"{pieces}\n{functions}", layout),
        layout.weights_block(),
        about,
        size,
        "\n".join(dumps),
    )
