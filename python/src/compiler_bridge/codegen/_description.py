"""What a generated model looks like to those who use it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Symbol:
    """An extent that varies."""

    name: str  # as in ONNX
    identifier: str  # member of Extents
    maximum: int


@dataclass(frozen=True)
class Port:
    """An input or an output."""

    name: str  # as in ONNX
    identifier: str  # member of Inputs or Outputs
    ctype: str  # "float", "int64_t", "bool", ...
    # Of an input: numbers and the identifiers of symbols. Of an output: numbers and C++
    # expressions over `extents`, such as "2 * extents.N + 1".
    shape: tuple[int | str, ...]
    capacity: int  # elements of the array


@dataclass(frozen=True)
class Description:
    """A model's struct."""

    name: str
    namespace: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    symbols: tuple[Symbol, ...]
    fingerprint: str  # 64 hexadecimal digits
    weights_size: int  # bytes
    embedded: bool  # the weights are in the source
    levels: tuple[str, ...]  # instruction sets, each of which includes those before it
    fast: bool = False  # results may differ in their last bits between levels
