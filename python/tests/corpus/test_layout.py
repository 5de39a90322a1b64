"""A corpus in MLGO's layout: how it is read, and how modules are compiled again."""

from __future__ import annotations

import json
import subprocess

import pytest

from compiler_bridge.corpus import Corpus, CorpusError, Module, levels


def describe(folder, **fields):
    folder.mkdir(exist_ok=True)
    (folder / "corpus_description.json").write_text(json.dumps(fields))
    return folder


def test_modules_and_commands(tmp_path):
    describe(tmp_path, has_thinlto=False, modules=["src/a.o", "b.o"])
    (tmp_path / "b.o.cmd").write_bytes(b"-cc1\0-triple\0x86_64-pc-linux-gnu\0-Oz\0")
    corpus = Corpus.open(tmp_path)
    assert len(corpus) == 2
    first, second = corpus
    assert first.bitcode == tmp_path / "src/a.o.bc"
    assert first.thinlto_index is None
    assert second.command == ("-cc1", "-triple", "x86_64-pc-linux-gnu", "-Oz")
    with pytest.raises(CorpusError, match=r"src/a\.o\.cmd: there is no such file"):
        _ = first.command


def test_the_last_level_of_a_command_counts(tmp_path):
    def module(*words):
        return Module("x.o", tmp_path / "x.o.bc", None, words or None)

    modules = [module("-cc1", "-O2", "-Oz", "-o", "x.o"), module("-cc1", "-Oz", "-O2")]
    assert [each.level for each in modules] == ["-Oz", "-O2"]
    assert module("-cc1").level == "-O0"
    assert levels([*modules, modules[0], module()]) == {"-Oz": 2, "-O2": 1}


def test_compile_command(tmp_path):
    describe(tmp_path, has_thinlto=False, modules=["a.o"])
    (tmp_path / "a.o.cmd").write_bytes(b"-cc1\0-Oz\0-D\0X\0-o\0a.o\0-x\0c\0a.c")
    module = Corpus.open(tmp_path).module("a.o")
    command = module.compile_command("clang", "out.o", extra=["-mllvm", "-stats"])
    assert command == [
        *("clang", "-cc1", "-Oz", "-mllvm", "-stats", "-emit-obj"),
        *("-x", "ir", str(tmp_path / "a.o.bc"), "-o", "out.o"),
    ]
    module.bitcode.write_bytes(b"")
    with pytest.raises(CorpusError, match=r"a\.o\.bc: is empty"):
        module.compile_command("clang")


def test_compile_command_of_thinlto(tmp_path):
    describe(tmp_path, has_thinlto=True, modules=["a.o"])
    (tmp_path / "a.o.cmd").write_bytes(b"-cc1\0-fthinlto-index=other/a.o.thinlto.bc\0-O2")
    module = Corpus.open(tmp_path).module("a.o")
    command = module.compile_command("clang", "out.o")
    index = tmp_path / "a.o.thinlto.bc"
    assert command[2:6] == ["-O2", "-mllvm", "-thinlto-assume-merged", f"-fthinlto-index={index}"]
    assert module.thinlto_index == index


def test_an_override_replaces_all_commands(tmp_path):
    describe(tmp_path, global_command_override=["-cc1", "-O3"], has_thinlto=False, modules=["a.o"])
    (tmp_path / "a.o.cmd").write_bytes(b"-cc1\0-Oz")
    assert Corpus.open(tmp_path).module("a.o").compile_command()[2] == "-O3"


def test_an_override_may_be_the_drivers(tmp_path, project, clang):
    """mlgo-utils' make_corpus takes flags of any kind."""
    folder = describe(
        tmp_path / "c", global_command_override=["-Os", "-fPIC"], has_thinlto=False, modules=["a"]
    )
    clang(project, "-Os", "-emit-llvm", "-c", "helper.c", "-o", str(folder / "a.bc"))
    module = Corpus.open(folder).module("a")
    command = module.compile_command(
        "clang-19", tmp_path / "a.o", ["-mllvm", "-inline-threshold=0"]
    )
    subprocess.run(command, check=True, timeout=60)
    assert (tmp_path / "a.o").stat().st_size


def test_what_nobody_has_specified_is_told(tmp_path):
    describe(tmp_path, global_command_override=["<UNSPECIFIED>"], has_thinlto=True, modules=["a"])
    with pytest.raises(CorpusError, match=r"a: the corpus does not say .* '<UNSPECIFIED>'"):
        Corpus.open(tmp_path).module("a").compile_command()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is no JSON"),
        ('{"modules": ' + "[" * 100_000, "is no JSON: maximum recursion depth"),
        ('{"modules": ["a", "b\\u0000"]}', r"'modules' has 'b\\x00', which nothing can be called"),
        ('{"modules": ["\\ud800"]}', r"'modules' has '\\ud800', which nothing can be called"),
        (
            '{"modules": [], "global_command_override": ["-O\\ud800"]}',
            r"'global_command_override' has '-O\\ud800', which",
        ),
        ("[]", "expected an object"),
        ("{}", "has no 'modules'"),
        ('{"modules": "a"}', "'modules' is no list of strings"),
        ('{"modules": [1]}', "'modules' is no list of strings"),
        ('{"modules": ["../a"]}', r"module '\.\./a' is not inside"),
        ('{"modules": ["/a"]}', "module '/a' is not inside"),
        ('{"modules": [], "has_thinlto": 1}', "'has_thinlto' is neither"),
        ('{"modules": [], "global_command_override": "-O2"}', "'global_command_override' is no"),
    ],
)
def test_a_damaged_description_is_refused(tmp_path, text, why):
    (tmp_path / "corpus_description.json").write_text(text)
    with pytest.raises(CorpusError, match=why):
        Corpus.open(tmp_path)


def test_each_module_counts_once(tmp_path):
    describe(tmp_path, modules=["b", "a", "b", "b"])
    assert Corpus.open(tmp_path).names == ("b", "a")


def test_what_is_no_corpus_is_refused(tmp_path):
    with pytest.raises(CorpusError, match=r"has no corpus_description\.json"):
        Corpus.open(tmp_path)
    with pytest.raises(CorpusError, match="there is no such directory"):
        Corpus.open(tmp_path / "absent")
