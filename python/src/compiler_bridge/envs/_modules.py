"""The modules that episodes compile."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from ..corpus import Corpus, Module


class Modules:
    """Those of a corpus, or the named ones of it."""

    def __init__(
        self, corpus: str | os.PathLike[str] | Corpus, names: Sequence[str] | None = None
    ) -> None:
        if isinstance(names, str):
            raise TypeError("modules are a list; for one write [name]")
        opened = corpus if isinstance(corpus, Corpus) else Corpus.open(corpus)
        known = set(opened.names)
        chosen = list(opened.names if names is None else dict.fromkeys(names))
        if unknown := [name for name in chosen if name not in known]:
            raise ValueError(f"{opened.directory} has no module {unknown[0]!r}")
        if not chosen:
            raise ValueError("there is no module to compile")
        self._all = [opened.module(name) for name in chosen]
        self._silent: set[str] = set()

    def named(self, name: str) -> Module:
        for module in self._all:
            if module.name == name:
                return module
        raise ValueError(f"{name!r} is none of the modules")

    def draw(self, random: np.random.Generator) -> Module:
        """One that is not known to ask nothing. Those are drawn and dropped, so that what is drawn
        depends on the seed alone, not on what is known."""
        while True:
            drawn = self._all[int(random.integers(len(self._all)))]
            if drawn.name not in self._silent or self.all_silent:
                return drawn

    def asks_nothing(self, module: Module) -> None:
        self._silent.add(module.name)

    @property
    def all_silent(self) -> bool:
        return len(self._silent) == len(self._all)
