"""Corpora of modules to train and score policies on, in MLGO's layout.

for module in corpus.Corpus.open("training"):
    subprocess.run(module.compile_command("clang-19", "out.o", extra=["-mllvm", "-stats"]))
"""

from ._build import Build, build_modules
from ._errors import CorpusError
from ._extract import KINDS, Extraction, extract_modules
from ._fetch import Fetch, Package, fetch_packages
from ._inputs import Tally
from ._journal import BUILT, DUPLICATE, KEPT, SKIPPED, Entry, history
from ._layout import CLANG, Corpus, Module, levels
from ._replay import Outcome, replay
from ._tools import Toolchain
from ._writer import SKIPPED_FILE, CorpusWriter

__all__ = [
    "BUILT",
    "CLANG",
    "DUPLICATE",
    "KEPT",
    "KINDS",
    "SKIPPED",
    "SKIPPED_FILE",
    "Build",
    "Corpus",
    "CorpusError",
    "CorpusWriter",
    "Entry",
    "Extraction",
    "Fetch",
    "Module",
    "Outcome",
    "Package",
    "Tally",
    "Toolchain",
    "build_modules",
    "extract_modules",
    "fetch_packages",
    "history",
    "levels",
    "replay",
]
