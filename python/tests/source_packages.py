"""Source packages of Debian, for `cbridge corpus fetch`, in a repository that a test makes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

needs_apt = pytest.mark.skipif(
    not (shutil.which("apt-get") and shutil.which("dpkg-scansources")), reason="needs Debian"
)

CONTROL = """\
Source: {name}
Section: misc
Priority: optional
Maintainer: Nobody <nobody@example.org>
Standards-Version: 4.6.0

Package: {name}
Architecture: any
Description: nothing
"""
CHANGELOG = """\
{name} (1.0) unstable; urgency=low

  * First.

 -- Nobody <nobody@example.org>  Mon, 01 Jan 2024 00:00:00 +0000
"""


def make_repository(folder: Path, packages: Mapping[str, Mapping[str, str]]) -> Path:
    """The list for apt of packages with these files."""
    for name, files in packages.items():
        _make_package(folder, name, files)
    index = subprocess.run(
        ["dpkg-scansources", "."], cwd=folder, check=True, capture_output=True, timeout=60
    )
    (folder / "Sources").write_bytes(index.stdout)
    file = folder / "here.list"
    file.write_text(f"deb [trusted=yes] file:{folder} ./\n")
    return file


def _make_package(folder: Path, name: str, files: Mapping[str, str]) -> None:
    source = folder / f"{name}-1.0"
    texts = {
        **files,
        "debian/control": CONTROL.format(name=name),
        "debian/changelog": CHANGELOG.format(name=name),
        "debian/source/format": "3.0 (native)\n",
        "debian/rules": "#!/usr/bin/make -f\n%:\n\ttrue\n",
    }
    for path, text in texts.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text)
        (source / path).chmod(0o755 if path in ("configure", "debian/rules") else 0o644)
    subprocess.run(
        ["dpkg-source", "-b", source.name], cwd=folder, check=True, capture_output=True, timeout=60
    )
    shutil.rmtree(source)
