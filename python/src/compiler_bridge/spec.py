"""Names, element types and shapes of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# The names that C++, the wire and LLVM's logs use, by NumPy name.
_C_NAMES = {
    "bool": "bool",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint8": "uint8_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
    "float32": "float",
    "float64": "double",
    "str": "string",
}
_NUMPY_NAMES = {c: numpy for numpy, c in _C_NAMES.items()}

RawSpec = tuple[str, str, tuple[int, ...]]


def _type_name(dtype: Any) -> str:
    if dtype is str or dtype == "str":
        return "str"
    if isinstance(dtype, str) and dtype in _NUMPY_NAMES:
        return _NUMPY_NAMES[dtype]
    try:
        name: str = np.dtype(dtype).name
    except TypeError:
        name = ""
    if name not in _C_NAMES:
        raise ValueError(f"{dtype!r} is no element type; there are {', '.join(_C_NAMES)}")
    return name


@dataclass(frozen=True, init=False)
class TensorSpec:
    """One tensor: `TensorSpec("embedding", "float32", [64])`.

    `dtype` is anything NumPy understands, a C name such as "int64_t", or `str`. An extent of -1
    is known only when the tensor is filled; an empty shape is a scalar.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]

    def __init__(self, name: str, dtype: Any, shape: Sequence[int] = (1,)) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "dtype", _type_name(dtype))
        object.__setattr__(self, "shape", tuple(int(extent) for extent in shape))

    def raw(self) -> RawSpec:
        return (self.name, _C_NAMES[self.dtype], self.shape)

    @classmethod
    def from_raw(cls, raw: RawSpec) -> TensorSpec:
        return cls(raw[0], raw[1], raw[2])


def raw_specs(specs: Sequence[TensorSpec] | TensorSpec | None) -> list[RawSpec]:
    if specs is None:
        return []
    if isinstance(specs, TensorSpec):
        return [specs.raw()]
    return [spec.raw() for spec in specs]
