"""Debian's source packages, by apt with lists of its own: nothing on the system changes."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from .._children import Children
from ._errors import CorpusError
from ._tools import ToolError, run

_SYSTEM = Path("/etc/apt")
_OS_RELEASE = Path("/etc/os-release")


class Apt:
    """apt-get with a directory of its own."""

    def __init__(self, directory: Path, sources: Path | None = None) -> None:
        """`sources` is a list of apt; none: those of the system."""
        if shutil.which("apt-get") is None:
            raise CorpusError("there is no apt-get: Debian's source packages need it")
        if shutil.which("dpkg-source") is None:
            raise CorpusError("there is no dpkg-source; install the Debian package dpkg-dev")
        directory = directory.resolve()
        for folder in ("sources", "lists/partial", "cache/archives/partial"):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        if sources is None:
            text = system_sources()
        else:
            text = source_lists(sources.read_text(encoding="utf-8"), sources.suffix, None)
        if not text:
            where = sources or _SYSTEM
            raise CorpusError(f"{where}: lists no packages that sources could come from")
        (directory / "sources" / "cbridge.sources").write_text(text, encoding="utf-8")
        settings = {
            "Dir::Etc::sourcelist": os.devnull,
            "Dir::Etc::sourceparts": str(directory / "sources"),
            "Dir::State::lists": str(directory / "lists"),
            "Dir::Cache": str(directory / "cache"),
            "Acquire::Languages": "none",
            "Acquire::Retries": "2",
        }
        if os.geteuid() == 0:  # a user of apt's own could not write here
            settings["APT::Sandbox::User"] = "root"
        self._children = Children()
        self._command = ["apt-get", "-q"]
        for key, value in settings.items():
            self._command += ["-o", f"{key}={value}"]

    def update(self) -> None:
        try:
            self._run(["update"])
        except ToolError as error:
            raise CorpusError(f"cannot update the lists of packages: {error}") from None

    def source(self, package: str, directory: Path) -> Path:
        """Unpacks a source package into a directory; gives its folder."""
        directory.mkdir(parents=True, exist_ok=True)
        self._run(["--only-source", "source", package], directory)
        folders = [path for path in directory.iterdir() if path.is_dir()]
        if len(folders) != 1:
            raise CorpusError(f"the source package has {len(folders)} folders")
        return folders[0]

    def _run(self, words: Sequence[str], cwd: Path | None = None) -> None:
        run(self._children, [*self._command, *words], cwd, merge_stderr=True)


def system_sources() -> str:
    """Where this system's packages come from, as far as it is the distribution itself.

    Security fixes are left out: sources of earlier ones are removed soon.
    """
    codename = _codename()
    files = [_SYSTEM / "sources.list", *sorted((_SYSTEM / "sources.list.d").glob("*"))]
    texts = [
        source_lists(file.read_text(encoding="utf-8", errors="replace"), file.suffix, codename)
        for file in files
        if file.suffix in (".list", ".sources") and file.is_file()
    ]
    return "\n".join(text for text in texts if text)


def _codename() -> str | None:
    try:
        text = _OS_RELEASE.read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r'^VERSION_CODENAME="?([\w.-]+)', text, re.MULTILINE)
    return found.group(1) if found else None


def source_lists(text: str, suffix: str, codename: str | None) -> str:
    """The entries of a list of apt, for sources; only suites of `codename`, if there is one."""
    paragraphs = _one_line_entries(text) if suffix == ".list" else _paragraphs(text)
    entries = []
    for fields in paragraphs:
        suites = [suite for suite in fields.get("Suites", "").split() if _wanted(suite, codename)]
        if suites and fields.get("Enabled", "yes") != "no" and "URIs" in fields:
            chosen = {**fields, "Types": "deb-src", "Suites": " ".join(suites)}
            entries.append("".join(f"{key}: {value}\n" for key, value in chosen.items()))
    return "\n".join(entries)


def _wanted(suite: str, codename: str | None) -> bool:
    if "security" in suite:
        return False
    return codename is None or suite in (codename, f"{codename}-updates")


def _paragraphs(text: str) -> list[dict[str, str]]:
    paragraphs = []
    for block in re.split(r"\n\s*\n", text):
        fields: dict[str, str] = {}
        last = ""
        for line in block.splitlines():
            if line.startswith("#"):
                continue
            if line[:1].isspace() and last:  # a key in the field Signed-By
                fields[last] += f"\n{line}"
                continue
            last, colon, value = line.partition(":")
            if colon:
                fields[last] = value.strip()
        if fields:
            paragraphs.append(fields)
    return paragraphs


_ENTRY = re.compile(r"deb(?:-src)?\s+(?:\[(?P<options>[^]]*)\]\s+)?(?P<uri>\S+)\s+(?P<rest>.+)")
_OPTIONS = {"signed-by": "Signed-By", "trusted": "Trusted"}


def _one_line_entries(text: str) -> list[dict[str, str]]:
    paragraphs = []
    for line in text.splitlines():
        entry = _ENTRY.match(line.partition("#")[0].strip())
        if not entry:
            continue
        suite, *components = entry["rest"].split()
        fields = {"URIs": entry["uri"], "Suites": suite}
        if components:
            fields["Components"] = " ".join(components)
        for option in (entry["options"] or "").split():
            key, _, value = option.partition("=")
            if key in _OPTIONS:
                fields[_OPTIONS[key]] = value
        if fields not in paragraphs:
            paragraphs.append(fields)
    return paragraphs
