"""What LLVM's own ML inline advisor records, and what ours does.

usage: compare_features.py OPT PLUGIN LLVM_ADVISOR FOLDER MODULE...

Every module is optimized in several ways by both plugins over the same model: the logs must be the
same bytes, and the code as well where no module grows too much to go on asking.
"""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

PIPELINES = ["default<Oz>", "default<O2>"]
MODELS = ["constant:0", "constant:1", "coin:7"]


def optimize(opt: str, plugin: str, variable: str, model: str, case: list[str], to: Path) -> bytes:
    """Leaves the code in `to`; returns the log."""
    to.mkdir(parents=True)
    command = [opt, f"-load-pass-plugin={plugin}", *case, "-S", "-o", str(to / "code.ll")]
    subprocess.run(command, env=os.environ | {variable: f"{model}?record={to}/"}, check=True)
    return b"".join(log.read_bytes() for log in to.glob("*.log"))


def main() -> int:
    opt, ours, llvms, folder, *modules = sys.argv[1:]
    failed = 0
    for number, (module, pipeline, model) in enumerate(product(modules, PIPELINES, MODELS)):
        case = [f"-passes={pipeline}", module]
        to = Path(folder) / str(number)
        first = optimize(opt, ours, "CBRIDGE_INLINE_MODEL", model, case, to / "ours")
        second = optimize(opt, llvms, "LLVM_ADVISOR_MODEL", model, case, to / "llvm")
        codes = [(to / by / "code.ll").read_bytes() for by in ("ours", "llvm")]
        count = first.count(b'"observation"')
        same = count > 0 and first == second
        if model == "constant:0":
            same &= codes[0] == codes[1]
        print(f"{module} {pipeline} {model}: {count} decisions{'' if same else ', UNLIKE'}")
        failed += not same
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
