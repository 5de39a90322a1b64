"""`cbridge corpus build`: a build runs as if nothing was different, and its modules are kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from compiler_bridge.corpus import Corpus, Toolchain, _wrapper

MAKEFILE = """\
CC = gcc
all: prog both
config.h:
\techo '#define OFFSET 3' >config.h
main.o: main.c config.h
\t$(CC) -O2 -fno-tree-pre -mno-fancy-math-387 -Wall -Werror -MD -c main.c -o main.o
odd.o: odd\\ "$$name.c
\t$(CC) -O2 '-DTEXT="a $$ b"' -c 'odd "$$name.c' -o odd.o
shape.o: shape.cpp
\tg++ -c shape.cpp
stdin.o:
\techo 'int from_stdin(void) { return 4; }' | $(CC) -x c -c - -o stdin.o
asm.o:
\tprintf '.globl nothing\\nnothing: ret\\n.section .note.GNU-stack,"",@progbits\\n' >asm.s
\t$(CC) -c asm.s
helper.o: helper.c
\techo -O1 -c helper.c -o helper.o >helper.rsp
\t$(CC) @helper.rsp
prog: main.o odd.o shape.o stdin.o asm.o helper.o
\tg++ $^ -o prog
both: one.c two.c
\t$(CC) one.c two.c -o both
\t$(CC) -E one.c >one.i
\t$(CC) -S -O2 two.c -o two.s
\t$(CC) -fsyntax-only one.c
\t$(CC) -M one.c >/dev/null
"""


@pytest.fixture
def make_project(project, monkeypatch):
    (project / "Makefile").write_text(MAKEFILE)
    (project / "config.h").unlink()
    (project / 'odd "$name.c').write_text("const char *text(void) { return TEXT; }\n")
    (project / "one.c").write_text("int two(void); int main(void) { return two(); }\n")
    (project / "two.c").write_text("int two(void) { return 0; }\n")
    monkeypatch.chdir(project)
    return project


def test_a_makefile(make_project, tmp_path, cbridge):
    said = cbridge("build", "-o", tmp_path / "c", "--clang-arg=-Oz", "--", "make", "-j4", "all")
    assert said.status == 0, said.err
    # The build itself went as it was asked to, but for what clang does not know.
    assert subprocess.run(["./both"], timeout=10).returncode == 0
    assert subprocess.run(["./prog"], timeout=10).returncode in (0, 1)
    assert "int two(void)" in Path("one.i").read_text()
    assert Path("main.d").read_text().startswith("main.o: main.c config.h")
    assert "once more for clang, without -fno-tree-pre -mno-fancy-math-387 -Werror\n" in said.err
    corpus = Corpus.open(tmp_path / "c")
    assert sorted(corpus.names) == [
        # The command that links two.c and the one that writes two.s compile the same.
        *("helper.o", "main.o", "odd.o", "one.c.o", "shape.o", "stdin.o", "two.c.o"),
    ]
    assert all("-Oz" in module.command for module in corpus)
    assert cbridge("replay", tmp_path / "c").status == 0
    left = {path.name for path in (tmp_path / "c").iterdir() if path.name.startswith(".")}
    assert not left


def test_a_second_build_changes_nothing(make_project, tmp_path, cbridge):
    build = ("build", "-o", tmp_path / "c", "--", "make", "helper.o", "both")
    assert "4 modules added" in cbridge(*build).out
    for name in ("helper.o", "both"):
        (make_project / name).unlink()
    assert "0 modules added, 4 unchanged" in cbridge(*build).out


def test_a_source_for_several_programs_is_taken_for_each(make_project, tmp_path, cbridge):
    script = """
        cc -O2 two.c -Dtwo=main -o p1
        cc -O2 two.c -Dtwo=main -DX -D'main(x)=main(int a)' -op2
        echo '-c helper.c -o x/h1.o' >r1
        echo '-c -Dhelper=other helper.c -o "x/h 2.o"' >r2
        mkdir -p x && cc @r1 && cc @r2
        cc -O2 two.c -Dtwo=main -o p1
        cc -c one.c -Dtwo=a -oone.o; cc -c one.c -Dtwo=b -o one.o"""
    build = ("build", "-o", tmp_path / "c", "--", "sh", "-ec", script)
    assert cbridge(*build).out.endswith("5 modules added\n")
    corpus = Corpus.open(tmp_path / "c")
    assert corpus.names == ("one.o", "two.c.o", "two.c.o~2", "x/h 2.o", "x/h1.o")
    assert b"other" in corpus.module("x/h 2.o").bitcode.read_bytes()
    assert cbridge(*build).out.endswith("0 modules added, 5 unchanged\n")


def test_what_only_gcc_warns_of_is_no_error(make_project, tmp_path, cbridge):
    words = ("-Wall", "-Werror", "-Wno-maybe-uninitialized", "-c", "helper.c")
    said = cbridge("build", "-o", tmp_path / "c", "--", "gcc", *words)
    assert said.status == 0
    assert "cbridge: once more for clang, without -Werror\n" in said.err
    assert Corpus.open(tmp_path / "c").names == ("helper.o",)


def test_what_only_gcc_knows_does_not_hinder_what_is_not_kept(make_project, tmp_path, cbridge):
    script = """
        gcc -c one.c two.c
        gcc -fno-guess-branch-probability one.o two.o -Werror -o both
        echo 'text' | gcc -fno-guess-branch-probability -E -P - >text
        gcc -fno-guess-branch-probability -M one.c >deps
        if gcc one.o -o lacks 2>errors; then exit 1; fi"""
    assert cbridge("build", "-o", tmp_path / "c", "--", "sh", "-ec", script).status == 0
    assert subprocess.run(["./both"], timeout=10).returncode == 0
    assert Path("text").read_text().strip() == "text"
    assert Path("deps").read_text().startswith("one.o: one.c")
    assert "undefined reference" in Path("errors").read_text()
    assert Corpus.open(tmp_path / "c").names == ("one.o", "two.o")


def test_the_exit_status_is_the_builds(make_project, tmp_path, cbridge):
    (make_project / "helper.c").write_text("no C\n")
    said = cbridge("build", "-o", tmp_path / "c", "--", "make", "-k", "helper.o", "both")
    assert said.status == 2
    assert "helper.c:1:1: error: unknown type name 'no'" in said.err
    assert said.err.endswith("cbridge: the build failed with status 2\n")
    assert "one.c.o" in Corpus.open(tmp_path / "c").names


CONFIGURE = """\
set -e
mkdir -p conf CMakeFiles/CMakeScratch/TryCompile-1
echo 'int main(void) { return 0; }' >conftest.c
$CC -o conftest conftest.c
cp conftest.c CMakeFiles/CMakeScratch/TryCompile-1/try.c
(cd CMakeFiles/CMakeScratch/TryCompile-1 && $CC -c try.c)
if $CC -fno-such-flag -c conftest.c 2>conf/log; then echo WRONG; exit 1; fi
if $CC -fno-such-flag -S -xc /dev/null -o null.s; then echo WRONG; exit 1; fi
if echo 'int x;' | $CC -fno-such-flag -c -x c - -o /dev/null; then echo WRONG; exit 1; fi
$CC --version
$CXX --version | grep clang
$CC -print-search-dirs >/dev/null
$CC -v 2>&1 | grep 'clang version'
for name in cc gcc clang c++ g++ clang++ c99; do
  case $(command -v $name) in */cbridge-compilers-*) ;; *) echo "$name is not ours"; exit 1 ;; esac
done
cc -c helper.c -o helper.o
"""


def test_what_configure_tries_is_not_kept_and_gets_honest_answers(make_project, tmp_path, cbridge):
    (make_project / "configure").write_text(CONFIGURE)
    said = cbridge("build", "-o", tmp_path / "c", "--", "sh", "configure")
    assert said.status == 0, said.out + said.err
    assert Corpus.open(tmp_path / "c").names == ("helper.o",)
    assert "unknown argument" in Path("conf/log").read_text()


def test_only_what_configure_itself_tries_is_left_out(make_project, tmp_path, cbridge):
    script = """
        mkdir -p my-conftest conftest.dir/sub
        for name in conftest.c conftest2.c conftest.dir/sub/conftest.c; do
          echo "int tried;" >$name
        done
        cc -c conftest.c && cc -c "$PWD/conftest.c" && cc -c conftest2.c
        (cd conftest.dir && cc -c sub/conftest.c -o sub/conftest.o)
        cp helper.c my-conftest/ && cp two.c conftests.c
        cc -c my-conftest/helper.c -o my-conftest/helper.o && cc -c conftests.c"""
    assert cbridge("build", "-o", tmp_path / "c", "--", "sh", "-ec", script).status == 0
    assert Corpus.open(tmp_path / "c").names == ("conftests.o", "my-conftest/helper.o")


def test_a_source_whose_bitcode_cannot_be_made_is_listed(make_project, tmp_path, cbridge):
    """Here because the argument that is added does not suit it."""
    said = cbridge(
        *("build", "-o", tmp_path / "c", "--clang-arg=-DFAIL", "--"),
        *("sh", "-c", "cc -c helper.c && cc -c bad.c"),
    )
    assert said.status == 1  # there is no bad.c
    (make_project / "bad.c").write_text("#ifdef FAIL\n#error bad\n#endif\n")
    said = cbridge("build", "-o", tmp_path / "c", "--clang-arg=-DFAIL", "--", "cc", "-c", "bad.c")
    assert said.status == 0
    assert "bad.o: bad.c:2:2: error: bad" in said.err
    said = cbridge("build", "-o", tmp_path / "c", "--clang-arg=-x", "--", "cc", "-c", "helper.c")
    assert "helper.c: clang-19: error: argument to '-x' is missing" in said.err


def test_a_name_with_a_line_break_is_listed(make_project, tmp_path, cbridge):
    (make_project / "a\nb.c").write_text("int odd;\n")
    script = "cc -c 'a\nb.c' && cc -c helper.c"
    said = cbridge("build", "-o", tmp_path / "c", "--", "sh", "-ec", script)
    assert said.err == "skipped:\n  a\\nb.o: its name has a line break\n"
    assert Corpus.open(tmp_path / "c").names == ("helper.o",)


def test_a_source_that_cannot_be_read_again_is_listed(make_project, tmp_path, cbridge):
    os.mkfifo("fifo.c")
    script = "cat two.c >fifo.c & cc -c fifo.c && wait && cc -c helper.c"
    said = cbridge("build", "-o", tmp_path / "c", "--", "timeout", "20", "sh", "-ec", script)
    assert (said.status, said.err) == (0, "skipped:\n  fifo.o: fifo.c: is no regular file\n")
    assert Corpus.open(tmp_path / "c").names == ("helper.o",)


def test_names_for_a_standard_choose_it(make_project, tmp_path, cbridge):
    (make_project / "old.c").write_text("int inline = 1;\n")
    said = cbridge("build", "-o", tmp_path / "c", "--", "sh", "-c", "c99 -c old.c || c89 -c old.c")
    assert "error: expected identifier" in said.err  # of c99
    assert said.status == 0


def test_only_a_compile_from_standard_input_reads_it(make_project, tmp_path):
    """`-` can be an output, too; what nobody writes would be waited for."""
    _wrapper.write(tmp_path / "bin", tmp_path / "stage", Toolchain.find(), make_project, [])
    with subprocess.Popen(
        [tmp_path / "bin/cc", "-S", "two.c", "-o", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.wait(20) == 0
        assert "two:" in process.stdout.read()
    (job,) = (tmp_path / "stage").glob("*.job")
    assert job.read_bytes().startswith(b"two.c.o\0-\0-cc1\0")


def test_compilers_for_other_machines_stay(tmp_path, monkeypatch):
    """A wrapper for one would make objects for this machine."""
    for name in ("gcc-12", "clang++-19", "mips-linux-gnu-gcc", "gcc-ar", "clang-format-19"):
        (tmp_path / name).write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert sorted(_wrapper._installed()) == ["clang++-19", "gcc-12"]


def test_what_cannot_be_built_is_told(tmp_path, cbridge):
    said = cbridge("build", "-o", tmp_path / "c", "--", "nonesuch")
    assert (said.status, said.err) == (2, "cbridge: there is no program 'nonesuch'\n")
    said = cbridge("build", "-o", tmp_path / "c", "--", "true")
    assert said.status == 2
    assert said.err.startswith("cbridge: no compile was seen: nothing was rebuilt, or the build ")
    assert said.err.endswith("compile_commands.json`\ncbridge: the corpus is empty\n")
    said = cbridge("build", "-o", tmp_path / "c", "--", "false")
    assert "no compile was seen" not in said.err
    assert "the following arguments are required: COMMAND" in cbridge("build", "-o", "x").err


def test_what_could_not_be_kept_is_told(make_project, tmp_path, cbridge):
    """As on a full disk: files can be made, but not be written."""
    compile_it = "cc -S two.c -o - | cat >/dev/null"
    script = f"cc -c helper.c; trap '' XFSZ; ulimit -f 0; {compile_it}; {compile_it}"
    said = cbridge("build", "-o", tmp_path / "c", "--", "sh", "-c", script)
    stage = tmp_path / "c/.cbridge-staging"
    why = f"{stage}: what was compiled could not be kept there, 2 times; is the disk full?"
    assert (said.status, said.err) == (2, f"cbridge: {why}\n")
    assert Corpus.open(tmp_path / "c").names == ("helper.o",)
    assert not stage.exists()


INTERRUPTIBLE = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from compiler_bridge.__main__ import main; sys.exit(main(sys.argv[1:]))"
)


def test_an_interrupted_build_leaves_what_was_compiled(make_project, tmp_path):
    """Ctrl-C goes to all processes of a terminal."""
    script = "cc -c helper.c; echo compiled; exec sleep 60"
    words = ["corpus", "build", "-o", str(tmp_path / "c"), "--", "sh", "-c", script]
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "compiled\n"
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "cbridge: interrupted; the same command goes on from here\n"
    assert Corpus.open(tmp_path / "c").names == ("helper.o",)


@pytest.mark.parametrize("trap", ["", "trap '' TERM INT; "])
@pytest.mark.parametrize("at_terminal", [False, True])
def test_sigterm_ends_all_of_a_build(
    make_project, tmp_path, process_state, until, at_terminal, trap
):
    """Also what does not listen, after a while."""
    script = f"cc -c helper.c; {trap}sh -c '{trap}echo $$; while :; do sleep 60; done'; true"
    words = ["corpus", "build", "-o", str(tmp_path / "c"), "--", "sh", "-c", script]
    hasty = "from compiler_bridge.corpus import _build; _build._GRACE = 0.5;"
    ends = os.openpty() if at_terminal else os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", hasty + INTERRUPTIBLE, *words],
        stdin=ends[1 if at_terminal else 0],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        inner = int(process.stdout.readline())
        process.terminate()
        _, errors = process.communicate(timeout=30)
    for end in ends:
        os.close(end)
    assert process.returncode == 130
    assert errors == "cbridge: interrupted; the same command goes on from here\n"
    until(lambda: process_state(inner) is None, "the build goes on")
    assert Corpus.open(tmp_path / "c").names == ("helper.o",)
