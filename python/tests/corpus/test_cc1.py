"""What of a cc1 command line makes code, whatever it comes from."""

from __future__ import annotations

import pytest

from compiler_bridge.corpus import _cc1, _jobs


def test_files_and_their_options_go():
    words = [
        *("-cc1", "-triple", "x86_64-pc-linux-gnu", "-emit-obj", "-main-file-name", "a.c"),
        *("-target-cpu", "x86-64", "-dependency-file", "a.d", "-MT", "a.o", "-sys-header-deps"),
        *("-D", "X=1", "-DY=2", "-I", "include", "-Iother", "-internal-isystem", "/usr/include"),
        *("-fdebug-compilation-dir=/build/here", "-resource-dir", "/usr/lib/clang/19"),
        *("-fprofile-instrument-use-path=a.profdata", "-coverage-notes-file=a.gcno"),
        *("-Oz", "-Wall", "-Werror=format", "-vectorize-slp", "-o", "a.o", "-x", "c", "a.c"),
    ]
    assert _cc1.code_generation(words) == [
        *("-triple", "x86_64-pc-linux-gnu", "-main-file-name", "a.c"),
        *("-target-cpu", "x86-64", "-Oz", "-vectorize-slp"),
    ]


def test_plugins_and_embedding_go_and_other_options_of_llvm_stay():
    words = [
        *("-cc1", "-load", "p.so", "-fpass-plugin=p.so", "-plugin-arg-p", "x", "-add-plugin", "p"),
        *("-mllvm", "-load=p.so", "-mllvm", "-lto-embed-bitcode=post-merge-pre-opt"),
        *("-fthinlto-index=a.thinlto.bc", "-fembed-bitcode=all", "-mllvm", "-regalloc=greedy"),
    ]
    assert _cc1.code_generation(words) == ["-mllvm", "-regalloc=greedy"]


def test_policies_go():
    """Replayed without its host, an interactive one would never end."""
    options = [
        *("-enable-ml-inliner=release", "-inliner-interactive-channel-base=/tmp/x"),
        *("-regalloc-enable-advisor=release", "-regalloc-evict-interactive-channel-base=/tmp/x"),
        *("-cbridge-inline-model=native:inline", "-inline-threshold=5"),
    ]
    words = ["-cc1"] + [word for option in options for word in ("-mllvm", option)]
    assert _cc1.code_generation(words) == ["-mllvm", "-inline-threshold=5"]


@pytest.mark.parametrize("inputs", [["a.c"], ["-"], ["a b.c", "b.c"]])
def test_what_is_no_option_is_an_input(inputs):
    found, files = _cc1.options(["-cc1", "-O2", *inputs[:1], "-target-cpu", "x86-64", *inputs[1:]])
    assert files == inputs
    assert found == [("-O2",), ("-target-cpu", "x86-64")]


def test_to_bitcode_keeps_what_a_source_needs():
    words = ["-cc1", "-emit-obj", "-include", "config.h", "-D", "X", "-Oz", "-o", "a.o"]
    words += ["-dependency-file", "a.d", "-x", "c", "a.c"]
    command = _cc1.to_bitcode(words, "out.bc", "a.c")
    assert command[:6] == ["-cc1", "-include", "config.h", "-D", "X", "-Oz"]
    assert command[-3:] == ["-x", "c", "a.c"]
    assert "-disable-llvm-passes" in command
    assert command[command.index("-o") + 1] == "out.bc"
    assert not {"a.d", "a.o", "-emit-obj"} & set(command)


def test_the_last_level_counts():
    assert _cc1.optimization_level(["-cc1", "-O2", "-Oz"]) == "-Oz"
    assert _cc1.optimization_level(["-cc1"]) == "-O0"


def test_jobs_of_a_driver_are_unquoted():
    printed = (
        "clang version 19\n"
        ' "/bin/clang" "-cc1" "-emit-obj" "-D" "X=\\"a \\$b\\\\\\"" "-o" "a.o" "-x" "c" "a b.c"\n'
        ' "/usr/bin/clang" "-cc1" "-E" "-o" "-" "-x" "c" "b.c"\n'
        ' "/usr/bin/clang" "-cc1" "-Eonly" "-o" "-" "-x" "c" "b.c"\n'
        ' "/usr/bin/clang" "-cc1" "-emit-obj" "-o" "c.o" "-x" "ir" "c.bc"\n'
        ' "/usr/bin/ld" "a.o"\n'
    )
    (job,) = _jobs.jobs(printed)
    assert (job.source, job.output) == ("a b.c", "a.o")
    assert 'X="a $b\\"' in job.arguments


@pytest.mark.parametrize(
    ("output", "later", "target", "name"),
    [
        ("out/a.o", "", "out/a.o", "out/a.o"),
        ("/tmp/a-1.o", ' "ld" "-o" "prog" "/tmp/a-1.o"', "prog", "src/a.c.o"),
        ("/tmp/a-1.s", ' "as" "-o" "a.o" "/tmp/a-1.s"\n "ld" "a.o" "-o" "p"', "p", "src/a.c.o"),
        ("/tmp/a-1.o", ' "ar" "rcsD" "lib.a" "/tmp/a-1.o"', "", "src/a.c.o"),
        ("/dev/null", "", "/dev/null", "src/a.c.o"),
        ("-", "", "-", "src/a.c.o"),
    ],
)
def test_modules_are_named_after_objects_unless_these_are_temporary(output, later, target, name):
    compile_it = f' "clang" "-cc1" "-emit-obj" "-o" "{output}" "-x" "c" "src/a.c"'
    (job,) = _jobs.jobs(f"{compile_it}\n{later}\n")
    assert (job.target, job.name()) == (target, name)


def test_words_may_have_line_breaks():
    (job,) = _jobs.jobs(' "clang" "-cc1" "-emit-obj" "-o" "a\nb.o" "-x" "c" "a\n\\"b.c"\n')
    assert (job.source, job.output) == ('a\n"b.c', "a\nb.o")


def test_what_clang_does_not_know_is_left_out():
    asked = []

    def ask(words):
        asked.append(words)
        if "-fgcc-only" in words:
            return 1, "clang: error: unknown argument: '-fgcc-only'\n"
        if "-mabi=sysv" in words:
            return 1, "clang: error: unsupported option '-mabi=' for target 'x86_64'\n"
        return 0, ""

    words = ["-O2", "-fgcc-only", "-mabi=sysv", "-c", "a.c"]
    assert _jobs.plan(ask, words) == ([], ["-fgcc-only", "-mabi=sysv"])
    assert asked[-1] == ["-###", "-O2", "-c", "a.c"]


def test_a_driver_that_fails_for_another_reason_says_why():
    def ask(words):
        return 1, "clang: error: no such file or directory: 'a.c'\n"

    with pytest.raises(_jobs.DriverError, match="no such file or directory"):
        _jobs.plan(ask, ["-c", "a.c"])
