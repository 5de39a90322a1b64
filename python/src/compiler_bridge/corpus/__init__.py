"""Corpora of modules to train and score policies on, in MLGO's layout.

for module in corpus.Corpus.open("training"):
    subprocess.run(module.compile_command("clang-19", "out.o", extra=["-mllvm", "-stats"]))
"""

from ._errors import CorpusError
from ._journal import DUPLICATE, KEPT, SKIPPED, Entry
from ._layout import CLANG, Corpus, Module
from ._tools import Toolchain
from ._writer import CorpusWriter

__all__ = [
    "CLANG",
    "DUPLICATE",
    "KEPT",
    "SKIPPED",
    "Corpus",
    "CorpusError",
    "CorpusWriter",
    "Entry",
    "Module",
    "Toolchain",
]
