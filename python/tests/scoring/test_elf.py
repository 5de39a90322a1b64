"""Sizes of objects, against llvm-size."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest

from compiler_bridge.scoring._elf import ElfError, sections, sizes

SOURCE = """
const char text[] = "constant"; int data[100] = {1}; int zeroed[1000]; __thread int local = 3;
int user(int);
int f(int x) { return user(x) + data[x] + zeroed[x] + local; }
__attribute__((section("other"))) int g(int x) { return user(x * 3); }
__attribute__((cold)) int h(int x) { return user(x / 7); }
"""


def compiled(folder: Path, *words: str) -> Path:
    (folder / "x.c").write_text(SOURCE)
    command = ["clang-19", "-c", "-Os", "x.c", "-o", "x.o", *words]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return folder / "x.o"


def listed(path: Path) -> dict[str, int]:
    """Sizes by name, as llvm-size prints them."""
    command = ["llvm-size-19", "-A", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    found = re.findall(r"^([^\s:]\S*)\s+(\d+)\s+\d+$", text, re.MULTILINE)
    return {name: int(size) for name, size in found if name != "Total"}


@pytest.mark.parametrize(
    "words",
    [
        ["-g"],
        ["-ffunction-sections", "-fdata-sections"],
        ["--target=i386-linux-gnu"],
        ["--target=powerpc-linux-gnu"],
        ["--target=aarch64-linux-gnu"],
    ],
    ids=lambda words: words[0],
)
def test_sizes_are_those_of_llvm_size(tmp_path, words):
    path = compiled(tmp_path, *words)
    by_name = listed(path)
    code = [name for name in by_name if name.startswith(".text") or name == "other"]
    assert len(code) >= 2
    loaded = [
        name
        for name in by_name
        if name in code or name.startswith((".rodata", ".data", ".tdata", ".eh_frame", ".got2"))
    ]
    assert len(loaded) >= len(code) + 4
    found = sizes(path)
    assert found.text == sum(by_name[name] for name in code) > 0
    assert found.total == sum(by_name[name] for name in loaded)


def test_more_sections_than_16_bits_can_tell(tmp_path):
    path = compiled(tmp_path)
    data = bytearray(path.read_bytes())
    before = sections(bytes(data), "x")
    (table,) = struct.unpack_from("<Q", data, 40)
    struct.pack_into("<H", data, 60, 0)
    struct.pack_into("<Q", data, table + 32, len(before))
    assert len(sections(bytes(data), "x")) == len(before)


def test_damaged_files(tmp_path):
    whole = compiled(tmp_path).read_bytes()
    with pytest.raises(ElfError, match=r"^x\.o: is no ELF file$"):
        sections(b"BC\xc0\xde", "x.o")
    for size in (4, 5, 40, 63, len(whole) - 1):
        with pytest.raises(ElfError, match=r"^x\.o: is a damaged ELF file$"):
            sections(whole[:size], "x.o")
