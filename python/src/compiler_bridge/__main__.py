"""`python -m compiler_bridge COMMAND`: the commands of `cbridge` that are written in Python."""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Callable

from . import __version__


def _command(module: str) -> Callable[[list[str]], int]:
    """`main` of a module that is imported when it runs."""

    def run(arguments: list[str]) -> int:
        status: int = importlib.import_module(f".commands.{module}", __package__).main(arguments)
        return status

    return run


# Name -> what it does, and the function that gets its arguments and gives the exit status. The
# tool lists them, too: tools/cbridge/PythonCommands.cpp.
COMMANDS: dict[str, tuple[str, Callable[[list[str]], int]]] = {
    "compile": ("turn an ONNX model into C++", _command("compile")),
    "corpus": ("make and use corpora of modules", _command("corpus")),
    "inspect": ("show what is in an ONNX model", _command("inspect")),
    "new-model": ("write a random ONNX model for a signature", _command("new_model")),
    "score": ("compare what policies make of a corpus", _command("score")),
    "search": ("look for the best decisions of each module", _command("search")),
    "train": ("train a policy on a corpus", _command("train")),
    "verify": ("compare what engines make of an ONNX model", _command("verify")),
}


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print("usage: python -m compiler_bridge COMMAND\n")
        for name, (summary, _) in COMMANDS.items():
            print(f"  {name:<11} {summary}")
        print("  --version   print the version\n  --help      print this text\n")
        print("'cbridge --help' lists all commands.")
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(f"compiler_bridge {__version__}")
        return 0
    if arguments[0] not in COMMANDS:
        what = "option" if arguments[0].startswith("-") else "command"
        print(f"compiler_bridge: unknown {what} {arguments[0]!r}; see --help", file=sys.stderr)
        return 2
    return COMMANDS[arguments[0]][1](arguments[1:])


if __name__ == "__main__":
    # Names of files and tensors may have characters that the terminal's encoding does not.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:  # before the command was there to say more
        print("cbridge: interrupted", file=sys.stderr)
        sys.exit(130)
