"""Files on disk: all of them, or none."""

from __future__ import annotations

import contextlib
import os
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ..export._model import destination
from ..export._signature import ModelError
from ._description import Description

MAGIC = b"CBWEIGHT"
VERSION = 1


def weights_file(about: Description, payload: bytes) -> bytes:
    """The bytes of a file of weights: docs/formats/weights.md."""
    return (
        MAGIC
        + VERSION.to_bytes(4, "little")
        + bytes(4)
        + len(payload).to_bytes(8, "little")
        + bytes.fromhex(about.fingerprint)
        + checksum(payload).to_bytes(8, "little")
        + payload
    )


def checksum(data: bytes) -> int:
    """FNV-1a, over words of 64 bits."""
    value = 0xCBF29CE484222325
    for (word,) in struct.iter_unpack("<Q", data):
        value = (value ^ word) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Writes them beside their places first."""
    if not folder.is_dir():
        raise ModelError(f"there is no folder {str(folder)!r}")
    mask = os.umask(0)
    os.umask(mask)
    temporary: list[tuple[str, str]] = []
    try:
        for name, content in files.items():
            real = destination(folder / name)
            data = content if isinstance(content, bytes) else content.encode()
            handle, place = tempfile.mkstemp(prefix=f".{name}.", dir=str(Path(real).parent))
            temporary.append((place, real))
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(place, (0o777 if name.endswith(".so") else 0o666) & ~mask)
        while temporary:
            os.replace(*temporary[0])
            temporary.pop(0)
    except OSError as error:
        raise ModelError(f"{folder}: {error.strerror}") from None
    finally:
        for place, _ in temporary:
            with contextlib.suppress(OSError):
                os.unlink(place)
