"""Call sites by name: what the plugin's remarks tell about each decision, in their order."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

_PASS = "cbridge"
_GROWN = "Grown"  # of a call that no model was asked about
_FIELD = re.compile(r"^(?:  - )?(Name|Callee|Caller|Default|Fallback): +(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Site:
    caller: str
    callee: str
    inline: bool  # what was decided
    default: bool | None  # what LLVM's own heuristic would do at this very place
    fallback: str | None = None  # why it was that which decided


def request_of_opt(file: Path) -> list[str]:
    """Arguments of opt that write them to a file."""
    return [
        f"-pass-remarks-output={file}",
        f"-pass-remarks-filter={_PASS}",
        "-pass-remarks-format=yaml",
    ]


def request(file: Path) -> list[str]:
    """Arguments of cc1 that do."""
    return [
        "-opt-record-file",
        str(file),
        "-opt-record-passes",
        _PASS,
        "-opt-record-format",
        "yaml",
    ]


def read(file: Path) -> list[Site]:
    """None are in a file that is not there."""
    try:
        text = file.read_text(errors="replace")
    except FileNotFoundError:
        return []
    documents = re.split(r"^---.*\n", text, flags=re.MULTILINE)[1:]
    return [site for document in documents if (site := _site(document))]


def _site(document: str) -> Site | None:
    fields = {name: _unquoted(value) for name, value in _FIELD.findall(document)}
    if not {"Name", "Callee", "Caller"} <= fields.keys() or fields["Name"] == _GROWN:
        return None
    inline, fallback = fields["Name"] != "NotInlined", fields.get("Fallback")
    default = fields.get("Default")
    would = None if default is None else default == "would"
    return Site(
        fields["Caller"],
        fields["Callee"],
        inline,
        inline if fallback is not None else would,
        fallback,
    )


def _unquoted(value: str) -> str:
    """A scalar of YAML, as LLVM writes them."""
    if value.startswith("'"):
        return value[1:-1].replace("''", "'")
    if value.startswith('"'):
        try:
            return str(json.loads(value))
        except ValueError:
            return value[1:-1]
    return value
