"""`cbridge corpus`: modules to train and score policies on."""

from __future__ import annotations

from collections.abc import Callable

from . import corpus_make, corpus_use

_HELP = """\
usage: cbridge corpus COMMAND

Makes and uses corpora: directories of modules, as bitcode before optimization with the command that
compiles each, in MLGO's layout. Policies are trained and scored on them.

  extract     take modules from compile_commands.json, objects, or a ThinLTO build
  build       run a build, and keep what it compiles: cbridge corpus build -o DIR -- make
  fetch       take modules of Debian source packages
  replay      compile every module again
  list        print the names of modules
  info        print how much there is, and what was skipped

Each has --help. What was interrupted goes on when it is run again.
"""

_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "extract": corpus_make.extract,
    "build": corpus_make.build,
    "fetch": corpus_make.fetch,
    "replay": corpus_use.replay,
    "list": corpus_use.show_list,
    "info": corpus_use.info,
}


def main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_HELP, end="")
        return 0 if words else 2
    if words[0] not in _COMMANDS:
        return corpus_use.complain(f"corpus has no command {words[0]!r}; see --help")
    return _COMMANDS[words[0]](words[1:])
