"""What a compiler's driver would run: the cc1 jobs of a command line, as `clang -###` prints them.

Imports nothing at the start, as _cc1.
"""

from __future__ import annotations

if __package__:
    from . import _cc1
else:  # started as a script, by a wrapper
    import _cc1  # type: ignore[import-not-found, no-redef]

TYPE_CHECKING = False  # typing's, without its import
if TYPE_CHECKING:
    from collections.abc import Callable

    # Gives the exit status of a driver with such arguments, and what it has printed.
    Ask = Callable[[list[str]], tuple[int, str]]

_COMPILED = ("-emit-obj", "-S", "-emit-llvm", "-emit-llvm-bc")
_LANGUAGES = ("c", "c++", "cpp-output", "c++-cpp-output", "objective-c", "objective-c++")


class Job:
    """A source that is compiled: cc1's arguments, the source, and where its object goes."""

    def __init__(self, arguments: list[str], source: str, output: str) -> None:
        self.arguments = arguments
        self.source = source
        self.output = output

    def name(self, words: list[str]) -> str:
        """The object's name if the command line, or its default, has it: else it is temporary, and
        the source's name is told."""
        stem = self.source.rpartition("/")[2].rpartition(".")[0]
        given = self.output in words or self.output in (f"{stem}.o", f"{stem}.s", f"{stem}.bc")
        if given and self.output not in ("-", "/dev/null"):
            return self.output
        return "stdin.o" if self.source == "-" else f"{self.source}.o"


class DriverError(ValueError):
    """The driver does not take a command line."""


def plan(ask: Ask, words: list[str]) -> tuple[list[Job], list[str]]:
    """The jobs of a driver's command line, and those of its words that clang does not know.

    Such words, say of GCC, are left out.
    """
    rejected: list[str] = []
    while True:
        rest = [word for word in words if word not in rejected]
        status, printed = ask(["-###", *rest])
        if status == 0:
            return jobs(printed), rejected
        more = [word for word in unknown(printed, rest) if word not in rejected]
        if not more:
            errors = [line for line in printed.splitlines() if "error:" in line]
            raise DriverError(errors[0] if errors else f"the driver exits with {status}")
        rejected += more


def jobs(printed: str, languages: tuple[str, ...] = _LANGUAGES) -> list[Job]:
    found = []
    for line in printed.splitlines():
        words = _unquoted(line)
        if len(words) < 2 or words[1] != "-cc1" or not any(word in _COMPILED for word in words):
            continue
        options, inputs = _cc1.options(words[1:])
        values = {option[0]: option[-1] for option in options}
        if values.get("-x") in languages and inputs:
            found.append(Job(words[1:], inputs[-1], values.get("-o", "-")))
    return found


def _unquoted(line: str) -> list[str]:
    """The words of a line of `-###`: each in double quotes, what is special after a backslash."""
    if not line.startswith(' "'):
        return []
    words = []
    word: list[str] | None = None
    characters = iter(line)
    for character in characters:
        if character == '"':
            if word is not None:
                words.append("".join(word))
            word = [] if word is None else None
        elif word is not None:
            word.append(next(characters, "") if character == "\\" else character)
    return words


def unknown(printed: str, words: list[str]) -> list[str]:
    """Those of a command line's words that clang's errors are about."""
    import re

    culprits = re.findall(
        r"error: (?:unknown argument:?|unsupported option|optimization flag|"
        r"unsupported argument '[^']*' to option|invalid (?:value|argument) '[^']*' (?:in|to)|"
        r"the clang compiler does not support|invalid argument) '?(-[^' ]+)'?",
        printed,
    )
    return [
        word
        for word in words
        if any(word == each or (each.endswith("=") and word.startswith(each)) for each in culprits)
    ]
