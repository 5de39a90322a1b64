"""The modules that `./dev bench inline-runners` and `inline` compile."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from _make import OUT

from compiler_bridge.corpus import Corpus, CorpusError, Module

# Of the packages that policies are trained on, those that build in a minute: C++, then C.
PACKAGES = ["leveldb", "yaml-cpp", "snappy", "libjsoncpp", "tinyxml2"]
PACKAGES += ["cmark", "dash", "libyaml", "mujs"]
# The ThinLTO program: many modules that call each other, no two `main`.
PROGRAM = ["leveldb", "snappy", "yaml-cpp"]
FETCHED = OUT / "inline-corpus"
LEAST = 100  # modules that the result is to rest upon


def package(module: Module) -> str:
    return module.name.split("/", 1)[0]


def fetch(packages: Sequence[str], folder: Path, least: int) -> Path:
    """A corpus of so many modules at least. What a run before has fetched stays."""
    command = [sys.executable, "-m", "compiler_bridge", "corpus", "fetch"]
    if not is_complete(folder, packages):
        result = subprocess.run([*command, *packages, "-o", str(folder)])
        modules = len(Corpus.open(folder)) if (folder / "corpus_description.json").exists() else 0
        if modules < least:
            sys.exit(f"only {modules} modules of {', '.join(packages)} could be fetched")
        if result.returncode == 0:
            (folder / "complete").write_text("\n".join(packages) + "\n")
    return folder


def is_complete(folder: Path, packages: Sequence[str]) -> bool:
    """Whether all of these, and no others, have been fetched."""
    complete = folder / "complete"
    return complete.exists() and complete.read_text().split() == [*packages]


def fetch_some(names: Sequence[str], packages: Sequence[str], folder: Path, least: int) -> Path:
    """A corpus with these of the packages: that of all if it is there, else one of their own."""
    if [*names] == [*packages] or is_complete(folder, packages):
        return fetch(packages, folder, least)
    return fetch(names, folder.with_name("-".join([folder.name, *names])), 1)


def spread(modules: list[Module], count: int) -> list[Module]:
    """At most so many, from all over the corpus."""
    if len(modules) <= count:
        return modules
    return [modules[i * len(modules) // count] for i in range(count)]


def choose(corpus: str | None, count: int) -> tuple[Path, list[Module], list[Module]]:
    """The corpus, the modules to compile, and those of the ThinLTO program."""
    try:
        opened = Corpus.open(Path(corpus) if corpus else fetch(PACKAGES, FETCHED, LEAST))
    except CorpusError as why:
        sys.exit(str(why))
    modules = sorted(opened, key=lambda module: module.name)
    if not modules:
        sys.exit(f"{opened.directory}: there are no modules")
    program = [module for module in modules if package(module) in PROGRAM]
    return opened.directory, spread(modules, count), program or modules
