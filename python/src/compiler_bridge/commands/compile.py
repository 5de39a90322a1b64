"""`cbridge compile`: a model as C++."""

from __future__ import annotations

import argparse
import os
import re
import textwrap
from pathlib import Path
from urllib.parse import quote

from ..codegen import Generated, adapter, generate, weights_file, write_files
from ..codegen._names import is_identifier
from ..codegen._toolchain import build_so
from ..codegen.ops import OPERATORS
from ..export import ModelError, _cost, _model
from ._shared import Parser, positive, reading, run

_DESCRIPTION = """\
Writes an ONNX model as C++17 that needs nothing but the standard library: NAME.h, NAME.cpp, and
NAMENative.cpp, which makes it the runner `native:NAME` of programs that are linked with it. The
same model gives the same bits on every machine.

An operator, an element type or a shape that is not supported is named with its node, and nothing
is written."""

_EPILOG = """\
examples:
  cbridge compile policy.onnx -o src/Policy       src/Policy.h, Policy.cpp, PolicyNative.cpp
  cbridge compile policy.onnx -o Policy --so      also Policy.so, for the runner native:Policy.so
  cbridge compile graph.onnx --max nodes=512      for graphs of up to 512 nodes
  cbridge compile tuned.onnx -o Tuned --weights=only
                                                  Tuned.weights, for native:Policy?weights=...
In CMake, cbridge_add_model(TARGET policy.onnx) does all of it."""


def main(words: list[str]) -> int:
    parser = Parser("compile", _DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("model", metavar="MODEL.onnx")
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR/NAME",
        help="where to, and what the model's struct is called (default: after the file, here or in "
        "the folder that is given)",
    )
    parser.add_argument(
        "--so", action="store_true", help="also make NAME.so, with the C++ compiler $CXX or c++"
    )
    parser.add_argument(
        "--max",
        dest="maxima",
        action="append",
        default=[],
        metavar="[EXTENT=]N",
        help="how large an extent that varies can be, by the name that `cbridge inspect` shows; "
        "without a name: each of them. Once for each: --max nodes=64 --max edges=256",
    )
    parser.add_argument(
        "--weights",
        choices=["embed", "file", "only"],
        default="embed",
        help="in the source (the default), in NAME.weights, or that file only",
    )
    parser.add_argument(
        "--fast",
        action="store_true",
        help="fused multiply-add where there is one: faster, but the last bits of results then "
        "depend on the processor",
    )
    parser.add_argument(
        "--namespace", default="cbridge_models", help="of the struct (default: %(default)s)"
    )
    parser.add_argument(
        "--dump",
        action="store_true",
        help="print the program after each pass; without --output, write nothing",
    )
    parser.add_argument(
        "--operators",
        action=_ListOperators,
        nargs=0,
        help="print the operators that are supported; those that ONNX defines by them are, too",
    )
    return run(parser, words, _compile)


class _ListOperators(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        names = sorted(f"{domain}::{name}" if domain else name for domain, name in OPERATORS)
        print(textwrap.fill(" ".join(names), 100))
        parser.exit()


def _compile(arguments: argparse.Namespace) -> int:
    folder, name = _destination(arguments)
    for each in arguments.namespace.split("::"):
        _check_identifier(each, "--namespace")
    if arguments.so and arguments.weights == "only":
        raise ModelError("--so: with --weights=only nothing but weights is written")
    maxima = _maxima(arguments.maxima)
    with reading(arguments.model):
        model = _model.load(arguments.model, "compile")
        wrong = _cost.weights(model).not_finite
    if wrong:
        raise ModelError(f"{arguments.model}: weight {wrong[0]}")
    try:
        made = generate(
            model,
            name,
            maxima=maxima,
            fast=arguments.fast,
            weights="embed" if arguments.weights == "embed" else "file",
            namespace=arguments.namespace,
            made_from=Path(arguments.model).name,
        )
    except ModelError as error:
        raise ModelError(f"{arguments.model}: {error}") from None
    if arguments.dump:
        print(made.dump, end="")
        if arguments.output is None:
            return 0
    files: dict[str, str | bytes] = {}
    if arguments.weights != "only":
        files[f"{name}.h"] = made.header
        files[f"{name}.cpp"] = made.source
        files[f"{name}Native.cpp"] = adapter(made.description, f"{name}.h")
    if arguments.weights != "embed":
        files[f"{name}.weights"] = weights_file(made.description, made.weights)
    if arguments.so:
        # First, since it may fail: then nothing is written.
        files[f"{name}.so"] = build_so(made, os.environ.get("CXX"))
    write_files(folder, files)
    _report(arguments, folder, name, made, list(files))
    return 0


def _destination(arguments: argparse.Namespace) -> tuple[Path, str]:
    path = Path(arguments.output or "")
    if path.is_dir():
        words = re.split(r"\W+|_", Path(arguments.model).stem, flags=re.ASCII)
        name = "".join(word[:1].upper() + word[1:] for word in words)
        if name[:1].isdigit():
            name = f"Model{name}"
        return path, name or "Model"
    _check_identifier(path.name, "--output")
    return path.parent, path.name


def _check_identifier(text: str, option: str) -> None:
    if not is_identifier(text):
        hint = ": give DIR/NAME without an ending" if "." in text else ""
        raise ModelError(f"{option}: {text!r} is no name in C++{hint}")


def _maxima(given: list[str]) -> dict[str, int] | int | None:
    named: dict[str, int] = {}
    every = None
    for each in given:
        name, _, number = each.rpartition("=")
        try:
            value = positive(number)
        except argparse.ArgumentTypeError as error:
            raise ModelError(f"--max {each}: {error}") from None
        if name:
            named[name] = value
        else:
            every = value
    if named and every:
        raise ModelError("--max: with and without a name")
    return named or every


def _report(
    arguments: argparse.Namespace, folder: Path, name: str, made: Generated, files: list[str]
) -> None:
    about = made.description
    print("wrote " + ", ".join(str(folder / file) for file in files))
    for side, ports in (("input", about.inputs), ("output", about.outputs)):
        for port in ports:
            shape = ",".join(str(extent).replace("extents.", "") for extent in port.shape)
            print(f"  {side} {port.name}: {port.ctype}[{shape}]")
    for symbol in about.symbols:
        print(f"  extent {symbol.name}: up to {symbol.maximum}")
    print(f"  weights {about.weights_size:,} bytes, memory of an instance {made.memory:,} bytes")
    place = (folder / name).resolve()
    option = f"?weights={quote(str(place))}.weights" if arguments.weights == "file" else ""
    if arguments.so:
        print(f"runner: native:{quote(str(place))}.so{option}")
    elif arguments.weights != "only":
        print(f"runner: native:{name}{option}, where {name}.cpp and {name}Native.cpp are linked in")
