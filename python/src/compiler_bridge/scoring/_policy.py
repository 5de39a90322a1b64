"""What decides while a module is compiled, and what that adds to the compile."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from .._plugin import PluginMissing, find_plugin
from ._errors import ScoreError

# What the pass plugin reads its runner string from.
_VARIABLE = "CBRIDGE_INLINE_MODEL"
# Which features it computes beyond the usual ones; passed on.
_FEATURES = "CBRIDGE_INLINE_FEATURES"
# What would change, or comment on, what it does.
_CLEARED = ("CBRIDGE_DISABLE", "CBRIDGE_INLINE_EXPLAIN", _VARIABLE)
# A model behind these can change without any file changing.
_PEERS = ("shm", "pipe", "grpc")


@dataclass(frozen=True)
class Policy:
    """`heuristic:` is the plain compiler, `flags:ARGUMENTS` the compiler with more arguments, any
    other runner string a model that the plugin asks."""

    text: str
    arguments: tuple[str, ...] = ()
    plugin: Path | None = None

    @classmethod
    def parse(cls, text: str, plugin: str | None = None) -> Policy:
        scheme, colon, rest = text.partition(":")
        if not colon or not scheme:
            raise ScoreError(
                f"{text!r} is no policy; expected a runner string such as native:FILE.so, "
                "heuristic:, or flags:ARGUMENTS"
            )
        if scheme == "flags":
            try:
                return cls(text, tuple(shlex.split(rest)))
            except ValueError as error:
                raise ScoreError(f"{text!r}: {error}") from None
        if scheme == "heuristic" and not rest:
            return cls(text)
        try:
            path = find_plugin(plugin)
        except PluginMissing as error:
            raise ScoreError(f"--plugin {error}") from None
        return cls(text, (f"-fpass-plugin={path}",), path)

    @property
    def asks_a_model(self) -> bool:
        return self.plugin is not None

    @property
    def is_plain(self) -> bool:
        return self.text == "heuristic:"

    def recorded(self, folder: Path) -> Policy:
        """The same, with its decisions recorded."""
        sign = "&" if "?" in self.text else "?"
        option = f"record={quote(os.fspath(folder), safe='/')}/"
        return Policy(f"{self.text}{sign}{option}", self.arguments, self.plugin)

    @property
    def records(self) -> bool:
        """Whether its decisions can be recorded for us."""
        return self.asks_a_model and "record" not in self._options()

    @property
    def opt_arguments(self) -> tuple[str, ...]:
        """As `arguments`, of opt; which has none for clang's."""
        return (f"-load-pass-plugin={self.plugin}",) if self.plugin else ()

    @property
    def code_arguments(self) -> tuple[str, ...]:
        """Those of `arguments` that matter once the IR is optimized."""
        return () if self.asks_a_model else self.arguments

    @property
    def takes_turns(self) -> bool:
        """Whether only one compiler at a time can ask it; others would wait, and give up."""
        return self.text.startswith("pipe:")

    def environment(self) -> dict[str, str]:
        """That of a compile. What the user's shell has set for the plugin does not count."""
        inherited = {k: v for k, v in os.environ.items() if k not in _CLEARED}
        return {**inherited, _VARIABLE: self.text} if self.asks_a_model else inherited

    @property
    def is_reproducible(self) -> bool:
        """Whether it decides the same as long as the files that it names are the same."""
        return self.text.partition(":")[0] not in _PEERS and "spawn" not in self._options()

    def fingerprint(self) -> dict[str, object]:
        """What its decisions depend on."""
        files = sorted(set(self._named_files()))
        features = os.environ.get(_FEATURES, "") if self.asks_a_model else ""
        return {
            "policy": self.text,
            "features": features,
            "files": [[str(path), digest(path)] for path in files],
        }

    def _named_files(self) -> Iterator[Path]:
        if self.plugin:
            yield self.plugin
            target = self.text.partition(":")[2].partition("?")[0]
            words = [unquote(target), *self._options().values()]
        else:
            # -fpass-plugin=FILE, -Xclang -load -Xclang FILE, -fprofile-use=FILE ...
            words = [word.rpartition("=")[2] for word in self.arguments]
        for word in words:
            path = Path(word)
            if path.is_dir():
                yield from (each for each in path.rglob("*") if each.is_file())
            elif word and path.is_file():
                yield path

    def _options(self) -> Mapping[str, str]:
        if not self.asks_a_model:
            return {}
        options = self.text.partition("?")[2]
        pairs = (option.partition("=") for option in options.split("&") if option)
        return {key: unquote(value) for key, _, value in pairs}


def digest(path: Path) -> str:
    """Of a file's content."""
    state = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            state.update(block)
    return state.hexdigest()
