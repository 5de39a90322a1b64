"""`cbridge corpus fetch`, from a repository of source packages that the test makes."""

from __future__ import annotations

import os
import re
import signal

import pytest
from source_packages import make_repository, needs_apt

from compiler_bridge.corpus import Corpus, _apt, _fetch, _recipes

PACKAGES = {
    "tiny-make": {
        "Makefile": "all:\n\t$(CC) -O2 -g -c one.c\n\tgcc -c two.c -o two.o\n",
        "one.c": "int one(void) { return 1; }\n",
        "two.c": "int two(void) { return 2; }\n",
    },
    "tiny-configure": {
        "configure": "#!/bin/sh\necho int x\\; >conftest.c\n$CC -c conftest.c\ncp in Makefile\n",
        "in": "all: three.o none.o\n",
        "three.c": "int three(void) { return 3; }\n",
        "none.c": "#include <no_such_library.h>\n",
    },
    "tiny-again": {"Makefile": "all: same.o\n", "same.c": "int one(void) { return 1; }\n"},
    "tiny-nothing": {"README": "no program\n"},
    "tiny-broken": {"Makefile": "all:\n\tfalse\n"},
}


# Of the process that its build waits for, the log has the number.
SLOW = {"Makefile": "all: one.o\n\t@echo waits $$$$; exec sleep 60\n", "one.c": "int one;\n"}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A list of apt with a repository in a folder."""
    return make_repository(tmp_path_factory.mktemp("repository"), {**PACKAGES, "tiny-slow": SLOW})


@needs_apt
def test_packages(sources, tmp_path, cbridge):
    output = tmp_path / "c"
    fetch = ("fetch", "-o", output, "--sources", sources, *PACKAGES, "tiny-absent")
    said = cbridge(*fetch)
    assert said.status == 1
    assert said.out.splitlines()[:3] == [
        "tiny-make: 2 modules added",
        "tiny-configure: 1 module added; but make failed: none.c:1:10: fatal error: "
        f"'no_such_library.h' file not found; see {output}/logs/tiny-configure.log",
        "tiny-again: 0 modules added, 1 duplicate",
    ]
    assert "3 packages failed:" in said.err
    assert "tiny-nothing: cannot tell how it is built: it has none of configure, " in said.err
    assert f"tiny-broken: make failed; see {output}/logs/tiny-broken.log" in said.err
    assert "tiny-absent: apt-get: Unable to find a source package for tiny-absent" in said.err
    assert "no_such_library.h" in (output / "logs/tiny-configure.log").read_text()
    corpus = Corpus.open(output)
    assert sorted(corpus.names) == ["tiny-configure/three.o", "tiny-make/one.o", "tiny-make/two.o"]
    for module in corpus:
        assert "-Oz" in module.command
        assert not any(word.startswith("-debug-info-kind") for word in module.command)
    assert cbridge("replay", output).status == 0
    info = cbridge("info", output)
    assert "package tiny-make\n" in info.out
    assert "3 skipped:\n" in info.out
    # A second run tries what has failed, and nothing else.
    again = cbridge(*fetch)
    assert again.out.startswith("tiny-make: nothing to do\ntiny-configure: nothing to do\n")
    assert "3 packages failed:" in again.err


@needs_apt
def test_what_another_corpus_has_is_left_out(sources, tmp_path, cbridge):
    training, validation = tmp_path / "training", tmp_path / "validation"
    fetch = ("fetch", "--sources", sources)
    assert cbridge(*fetch, "tiny-make", "-o", training).status == 0
    said = cbridge(
        *(*fetch, "tiny-again", "tiny-configure", "-o", validation, "--without", training)
    )
    assert said.status == 0
    assert Corpus.open(validation).names == ("tiny-configure/three.o",)
    listed = cbridge("list", "--duplicates", validation)
    assert listed.out == f"tiny-again/same.o: is {training}/tiny-make/one.o\n"
    wrong = cbridge(*fetch, "tiny-make", "-o", training, "--without", training)
    assert "cannot be made without what it has itself" in wrong.err


@needs_apt
def test_the_work_folder_is_left_if_it_is_named(sources, tmp_path, cbridge):
    words = ("tiny-make", "--work", tmp_path / "w", "--clang-arg=-O2", "--sources", sources)
    assert cbridge("fetch", "-o", tmp_path / "c", *words).status == 0
    assert (tmp_path / "w/src/tiny-make/tiny-make-1.0/one.o").exists()
    assert "-O2" in Corpus.open(tmp_path / "c").module("tiny-make/one.o").command


@pytest.mark.parametrize("name", ["{}/victim", "../victim", "victim/", ".", "..", "Sed", "-q", ""])
def test_what_is_no_name_is_refused(tmp_path, cbridge, monkeypatch, name):
    """Most of all paths, whose folders would be emptied."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim/file").write_text("")
    name = name.format(tmp_path)
    said = cbridge("fetch", "-o", "c", "--work", "w", "--", "tiny-make", name)
    assert said == (2, "", f"cbridge: {name!r}: is no name of a Debian source package\n")
    assert sorted(os.listdir(tmp_path)) == ["victim"]
    assert (tmp_path / "victim/file").exists()


@needs_apt
def test_folders_of_others_stay(sources, tmp_path, cbridge):
    work = tmp_path / "w"
    for name in ("tiny-make", "src/tiny-make"):
        (work / name).mkdir(parents=True)
        (work / name / "file").write_text("")
    fetch = ("fetch", "tiny-make", "--work", work, "--sources", sources, "-o", tmp_path / "c")
    said = cbridge(*fetch)
    assert said.status == 1
    assert f"tiny-make: {work}/src/tiny-make: was not made by cbridge corpus fetch; " in said.err
    (work / "src/tiny-make/file").rename(work / "file")
    assert cbridge(*fetch).status == 0
    # A later run replaces what this one has made.
    (work / "src/tiny-make/tiny-make-1.0/left").write_text("")
    assert cbridge(*fetch, "--clang-arg=-O2").status == 0
    assert not (work / "src/tiny-make/tiny-make-1.0/left").exists()
    assert (work / "tiny-make/file").exists()
    (tmp_path / "other/apt/lists").mkdir(parents=True)
    said = cbridge("fetch", "tiny-again", "--work", tmp_path / "other", "-o", tmp_path / "c")
    assert said.status == 2
    assert f"cbridge: {tmp_path}/other/apt: was not made by cbridge" in said.err


@needs_apt
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_interrupts_it_ends_the_build(
    sources, tmp_path, start, until, process_state, number, cbridge
):
    script = "import sys; from compiler_bridge.__main__ import main; sys.exit(main(sys.argv[1:]))"
    words = ["-o", str(tmp_path / "c"), "--sources", str(sources)]
    process = start(script, "corpus", "fetch", "tiny-make", "tiny-slow", *words)
    log = tmp_path / "c/logs/tiny-slow.log"
    found = until(lambda: log.exists() and re.search(r"^waits (\d+)$", log.read_text(), re.M))
    os.kill(process.pid, number)
    status, printed, errors = process.finish()
    assert printed == "tiny-make: 2 modules added\n"
    assert (status, errors) == (130, "cbridge: interrupted; the same command goes on from here\n")
    until(lambda: process_state(int(found.group(1))) is None, "the build goes on")
    assert sorted(Corpus.open(tmp_path / "c").names) == ["tiny-make/one.o", "tiny-make/two.o"]
    assert cbridge("fetch", "tiny-make", *words).out.startswith("tiny-make: nothing to do\n")


@needs_apt
def test_a_build_that_takes_too_long_is_ended(sources, tmp_path, cbridge):
    words = ("-o", tmp_path / "c", "--sources", sources, "--timeout=1")
    said = cbridge("fetch", "tiny-slow", *words)
    assert "make: takes more than 1 s\n" in said.out + said.err


@needs_apt
def test_a_list_without_packages_is_told(tmp_path, cbridge):
    (tmp_path / "none.list").write_text("# nothing\n")
    said = cbridge("fetch", "x", "-o", tmp_path / "c", "--sources", tmp_path / "none.list")
    assert said.status == 2
    assert "none.list: lists no packages that sources could come from" in said.err


def test_lists_of_a_system():
    text = """\
Types: deb
# the mirror
URIs: http://deb.debian.org/debian
Suites: bookworm bookworm-updates bookworm-security
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 xyz

Types: deb
URIs: https://example.org
Suites: nodistro

Types: deb
Enabled: no
URIs: http://deb.debian.org/debian
Suites: bookworm
"""
    assert _apt.source_lists(text, ".sources", "bookworm") == (
        "Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: bookworm bookworm-updates\n"
        "Components: main\nSigned-By: \n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n xyz\n"
    )
    lines = """\
deb [arch=amd64 signed-by=/k.gpg] http://deb.debian.org/debian bookworm main contrib # here
deb-src http://deb.debian.org/debian bookworm main
#deb http://deb.debian.org/debian bookworm-updates main
deb http://security.debian.org/debian-security bookworm-security main
"""
    assert _apt.source_lists(lines, ".list", "bookworm") == (
        "URIs: http://deb.debian.org/debian\nSuites: bookworm\nComponents: main contrib\n"
        "Signed-By: /k.gpg\nTypes: deb-src\n\n"
        "URIs: http://deb.debian.org/debian\nSuites: bookworm\nComponents: main\nTypes: deb-src\n"
    )


def test_what_was_generated_becomes_newer_than_what_it_is_made_of(tmp_path):
    names = ("Makefile.in", "sub/Makefile.in", "config.hin", "configure", "aclocal.m4")
    for name in (*names, "configure.ac"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    os.utime(tmp_path / "aclocal.m4", (1, 1))
    _fetch.settle(tmp_path)
    order = ("configure.ac", "aclocal.m4", "configure", "config.hin", "sub/Makefile.in")
    moments = [(tmp_path / name).stat().st_mtime_ns for name in order]
    assert moments == sorted(set(moments))


@pytest.mark.parametrize(
    ("files", "program"),
    [
        (["configure", "Makefile"], "./configure"),
        (["CMakeLists.txt"], "cmake"),
        (["configure.ac"], "autoreconf"),
        (["meson.build"], "meson"),
        (["Makefile"], "make"),
    ],
)
def test_how_a_package_is_built(tmp_path, files, program):
    for name in files:
        (tmp_path / name).write_text("")
    assert _recipes.recipe("any", tmp_path).steps[0][0] == program
    assert _recipes.recipe("snappy", tmp_path) == _recipes.RECIPES["snappy"]
