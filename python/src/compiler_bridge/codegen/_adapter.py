"""The file that makes a generated model one of `native:`'s."""

from __future__ import annotations

import re

from ._description import Description, Port

_TEMPLATE = """\
// Made by cbridge compile: {name} as native: sees it.
#include {header}

#include <cbridge/NativeModel.h>

namespace {{

using namespace cbridge::native;
using Model = {namespace}::{name};

{declarations}constexpr const char *Levels[] = {{{levels}, nullptr}};
{level_checks}
}} // namespace

CBRIDGE_NATIVE_MODEL({symbol}) =
    table<Model>({title}, {help}, {inputs}, {outputs}, {symbols}, Levels);

#ifdef CBRIDGE_MODEL_AS_MODULE
CBRIDGE_NATIVE_MODULE({symbol})
#endif
"""


def adapter(description: Description, header: str) -> str:
    """The text of `NameNative.cpp`; header: the name of the model's."""
    d = description
    declarations = _symbols(d)
    for side, ports in (("Input", d.inputs), ("Output", d.outputs)):
        declarations += _ports(d, side, ports)
    return _TEMPLATE.format(
        name=d.name,
        namespace=d.namespace,
        header=quoted(header),
        declarations=declarations,
        levels=", ".join(quoted(level) for level in d.levels),
        level_checks="".join(
            f"static_assert(static_cast<int>(Model::Level::{level.capitalize()}) == {number});\n"
            for number, level in enumerate(d.levels)
        ),
        symbol=table_symbol(d.namespace, d.name),
        title=quoted(d.name),
        help=quoted(f"{d.name}, made by cbridge compile"),
        inputs="Inputs" if d.inputs else "{}",
        outputs="Outputs" if d.outputs else "{}",
        symbols="Symbols" if d.symbols else "{}",
    )


def table_symbol(namespace: str, name: str) -> str:
    """What the linker calls the table of a model; cbridge_add_model knows it, too."""
    return "cbridge_model_" + re.sub(r"\W+", "_", f"{namespace}::{name}", flags=re.ASCII)


def quoted(text: str) -> str:
    """A string literal of C++, whatever is in the text."""
    plain = {'"': '\\"', "\\": "\\\\", "?": "\\?"}  # the last for trigraphs
    encoded = text.encode("utf-8", "surrogateescape")
    return (
        '"'
        + "".join(
            plain.get(chr(byte), chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
            for byte in encoded
        )
        + '"'
    )


def _list(kind: str, name: str, entries: list[str]) -> str:
    if not entries:
        return ""
    lines = "".join(f"    {entry},\n" for entry in entries)
    return f"constexpr {kind} {name}[] = {{\n{lines}}};\n"


def _symbols(d: Description) -> str:
    return _list(
        "cbridge_native_symbol",
        "Symbols",
        [
            f"symbol<Model, &Model::Extents::{each.identifier}>"
            f"({quoted(each.name)}, {each.maximum})"
            for each in d.symbols
        ],
    )


def _ports(d: Description, side: str, ports: tuple[Port, ...]) -> str:
    """The shapes of one side, and its list."""
    before = ""
    entries = []
    for number, port in enumerate(ports):
        text, arguments = _shape(d, f"{side}{number}", port, is_input=side == "Input")
        before += text
        entries.append(
            f"{side.lower()}<Model, &Model::{side}s::{port.identifier}>"
            f"({quoted(port.name)}, {arguments})"
        )
    return before + _list("cbridge_native_port", side + "s", entries)


def _shape(d: Description, name: str, port: Port, is_input: bool) -> tuple[str, str]:
    """Declarations for a shape, and the arguments that name them."""
    if not port.shape:
        return "", "Shape()"
    varies = any(isinstance(extent, str) for extent in port.shape)
    extents = ", ".join("-1" if isinstance(extent, str) else str(extent) for extent in port.shape)
    text = f"constexpr int64_t {name}Shape[] = {{{extents}}};\n"
    if not varies:
        return text, f"Shape({name}Shape)"
    if is_input:
        known = [symbol.identifier for symbol in d.symbols]
        which = ", ".join(
            str(known.index(extent)) if isinstance(extent, str) else "-1" for extent in port.shape
        )
        text += f"constexpr int32_t {name}Symbols[] = {{{which}}};\n"
        return text, f"Shape({name}Shape, {name}Symbols)"
    assigned = "".join(f"  To[{d_}] = {extent};\n" for d_, extent in enumerate(port.shape))
    text += (
        f"void {name[0].lower()}{name[1:]}Extents(const void *Instance, int64_t *To) {{\n"
        f"  const Model::Extents &extents = get<Model>(Instance).extents;\n{assigned}}}\n"
    )
    return text, f"Shape({name}Shape), {name[0].lower()}{name[1:]}Extents"
