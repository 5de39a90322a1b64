#!/usr/bin/env python3
"""Checks that includes in src/ point downward only, and what public headers include.

A layer is a folder of src/. A file may include its own layer and the layers below. Headers in a
subfolder, such as serdes/json/, are an implementation: only that subfolder and the layers that
put things together (ASSEMBLERS) may include them; all others use the headers of the layer itself.
Inside a module, INSIDE lists which of its folders may include which.
Folders beside src/ include what BESIDE lists; their tests what they like.
Headers of gRPC, protobuf and ONNX Runtime stay in their folders (FOREIGN). With --public, only the
public headers are checked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

# Layers on one level do not see each other.
LEVELS = [
    ["core"],
    ["os"],
    ["tensor"],
    ["serdes", "channel", "log"],
    ["engine", "module"],
    ["runner", "peer", "modules"],
    ["catalog"],
    ["capi"],
]
LEVEL = {layer: level for level, layers in enumerate(LEVELS) for layer in layers}
ASSEMBLERS = {"catalog", "capi"}
# Headers of others, and the only folders of src/ that may include them.
FOREIGN = {
    "google/": ["modules/grpc"],
    "grpc": ["modules/grpc"],
    "compiler_bridge.": ["modules/grpc"],
    "onnxruntime": ["engine/onnx", "modules/onnx_ops"],
}

# Of a module's folders ('' is the module's own): what each may include beside itself.
INSIDE = {
    "modules/grpc": {
        "wire": set(),
        "proto": {"wire"},
        "channel": {"", "wire"},
        "method": {"", "wire", "proto"},
        "": {"wire", "method"},
    },
}

# Folders beside src/: the layers, and folders of their own kind, that each may include.
BESIDE = {
    "compilers/llvm/interactive": {"core", "os", "log"},
    "compilers/llvm/worker": {"core", "os"},
    "tools/cbridge-clang": {"os", "interactive", "shared"},
    "tools/shared": {"os", "shared"},
}
# Those of them that are about LLVM.
WITH_LLVM = {"compilers/llvm/worker"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"][^>"]*[>"])')


def includes(file: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1]


def place(path: Path) -> tuple[str, str]:
    """The layer and the subfolder ('' if none) of a path relative to src/."""
    parts = path.parts
    return parts[0], "/".join(parts[1:-1])


def objection(file: Path, name: str) -> str | None:
    """Why `file` may not include the quoted `name`; both relative to src/."""
    target = Path(name)
    if not (SRC / target).is_file():
        return f'"{name}" is no file below src/; write it as "layer/File.h"'
    layer, folder = place(file)
    other, other_folder = place(target)
    for each in (layer, other):
        if each not in LEVEL:
            return f"src/{each}/ is no known layer; list it in tools/check_layers.py"
    if other != layer and LEVEL[other] >= LEVEL[layer]:
        relation = "above" if LEVEL[other] > LEVEL[layer] else "beside"
        return f'{layer} may not include "{name}": {other} is {relation} it'
    module, _, inner = f"{layer}/{folder}".removeprefix("modules/").partition("/")
    if rules := INSIDE.get(f"modules/{module}") if layer == other == "modules" else None:
        inside = other_folder.partition("/")[2]
        if inside == inner or inside in rules.get(inner, set()):
            return None
        return f'modules/{module}/{inner} may not include "{name}"'
    if not other_folder or layer in ASSEMBLERS:
        return None
    if other == layer and (folder + "/").startswith(other_folder + "/"):
        return None
    where = f"{layer}/{folder}" if folder else layer
    return f'{where} may not include "{name}": {other}/{other_folder} is an implementation'


def check_public() -> Iterator[str]:
    allowed = set((ROOT / "tests/headers/allowed.txt").read_text().split())
    for file in sorted((ROOT / "include/cbridge").rglob("*.h")):
        for number, name in includes(file):
            bare = name[1:-1]
            public = bare.startswith("cbridge/") and (ROOT / "include" / bare).is_file()
            if name[0] == '"' or not (public or bare in allowed):
                yield (
                    f"{file.relative_to(ROOT)}:{number}: {name} is neither a header of "
                    "include/cbridge nor in tests/headers/allowed.txt"
                )


def check_layers() -> Iterator[str]:
    for file in sorted(SRC.rglob("*")):
        if file.suffix not in {".h", ".c", ".cpp"}:
            continue
        for number, name in includes(file):
            if name[0] == '"' and (why := objection(file.relative_to(SRC), name[1:-1])):
                yield f"{file.relative_to(ROOT)}:{number}: {why}"
            for prefix, folders in FOREIGN.items():
                inside = any((SRC / folder) in file.parents for folder in folders)
                if name[0] == "<" and name[1:].startswith(prefix) and not inside:
                    where = " or ".join(f"src/{folder}/" for folder in folders)
                    yield f"{file.relative_to(ROOT)}:{number}: {name} belongs to {where}"


def check_beside() -> Iterator[str]:
    for folder, allowed in BESIDE.items():
        for file in sorted((ROOT / folder).glob("*.*")):
            if file.suffix not in {".h", ".cpp"} or file.stem.endswith(("Test", "FakeCompiler")):
                continue
            for number, name in includes(file):
                first, slash, _ = name[1:-1].partition("/")
                if name[0] == '"' and slash and first not in allowed:
                    yield f"{file.relative_to(ROOT)}:{number}: {folder} may not include {name}"
                if name.startswith(("<llvm", "<clang")) and folder not in WITH_LLVM:
                    yield f"{file.relative_to(ROOT)}:{number}: {folder} knows nothing of {name}"


def main() -> int:
    problems = list(check_public())
    if "--public" not in sys.argv[1:]:
        problems += check_layers()
        problems += check_beside()
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
