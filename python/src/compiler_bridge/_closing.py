"""What is used with `with`."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

from . import _core

_C = TypeVar("_C", bound="Closing")
_S = TypeVar("_S", bound="Served")


def _text_of(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # whatever its own __str__ does
        return type(error).__name__


class Closing:
    """Is closed at the end of its `with`."""

    def __enter__(self: _C) -> _C:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        raise NotImplementedError


class Served(_core.Peer):
    """A peer that tells waiting compilers of the exception that ends its `with`."""

    def __enter__(self: _S) -> _S:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is not None and not isinstance(error, (KeyboardInterrupt, GeneratorExit)):
                self._fail_all(_text_of(error))
        finally:
            self.close()
