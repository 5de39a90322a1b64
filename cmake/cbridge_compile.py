"""Runs `cbridge compile` for cbridge_add_model: cbridge_compile.py MODEL.onnx -o PREFIX ...

In the sources of CompilerBridge, with the generator that lies there and without the package's
compiled part, which need not be built yet. Elsewhere, with the package of this interpreter.
"""

import contextlib
import io
import sys
import types
from pathlib import Path

package = Path(__file__).resolve().parent.parent / "python" / "src" / "compiler_bridge"
if package.is_dir():
    bare = types.ModuleType("compiler_bridge")
    bare.__path__ = [str(package)]
    sys.modules["compiler_bridge"] = bare

from compiler_bridge.commands import compile as command  # noqa: E402

with contextlib.redirect_stdout(io.StringIO()):  # a build says only what goes wrong
    status = command.main(sys.argv[1:])
sys.exit(status)
