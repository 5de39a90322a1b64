"""Curves for TensorBoard, without it: a record per number.

PyTorch's own writer loads TensorFlow where that is installed, whose LLVM is not the compiler's.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

_POLYNOMIAL = 0x82F63B78  # of CRC-32C, reflected


def _table() -> list[int]:
    entries = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        entries.append(value)
    return entries


_TABLE = _table()


def _checksum(data: bytes) -> bytes:
    """Masked, as records have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _bytes_field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _event(step: int, content: bytes) -> bytes:
    """A message `Event`: time, step, and what it tells."""
    return b"\x09" + struct.pack("<d", time.time()) + b"\x10" + _varint(step) + content


class Events:
    """Writes a new file of events into a folder; each is on disk when `add` returns."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time():.6f}.{os.getpid()}"
        self._file = open(folder / name, "xb")  # noqa: SIM115 - closed by close
        self._write(_event(0, _bytes_field(3, b"brain.Event:2")))

    def add(self, tag: str, value: float, step: int) -> None:
        number = _bytes_field(1, tag.encode()) + b"\x15" + struct.pack("<f", value)
        self._write(_event(step, _bytes_field(5, _bytes_field(1, number))))

    def _write(self, record: bytes) -> None:
        length = struct.pack("<Q", len(record))
        self._file.write(length + _checksum(length) + record + _checksum(record))
        self._file.flush()

    def close(self) -> None:
        self._file.close()
