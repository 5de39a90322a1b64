"""Element types: NumPy's, ONNX's and C++'s, and how values are written."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..spec import _C_NAMES

DType = np.dtype[Any]

CTYPES = {name: c for name, c in _C_NAMES.items() if name != "str"}

FLOAT, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
INT64, INT32, BOOL = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.bool_)


def ctype(dtype: DType) -> str:
    return CTYPES[dtype.name]


def itemsize(kind: str) -> int:
    """Of a type of C++."""
    return next(np.dtype(name).itemsize for name, each in CTYPES.items() if each == kind)


def supported(dtype: DType) -> bool:
    return dtype.name in CTYPES


def literal(value: Any, dtype: DType) -> str:
    """A constant in C++."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind == "f":
        return _real(dtype.type(value), "f" if dtype == FLOAT else "")
    number = int(value)
    if dtype == INT64:
        return "INT64_MIN" if number == -(2**63) else f"int64_t({number})"
    if dtype.name == "uint64":
        return f"uint64_t({number}u)"
    if dtype == INT32:
        return "INT32_MIN" if number == -(2**31) else f"int32_t({number})"
    return f"{ctype(dtype)}({number}{'u' if dtype.kind == 'u' else ''})"


def element(value: Any, dtype: DType) -> str:
    """The same in an array's initializer, where the type is known."""
    if dtype.kind in "bf":
        return literal(value, dtype)
    number = int(value)
    if number == -(2**63):
        return "INT64_MIN"
    return f"{number}{'u' if dtype.kind == 'u' else ''}"


def _real(value: Any, suffix: str) -> str:
    if np.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if np.isinf(value):
        return ("-" if value < 0 else "") + f"__builtin_inf{suffix}()"
    text = f"{float(value):.{9 if suffix else 17}g}"
    return text + ("" if any(c in text for c in ".en") else ".0") + suffix
