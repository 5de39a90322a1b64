"""`cbridge corpus extract`, from all that a build can leave."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from compiler_bridge.corpus import Corpus

EMBED = ("-Oz", "-Xclang", "-fembed-bitcode=all")


@pytest.fixture
def commands(project):
    """A compile_commands.json, in which entries are written in all the ways there are."""
    entries = [
        {"file": "main.c", "arguments": ["/usr/bin/gcc", "-O2", "-MD", "-c", "main.c"]},
        {
            "file": "helper.c",
            "command": "ccache cc -O2 -fno-tree-pre -DX='\"a b\"' -c helper.c -o out/helper.o",
            "output": "out/helper.o",
        },
        {"file": "shape.cpp", "command": "c++ -std=c++17 -c shape.cpp -o shape.o -MD -MF x.d"},
    ]
    file = project / "compile_commands.json"
    file.write_text(json.dumps([{"directory": str(project), **entry} for entry in entries]))
    return file


def names(folder):
    return sorted(Corpus.open(folder).names)


def test_compile_commands(commands, tmp_path, cbridge):
    said = cbridge("extract", commands, "-o", tmp_path / "c", "--clang-arg=-Oz", "-j2")
    assert said == (0, f"{tmp_path / 'c'}: 3 modules; 3 modules added\n", "")
    assert names(tmp_path / "c") == ["main.c.o", "out/helper.o", "shape.o"]
    assert "-Oz" in Corpus.open(tmp_path / "c").module("shape.o").command
    # Nothing of the build is touched.
    assert not list(commands.parent.glob("*.[od]"))
    assert cbridge("replay", tmp_path / "c").status == 0


def test_unoptimized_bitcode_has_the_attributes_of_its_level(commands, tmp_path, cbridge, clang):
    cbridge("extract", commands.parent, "-o", tmp_path / "c", "--clang-arg=-Oz")
    module = Corpus.open(tmp_path / "c").module("out/helper.o")
    text = tmp_path / "helper.ll"
    clang(tmp_path, str(module.bitcode), "-o", str(text), compiler="llvm-dis-19")
    assert "minsize" in text.read_text()
    assert "call i32 @square" in text.read_text()  # not inlined


@pytest.mark.parametrize("level", ["-Oz", "-O3"])
def test_a_module_becomes_the_code_that_its_source_does(commands, tmp_path, cbridge, clang, level):
    cbridge("extract", commands, "-o", tmp_path / "c", f"--clang-arg={level}")
    cbridge("replay", tmp_path / "c", "-o", tmp_path / "out")
    project = commands.parent
    for source, name in (("helper.c", "out/helper.o"), ("shape.cpp", "shape.o")):
        clang(project, level, "-c", source, "-o", "direct.o")
        texts = []
        for path in (project / "direct.o", tmp_path / "out" / f"{name}.o"):
            dump = (f"--dump-section=.text={tmp_path / 'text'}", str(path), "rest.o")
            clang(project, *dump, compiler="llvm-objcopy-19")
            texts.append((tmp_path / "text").read_bytes())
        assert texts[0] == texts[1]


def test_a_second_run_takes_what_is_new(commands, tmp_path, cbridge):
    (commands.parent / "helper.c").rename(commands.parent / "kept")
    first = cbridge("extract", commands, "-o", tmp_path / "c")
    assert first.out.endswith("2 modules; 2 modules added, 1 skipped\n")
    assert "out/helper.o: clang-19: error: no such file or directory: 'helper.c'" in first.err
    assert (tmp_path / "c/skipped.txt").read_text().startswith("out/helper.o: ")
    (commands.parent / "kept").rename(commands.parent / "helper.c")
    assert cbridge("extract", commands, "-o", tmp_path / "c").out.endswith(
        "3 modules; 1 module added, 2 unchanged\n"
    )
    (commands.parent / "helper.c").write_text("int helper(int x) { return x; }")
    assert cbridge("extract", commands, "-o", tmp_path / "c").out.endswith(
        "3 modules; 1 module added, 2 unchanged\n"
    )


@pytest.mark.parametrize("jobs", [1, 4])
def test_entries_with_one_output_are_all_taken(project, tmp_path, cbridge, jobs):
    def extract(*entries, folder=project):
        file = tmp_path / "commands.json"
        file.write_text(
            json.dumps(
                [
                    {"directory": str(folder), "file": source, "arguments": ["cc", *words, source]}
                    for source, *words in entries
                ]
            )
        )
        return cbridge("extract", file, "-o", tmp_path / "c", "--base", folder, f"-j{jobs}").out

    def symbols():
        return {
            name: re.findall(rb"helper|one|two|three", module.bitcode.read_bytes())[0].decode()
            for name, module in ((each.name, each) for each in Corpus.open(tmp_path / "c"))
        }

    output = ("-c", "-o", "x.o")
    entries = [
        ("helper.c", *output),
        *(("helper.c", f"-Dhelper={name}", *output) for name in ("one", "two")),
        ("helper.c", *output),  # once more
        ("main.c", "-Dhelper=one", *output),
    ]
    assert extract(*entries).endswith("4 modules; 4 modules added\n")
    assert symbols() == {"x.o": "helper", "x.o~2": "one", "x.o~3": "two", "x.o~4": "one"}
    # One whose arguments have changed is still the same.
    entries[1] = ("helper.c", "-Dhelper=three", *output)
    assert extract(*entries).endswith("4 modules; 1 module added, 3 unchanged\n")
    assert symbols()["x.o~2"] == "three"
    # The same names in another folder are others.
    other = tmp_path / "other"
    other.mkdir()
    (other / "helper.c").write_text("int two(void) { return 5; }")
    assert extract(("helper.c", *output), folder=other).endswith("5 modules; 1 module added\n")
    assert symbols()["x.o~5"] == "two"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON: maximum recursion depth"),
        ("[" + "1" * 5000 + "]", "is no JSON: Exceeds the limit"),
        ("{}", "expected a list of commands"),
        ("[1]", "entry 0: expected an object"),
        ('[{"file": "a.c"}]', "entry 0: has no 'directory' or no 'file'"),
        ('[{"file": "a.c", "directory": "."}]', "has neither 'arguments' nor 'command'"),
        ('[{"file": "a.c", "directory": ".", "command": "\'"}]', "'command': No closing quotation"),
        ("[]", "has no commands"),
    ],
)
def test_damaged_compile_commands(tmp_path, cbridge, text, why):
    file = tmp_path / "compile_commands.json"
    file.write_text(text)
    said = cbridge("extract", file, "-o", tmp_path / "c")
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(f"cbridge: {file}: ")
    assert why in said.err


@pytest.mark.parametrize("key", ["directory", "file", "output", "arguments", "command"])
@pytest.mark.parametrize("odd", ["\0", "\ud800"])
def test_entries_that_nothing_can_be_called_are_skipped(commands, tmp_path, cbridge, key, odd):
    entries = json.loads(commands.read_text())
    entry = {"directory": str(commands.parent), "file": "x.c", "arguments": ["cc", "-c", "x.c"]}
    if key == "command":
        del entry["arguments"]
    entry[key] = [f"a{odd}"] if key == "arguments" else f"a{odd}"
    commands.write_text(json.dumps([*entries, entry]))
    said = cbridge("extract", commands, "-o", tmp_path / "c")
    assert said.out.endswith("3 modules; 3 modules added, 1 skipped\n")
    (line,) = said.err.removeprefix("skipped:\n").splitlines()
    assert f"a{ascii(odd)[1:-1]}', which nothing can be called" in line
    assert "1 skipped:\n" in cbridge("info", tmp_path / "c").out


def test_a_name_need_not_be_utf8(commands, tmp_path, cbridge):
    entries = json.loads(commands.read_text())
    (commands.parent / "helper.c").rename(commands.parent / "\udc80.c")
    entries[1] |= {"file": "\udc80.c", "output": "\udc80.o", "command": "cc -c \udc80.c"}
    commands.write_text(json.dumps(entries))
    assert cbridge("extract", commands, "-o", tmp_path / "c").status == 0
    assert "\udc80.o" in names(tmp_path / "c")
    assert cbridge("replay", tmp_path / "c").status == 0


def test_objects_and_archives(project, tmp_path, cbridge, clang):
    for source in ("main.c", "helper.c"):
        clang(project, *EMBED, "-c", source, "-o", f"{source}.o")
    (project / "deep").mkdir()
    clang(project, *EMBED, "-c", "shape.cpp", "-o", "deep/shape.o")
    clang(project, "crs", "libhelper.a", "helper.c.o", "deep/shape.o", compiler="llvm-ar-19")
    clang(project, "-c", "helper.c", "-o", "plain.o")
    (project / "broken.o").write_text("no object")
    (project / "libtool.lo").write_text("# libtool.lo - a libtool object file\n")
    said = cbridge("extract", project, "-o", tmp_path / "c")
    assert "3 modules; 3 modules added, 2 duplicates, 2 skipped" in said.out
    assert "plain.o: has no bitcode in it; compile with -Xclang -fembed-bitcode=all" in said.err
    assert "broken.o: llvm-objcopy: " in said.err
    assert said.status == 0
    assert cbridge("replay", tmp_path / "c").status == 0
    again = cbridge("extract", project, "-o", tmp_path / "c")
    assert "3 modules; 0 modules added, 5 unchanged, 2 skipped" in again.out


@pytest.mark.parametrize("kind", ["commands", "objects", "params", "thinlto"])
def test_only_regular_files_are_read(commands, tmp_path, cbridge, kind):
    """Who reads a FIFO waits for ever."""
    project = commands.parent
    for name in ("fifo.c", "fifo.o", "fifo.3.import.bc", "fifo.thinlto.bc"):
        os.mkfifo(project / name)
    entry = {"directory": str(project), "file": "fifo.c", "arguments": ["cc", "-c", "fifo.c"]}
    commands.write_text(json.dumps([entry]))
    (project / "params").write_text("fifo.o\n/dev/null/../fifo.o\nfi\0fo.o\n")
    path = project / "params" if kind == "params" else project
    words = ("-o", tmp_path / "c", "--kind", kind, "--base", project)
    said = cbridge("extract", path, *words)
    assert said.status == 2
    name = {"commands": "fifo.c", "thinlto": "fifo.3.import.bc"}.get(kind, "fifo.o")
    assert f"{project / name}: is no regular file\n" in said.err
    if kind == "params":
        assert "fi\\x00fo.o: there is no such file\n" in said.err


def test_members_of_one_name_are_all_taken(project, tmp_path, cbridge, clang):
    archive = project / "lib.a"
    for source in ("main.c", "helper.c"):
        clang(project, *EMBED, "-c", source, "-o", "same.o")
        clang(project, "qS", str(archive), "same.o", compiler="llvm-ar-19")
    assert cbridge("extract", archive, "-o", tmp_path / "c").status == 0
    assert names(tmp_path / "c") == ["lib.a/same.o", "lib.a/same.o~2"]


def test_a_thin_archive_only_names_its_members(project, tmp_path, cbridge, clang):
    (project / "objects").mkdir()
    for source in ("main.c", "helper.c"):
        clang(project, *EMBED, "-c", source, "-o", f"objects/{source}.o")
    members = ("objects/main.c.o", "objects/helper.c.o")
    clang(project, "--thin", "-crs", "lib.a", *members, compiler="llvm-ar-19")
    assert cbridge("extract", project / "lib.a", "-o", tmp_path / "c").status == 0
    assert names(tmp_path / "c") == ["objects/helper.c.o", "objects/main.c.o"]
    # As root, llvm-objcopy can replace it.
    assert Path(os.devnull).is_char_device()
    # The folder has the same objects.
    said = cbridge("extract", project, "-o", tmp_path / "c")
    assert said.out.endswith("2 modules; 0 modules added, 2 unchanged\n")


def test_only_objects_that_match(project, tmp_path, cbridge, clang):
    clang(project, *EMBED, "-c", "main.c")
    clang(project, *EMBED, "-O2", "-c", "helper.c")
    said = cbridge("extract", project, "-o", tmp_path / "c", "--match=^-Oz$")
    assert names(tmp_path / "c") == ["main.o"]
    assert "helper.o: no argument matches '^-Oz$'" in said.err
    assert "'(': " in cbridge("extract", project, "-o", tmp_path / "c", "--match=(").err


def test_what_was_linked_together_or_compiled_with_lto_is_told(project, tmp_path, cbridge, clang):
    clang(project, *EMBED, "-c", "main.c")
    clang(project, *EMBED, "-c", "helper.c")
    clang(project, "-r", "main.o", "helper.o", "-o", "both.o", compiler="ld")
    clang(project, "-flto", "-c", "helper.c", "-o", "lto.o")
    said = cbridge("extract", project, "-o", tmp_path / "c")
    assert "both.o: 2 modules were linked into it with -r" in said.err
    assert "lto.o: is bitcode that was compiled with -flto" in said.err
    assert names(tmp_path / "c") == ["helper.o", "main.o"]


def test_params(project, tmp_path, cbridge, clang):
    for source in ("main.c", "helper.c"):
        clang(project, *EMBED, "-c", source, "-o", f"{source}.o")
    params = tmp_path / "prog.params"
    params.write_text("-o\nprog.o\n--start-lib\nmain.c.o\nhelper.c.o\n--end-lib\nabsent.o\n-lm\n")
    said = cbridge("extract", params, "-o", tmp_path / "c", "--base", project)
    assert names(tmp_path / "c") == ["helper.c.o", "main.c.o"]
    assert "absent.o: " in said.err
    assert "there is no such file" in said.err
    assert "prog.o" not in said.err


def link_thinlto(clang, project, *options):
    for source in ("main.c", "helper.c"):
        clang(project, "-Oz", "-flto=thin", "-c", source, "-o", f"{source}.o")
    flags = ("-fuse-ld=lld", "-flto=thin", *options)
    clang(project, *flags, "main.c.o", "helper.c.o", "-o", "prog")


def test_local_thinlto(project, tmp_path, cbridge, clang):
    link_thinlto(clang, project, "-Wl,--save-temps=import", "-Wl,--thinlto-emit-index-files")
    (project / "main.c.o.thinlto.bc").rename(project / "kept")
    said = cbridge("extract", project, "-o", tmp_path / "c", "--clang-arg=-Oz")
    assert "main.c.o: has no main.c.o.thinlto.bc; link with" in said.err
    (project / "kept").rename(project / "main.c.o.thinlto.bc")
    assert cbridge("extract", project, "-o", tmp_path / "c", "--clang-arg=-Oz").status == 0
    corpus = Corpus.open(tmp_path / "c")
    assert sorted(corpus.names) == ["helper.c.o", "main.c.o"]
    assert corpus.has_thinlto
    assert "-Oz" in (corpus.override or ())
    assert cbridge("replay", tmp_path / "c", "-o", tmp_path / "out").status == 0
    # What was imported into it is in it: helper is inlined, or there.
    assert (tmp_path / "out/main.c.o.o").exists()


def test_distributed_thinlto(project, tmp_path, cbridge, clang):
    link_thinlto(clang, project, "-Wl,--thinlto-index-only", "-Wl,--thinlto-emit-imports-files")
    for source in ("main.c", "helper.c"):
        index = f"-fthinlto-index={source}.o.thinlto.bc"
        embed = ("-mllvm", "-lto-embed-bitcode=post-merge-pre-opt")
        (project / "native").mkdir(exist_ok=True)
        words = ("-Oz", "-x", "ir", f"{source}.o", index, *embed)
        clang(project, *words, "-c", "-o", f"native/{source}.o")
    said = cbridge("extract", project / "native", "-o", tmp_path / "c", "--base", project)
    assert said.status == 0
    corpus = Corpus.open(tmp_path / "c")
    assert corpus.has_thinlto
    assert sorted(corpus.names) == ["native/helper.c.o", "native/main.c.o"]
    assert not any("thinlto" in word for word in corpus.module("native/main.c.o").command)
    assert cbridge("replay", tmp_path / "c").status == 0


def test_what_cannot_be_extracted_is_told(project, tmp_path, cbridge):
    output = ("-o", tmp_path / "c")
    assert "there is no such file or directory" in cbridge("extract", "/absent", *output).err
    assert f"{project}: has no objects" in cbridge("extract", project, *output).err
    assert "has no *.3.import.bc" in cbridge("extract", project, *output, "--kind=thinlto").err
    assert "names no objects" in cbridge("extract", project / "main.c", *output).err
    assert (
        "there is no compiler 'nonesuch'"
        in cbridge("extract", project, *output, "--clang=nonesuch").err
    )
    assert not (tmp_path / "c").exists()


def test_a_corpus_of_nothing_is_an_error(project, tmp_path, cbridge, clang):
    clang(project, "-c", "helper.c")
    said = cbridge("extract", project, "-o", tmp_path / "c")
    assert said.status == 2
    assert said.err.endswith("cbridge: the corpus is empty\n")
