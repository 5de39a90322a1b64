"""`cbridge new-model`: a random model for a signature."""

from __future__ import annotations

import argparse
from pathlib import Path
from urllib.parse import quote

from .. import export
from ..export import _model
from ..export._signature import parse_signature
from ._shared import Parser, run

_DESCRIPTION = """\
Writes a small random ONNX model for a signature, so that a pass can be developed before its model
exists. All outputs depend on all inputs; the same seed gives the same model."""

_EPILOG = """\
SIGNATURE.json, with an extent of -1 for one that is known only when a tensor is filled:
  {"inputs":  [{"name": "embedding", "type": "float", "shape": [64]}],
   "outputs": [{"name": "unroll", "type": "int64_t", "shape": [1]}]}
Types: bool, int8_t to int64_t, uint8_t to uint64_t, float, double, string; or as TensorSpec in
Python has them: int8 to int64, uint8 to uint64, float32, float64, str."""


def main(words: list[str]) -> int:
    parser = Parser("new-model", _DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("signature", metavar="SIGNATURE.json", help="what goes in and comes out")
    parser.add_argument(
        "-o", "--output", metavar="MODEL.onnx", help="where to (default: SIGNATURE.onnx)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the weights (default: %(default)s)")
    parser.add_argument(
        "--choices",
        type=int,
        default=10,
        metavar="N",
        help="integers come out from 0 to N - 1: 2 for yes or no (default: %(default)s)",
    )
    return run(parser, words, _new_model)


def _new_model(arguments: argparse.Namespace) -> int:
    source = Path(arguments.signature)
    _model.check_file(str(source))
    try:
        text = source.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise export.ModelError(f"{source}: is no text in UTF-8") from None
    signature = parse_signature(text, str(source))
    if arguments.seed < 0:
        raise export.ModelError(f"--seed: {arguments.seed} is below 0")
    output = arguments.output or str(source.with_suffix(".onnx"))
    export.new_model(
        output,
        signature.inputs,
        signature.outputs,
        seed=arguments.seed,
        choices=arguments.choices,
    )
    print(f"{output}: {len(signature.inputs)} inputs, {len(signature.outputs)} outputs")
    print(f"runner: onnx:{quote(output)}")
    return 0
