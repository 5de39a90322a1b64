"""The files of a model: header and source."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._description import Description, Port, Symbol
from ._extent import Extent
from ._functions import Functions
from ._ir import Program, Value
from ._names import comment, identifier, text_of
from ._pieces import piece, pieces
from ._plan import Plan
from ._types import ctype, element, itemsize


def describe(
    program: Program, plan: Plan, name: str, namespace: str, embedded: bool
) -> tuple[Description, dict[str, str]]:
    """What the files are about, but for the fingerprint; and the members of buffers."""
    symbols: list[Symbol] = []
    for inner, original in program.symbols.items():
        symbols.append(Symbol(original, inner[2:], program.maxima[inner]))
    members: dict[str, str] = {}

    def ports(side: list[tuple[str, Value]], prefix: str) -> tuple[Port, ...]:
        result: list[Port] = []
        for original, value in side:
            made = identifier(original, [port.identifier for port in result])
            assert value.buffer
            members[value.buffer.name] = made
            result.append(
                Port(
                    original,
                    made,
                    ctype(value.dtype),
                    tuple(_described(extent, prefix) for extent in value.shape),
                    max(value.size.maximum(program.maxima), 1),
                )
            )
        return tuple(result)

    inputs, outputs = ports(program.inputs, ""), ports(program.outputs, "extents.")
    description = Description(
        name=name,
        namespace=namespace,
        inputs=inputs,
        outputs=outputs,
        symbols=tuple(symbols),
        fingerprint="",
        weights_size=plan.weights_size,
        embedded=embedded,
        levels=("baseline", "v3"),
    )
    return description, members


def instance_size(about: Description, plan: Plan) -> int:
    """Bytes, about."""
    sizes = [port.capacity * itemsize(port.ctype) for port in (*about.inputs, *about.outputs)]
    sizes += [8 * max(len(about.symbols), 1) + 16, max(plan.scratch_size, 1)]
    return sum(-(-size // 64) * 64 for size in sizes)


def _described(extent: Extent, prefix: str) -> int | str:
    known = extent.constant
    return known if known is not None else re.sub(r"\bN_", prefix, str(extent))


def _shape_comment(port: Port) -> str:
    shape = ",".join(str(e).replace("extents.", "") for e in port.shape)
    return f"{port.ctype}[{shape}]"


def header(about: Description, made_from: str, plan: Plan) -> str:
    scratch_size, size = plan.scratch_size, instance_size(about, plan)
    guard = f"{about.namespace}_{about.name}_H".upper().replace("::", "_")

    def members(ports: Sequence[Port]) -> str:
        return "".join(
            f"    /// {comment(port.name)}: {_shape_comment(port)}\n"
            f"    alignas(64) {port.ctype} {port.identifier}[{port.capacity}] = {{}};\n"
            for port in ports
        )

    extents = "".join(
        f"    static constexpr int64_t Max_{each.identifier} = {each.maximum};\n"
        f"    int64_t {each.identifier} = 0; ///< {comment(each.name)}; set it before evaluate()\n"
        for each in about.symbols
    )
    vary = (
        "\n/// Set the extents that vary before evaluate(); tensors are dense for what is set.\n///"
        if about.symbols
        else "\n///"
    )
    weights = (
        ""
        if about.embedded
        else "  /// Its weights are in a file: evaluate() fails until useWeights() was called.\n"
    )
    return f"""\
// Made by `cbridge compile` from {comment(made_from)}. Do not edit: compile the model again.
#ifndef {guard}
#define {guard}

#include <cstddef>
#include <cstdint>

namespace {about.namespace} {{

/// A model, with memory for one evaluation: fill `in`, call evaluate(), read `out`.{vary}
/// An instance belongs to one thread at a time; it has about {size:,} bytes.
struct {about.name} {{
  struct Inputs {{
{members(about.inputs)}  }};
  struct Outputs {{
{members(about.outputs)}  }};
  struct Extents {{
{extents}  }};
  /// What the processor must have. Results do not depend on it{_but_fast(about)}.
  enum class Level {{ Baseline, V3 }};

  /// The best level that this machine has.
  static Level best() noexcept;
  /// Bytes of the weights, and a name for their layout: others of the same fit, too.
  static constexpr size_t WeightsSize = {about.weights_size};
  static constexpr bool WeightsEmbedded = {"true" if about.embedded else "false"};
  static constexpr const char *Fingerprint =
      "{about.fingerprint}";

{weights}  explicit {about.name}(Level L = best()) noexcept;
  /// Other weights: WeightsSize bytes, aligned to 64, which must outlive the instance. In a file of
  /// weights they are what follows its first 64 bytes.
  void useWeights(const void *W) noexcept;
  /// Null, or why there is no result.
  const char *evaluate() noexcept;

  Inputs in;
  Outputs out;
  Extents extents;

private:
  const char *(*Run)(const void *) noexcept;
  const unsigned char *Weights;
  alignas(64) unsigned char Scratch[{max(scratch_size, 1)}];
}};

}} // namespace {about.namespace}

#endif // {guard}
"""


def _but_fast(about: Description) -> str:
    return "" if not about.fast else ", but for the last bits: --fast"


def _array(kind: str, name: str, values: Any, dtype: Any) -> str:
    lines = [f"alignas(64) const {kind} {name}[] = {{"]
    words = [element(value, dtype) for value in values]
    lines += ["    " + ", ".join(words[i : i + 8]) + "," for i in range(0, len(words), 8)]
    return "\n".join(lines) + "\n};\n"


def tables(plan: Plan) -> str:
    texts = []
    for i, buffer in enumerate(plan.tables):
        assert buffer.data is not None
        values = buffer.data.reshape(-1)
        if not values.size:
            values = np.zeros(1, buffer.dtype)
        texts.append(_array(ctype(buffer.dtype), f"Table{i}", values, buffer.dtype))
    return "".join(texts)


def weights(plan: Plan) -> str:
    """A struct with an array for each tensor, since floats are easier to read than bytes."""
    fields, values = [], []
    for i, (buffer, _) in enumerate(plan.weights.items()):
        assert buffer.data is not None
        kind, count = ctype(buffer.dtype), max(buffer.data.size, 1)
        fields.append(f"  alignas(64) {kind} W{i}[{count}];")
        words = [element(value, buffer.dtype) for value in buffer.data.reshape(-1)] or ["0"]
        rows = ["     " + ", ".join(words[j : j + 8]) for j in range(0, len(words), 8)]
        values.append("    {\n" + ",\n".join(rows) + "},")
    if not fields:
        return "alignas(64) const unsigned char Embedded[1] = {};\n"
    return (
        "struct Weights {\n" + "\n".join(fields) + "\n};\n"
        "const Weights Embedded = {\n" + "\n".join(values) + "\n};\n"
    )


def body(functions: Functions) -> tuple[str, str]:
    """What is compiled once per level: pieces, and functions, the last calling the others."""
    text = functions.text()
    return "\n".join(pieces(functions.needs | {"vec"})), indented(text)


def fingerprint(functions: str, plan: Plan) -> str:
    """Of what the weights must fit: what is done with them, and their types and sizes.

    Neither names of nodes nor the places of intermediate results matter, which maxima change.
    """
    text = re.sub(r"//[^\n]*|\"[^\"\n]*\"|(?<=F\.scratch) \+ \d+", "", functions)
    sizes = ";".join(
        f"{buffer.dtype.name}:{buffer.size}@{offset}" for buffer, offset in plan.weights.items()
    )
    tables = b"".join(b"" if t.data is None else t.data.tobytes() for t in plan.tables)
    return hashlib.sha256(f"{text}|{sizes}|".encode() + tables).hexdigest()


def source(about: Description, made_from: str, code: str, plan: Plan) -> str:
    name, inner = about.name, f"{about.name}_code"
    checks = "".join(
        f"  if (extents.{s.identifier} < 0 ||\n"
        f"      extents.{s.identifier} > Extents::Max_{s.identifier})\n"
        f'    return "extent {text_of(s.name)}: is not between 0 and {s.maximum}";\n'
        for s in about.symbols
    )
    if not about.embedded and about.weights_size:
        checks += '  if (!Weights)\n    return "there are no weights: call useWeights";\n'
    embedded = f"reinterpret_cast<const unsigned char *>(&{inner}::Embedded)"
    size_check = (
        f'static_assert(sizeof({inner}::Embedded) == {name}::WeightsSize, "layout");\n'
        if about.embedded and plan.weights
        else ""
    )
    return f"""\
// Made by `cbridge compile` from {comment(made_from)}. Do not edit: compile the model again.
// Includes itself, once for each level of the processor.
#ifndef CBRIDGE_LEVEL
{piece("prologue").text}
#include "{name}.h"
{"#define CBRIDGE_FAST 1" if about.fast else ""}
namespace {about.namespace} {{
namespace {inner} {{
namespace {{
struct Frame {{
  const {name}::Inputs &in;
  {name}::Outputs &out;
  const {name}::Extents &extents;
  unsigned char *scratch;
  const unsigned char *weights;
}};
{tables(plan)}{weights(plan) if about.embedded else ""}}} // namespace
}} // namespace {inner}
}} // namespace {about.namespace}

#define CBRIDGE_LEVEL 1
#include "{name}.cpp"
#undef CBRIDGE_LEVEL
#if defined(__x86_64__)
#define CBRIDGE_LEVEL 3
#include "{name}.cpp"
#undef CBRIDGE_LEVEL
#endif
{"#undef CBRIDGE_FAST" if about.fast else ""}
namespace {about.namespace} {{
{size_check}
{name}::Level {name}::best() noexcept {{
#if defined(__x86_64__)
  if ({_cpu(about)})
    return Level::V3;
#endif
  return Level::Baseline;
}}

{name}::{name}(Level L) noexcept
    : Run({inner}::baseline::run),
      Weights({embedded if about.embedded else "nullptr"}) {{
#if defined(__x86_64__)
  if (L == Level::V3)
    Run = {inner}::v3::run;
#endif
  (void)L;
}}

void {name}::useWeights(const void *W) noexcept {{
  Weights = static_cast<const unsigned char *>(W);
}}

const char *{name}::evaluate() noexcept {{
{checks}  const {inner}::Frame F{{in, out, extents, Scratch, Weights}};
  return Run(&F);
}}

}} // namespace {about.namespace}
#else
{piece("level").text}
namespace {about.namespace} {{
namespace {inner} {{
namespace {{
#if CBRIDGE_LEVEL == 3
namespace v3 {{
#else
namespace baseline {{
#endif
{code}
}} // namespace (the level's)
}} // namespace
}} // namespace {inner}
}} // namespace {about.namespace}
{piece("level_end").text}
#endif
"""


def _cpu(about: Description) -> str:
    names = ["avx2", "fma"] if about.fast else ["avx2"]
    return " && ".join(f'__builtin_cpu_supports("{each}")' for each in names)


def indented(code: str) -> str:
    """By braces, for statements that are not."""
    depth, lines = 0, []
    for line in code.splitlines():
        text = line.strip()
        here = depth - 1 if text.startswith("}") else depth
        lines.append("  " * here + text if text else "")
        bare = re.sub(r"//.*|\"[^\"]*\"", "", text)
        depth += bare.count("{") - bare.count("}")
    return "\n".join(lines)
