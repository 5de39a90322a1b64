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
    """A source that is compiled: cc1's arguments, the source, where cc1's output goes, and what
    becomes of that: the program, or the same."""

    def __init__(self, arguments: list[str], source: str, output: str, target: str) -> None:
        self.arguments = arguments
        self.source = source
        self.output = output
        self.target = target

    def name(self) -> str:
        """The object's name, or the source's if that is temporary, or none."""
        is_file = not self.output.startswith("-") and self.output != "/dev/null"
        if is_file and self.output == self.target:
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
    commands = _commands(printed)
    for number, words in enumerate(commands):
        if len(words) < 2 or words[1] != "-cc1" or not any(word in _COMPILED for word in words):
            continue
        options, inputs = _cc1.options(words[1:])
        values = {option[0]: option[-1] for option in options}
        if values.get("-x") in languages and inputs:
            output = values.get("-o", "-")
            target = _target(output, commands[number + 1 :])
            found.append(Job(words[1:], inputs[-1], output, target))
    return found


def _target(output: str, commands: list[list[str]]) -> str:
    """What later commands, of assembler and linker, make of an output; it, if they do not have it.

    Here arguments in response files have been read, by clang.
    """
    for words in commands:
        if output in words:
            output = words[words.index("-o") + 1] if "-o" in words[:-1] else ""
    return output


def _commands(printed: str) -> list[list[str]]:
    """The words of the lines of `-###` that are commands: each in double quotes, what is special
    after a backslash. A word may have line breaks."""
    found: list[list[str]] = []
    word: list[str] | None = None
    for line in printed.split("\n"):
        if word is not None:
            word.append("\n")
        elif line.startswith(' "'):
            found.append([])
        else:
            continue
        characters = iter(line)
        for character in characters:
            if character == '"':
                if word is not None:
                    found[-1].append("".join(word))
                word = [] if word is None else None
            elif word is not None:
                word.append(next(characters, "") if character == "\\" else character)
    return found


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
