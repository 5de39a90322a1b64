"""Sizes of an object file, from its section headers."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

_WRITE, _ALLOC, _EXECUTE = 1, 2, 4
_NOBITS = 8


class ElfError(ValueError):
    """The file is no ELF file, or damaged."""


@dataclass(frozen=True)
class Sizes:
    """In bytes. `text` is code; `total` all that is loaded from the file: code, constants, data,
    unwind tables. Zeroed memory (.bss) is neither: it is in no file, and no decision changes it."""

    text: int
    total: int


@dataclass(frozen=True)
class Section:
    kind: int
    flags: int
    size: int

    @property
    def is_loaded(self) -> bool:
        return bool(self.flags & _ALLOC) and self.kind != _NOBITS

    @property
    def is_code(self) -> bool:
        return self.is_loaded and bool(self.flags & _EXECUTE)


def sizes(path: str | os.PathLike[str]) -> Sizes:
    found = sections(Path(path).read_bytes(), os.fspath(path))
    return Sizes(
        text=sum(section.size for section in found if section.is_code),
        total=sum(section.size for section in found if section.is_loaded),
    )


def sections(data: bytes, name: str) -> list[Section]:
    """The section headers of an ELF file, of either word size and byte order."""
    if data[:4] != b"\x7fELF":
        raise ElfError(f"{name}: is no ELF file")
    try:
        wide = {1: False, 2: True}[data[4]]
        order = {1: "<", 2: ">"}[data[5]]
        # Offset of the table; behind flags and three sizes: size and number of its entries.
        table, entry_size, count = struct.unpack_from(
            order + ("40xQ10xHH" if wide else "32xI10xHH"), data
        )
        # Of a header: name, type, flags, address, offset, size, link, and what nobody asks for.
        entry = struct.Struct(order + ("4xIQ8x8xQI20x" if wide else "4xII4x4xII12x"))
        if count == 0 and table:
            count = entry.unpack_from(data, table)[2]  # too many for 16 bits
        found = [entry.unpack_from(data, table + i * entry_size) for i in range(count)]
    except (KeyError, IndexError, struct.error):
        raise ElfError(f"{name}: is a damaged ELF file") from None
    return [Section(kind, flags, size) for kind, flags, size, _ in found]
