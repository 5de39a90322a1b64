"""Policies for stock LLVM compilers."""

from ._host import InteractiveHost

__all__ = ["InteractiveHost"]
