"""What can go wrong between a compiler and its model."""

from __future__ import annotations


class BridgeError(RuntimeError):
    """A failure with a stable code, such as "peer_closed" or "illegal_decision"."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self._message = message

    def __reduce__(self) -> tuple[type[BridgeError], tuple[str, str]]:
        return type(self), (self.code, self._message)


class BridgeTimeout(BridgeError, TimeoutError):  # noqa: N818 - as socket.timeout
    """The deadline passed."""
