"""What the commands share: arguments and errors as the tool in C++ has them."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ..export import ModelError, _check

TROUBLE = 2
INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    """One line for a mistake, and no abbreviations."""

    def __init__(self, command: str, description: str, **options: Any) -> None:
        super().__init__(
            prog=f"cbridge {command}",
            description=description,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **options,
        )

    def error(self, message: str) -> NoReturn:
        print(f"cbridge: {message}; see --help", file=sys.stderr)
        sys.exit(TROUBLE)


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number of at least 1")
    return int(text)


def path(text: str) -> str:
    """Of a file or folder. An empty one is a variable that is not set, and not the lack of it."""
    if not text:
        raise argparse.ArgumentTypeError("expected a name, which is not empty")
    return text


@contextlib.contextmanager
def reading(path: str) -> Iterator[None]:
    """Whatever else a damaged file leads to is a mistake in the file."""
    try:
        yield
    except (ModelError, OSError):
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {_check.first_line(error)}"
        raise ModelError(f"{path}: is no valid ONNX model: {what}") from None


@contextlib.contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """As by Ctrl-C, so that what was started ends, too, and what was taken is kept. The exception
    has the signal's number, since a terminal does not send this one to all."""

    def interrupt(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run(parser: Parser, words: list[str], command: Callable[[argparse.Namespace], int]) -> int:
    """Runs a command; what goes wrong is one line and exit status 2."""
    try:
        arguments = parser.parse_args(words)
        status = command(arguments)
        sys.stdout.flush()
        return status
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else TROUBLE
    except ModelError as error:
        print(f"cbridge: {error}", file=sys.stderr)
    except BrokenPipeError:
        # Nobody reads any more; nothing may be written when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        print(f"cbridge: {name}{error.strerror or error}", file=sys.stderr)
    return TROUBLE
