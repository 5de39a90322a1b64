"""The package mlgo-utils, which defines the layout: each reads what the other has written."""

from __future__ import annotations

import json
import shutil

import pytest

from compiler_bridge.corpus import Corpus, Extraction, Toolchain, extract_modules, replay

lib = pytest.importorskip("mlgo.corpus.extract_ir_lib", reason="mlgo-utils is not installed")
combine = pytest.importorskip("mlgo.corpus.combine_training_corpus_lib")
make_corpus = pytest.importorskip("mlgo.corpus.make_corpus_lib")

EMBED = ("-Oz", "-Xclang", "-fembed-bitcode=all", "-MD")


def mlgo_extract(found, output, thinlto=None):
    """As its program extract_ir does."""
    # The process pool of the library would fork a process that has threads.
    paths = [
        each.extract(shutil.which("llvm-objcopy-19"), None, thinlto, ".llvmcmd", ".llvmbc")
        for each in found
    ]
    lib.write_corpus_manifest(thinlto, paths, str(output))


@pytest.fixture
def objects(project, clang):
    for source in ("main.c", "helper.c"):
        clang(project, *EMBED, "-c", source, "-o", f"{source}.o")
    return project


def test_we_read_what_it_extracts_from_objects(objects, tmp_path):
    output = tmp_path / "theirs"
    mlgo_extract(lib.load_from_directory(str(objects), str(output)), output)
    corpus = Corpus.open(output)
    assert sorted(corpus.names) == ["helper.c.o", "main.c.o"]
    outcomes = replay(corpus, Toolchain.find(), tmp_path / "out")
    assert [outcome.error for outcome in outcomes] == ["", ""]


def test_ours_is_equal_to_theirs(objects, tmp_path):
    mlgo_extract(lib.load_from_directory(str(objects), str(tmp_path / "t")), tmp_path / "t")
    extract_modules(Extraction(objects, tmp_path / "o"), Toolchain.find())
    theirs, ours = Corpus.open(tmp_path / "t"), Corpus.open(tmp_path / "o")
    assert sorted(theirs.names) == sorted(ours.names)
    for name in ours.names:
        assert ours.module(name).bitcode.read_bytes() == theirs.module(name).bitcode.read_bytes()
        commands = [
            corpus.module(name).compile_command("clang", "x.o")[:-3] for corpus in (ours, theirs)
        ]
        assert commands[0] == commands[1]


def test_we_read_what_it_makes_of_bitcode(project, tmp_path, clang):
    clang(project, "-Oz", "-emit-llvm", "-c", "helper.c", "-o", "helper.bc")
    output = tmp_path / "theirs"
    paths = make_corpus.load_bitcode_from_directory(str(project))
    make_corpus.copy_bitcode(paths, str(project), str(output))
    make_corpus.write_corpus_manifest(paths, str(output), ["-O2"])
    (outcome,) = replay(Corpus.open(output), Toolchain.find())
    assert not outcome.error


def test_it_combines_what_we_write(objects, tmp_path):
    """Its only reader: everything else is in ml-compiler-opt."""
    for name in ("first", "second"):
        extract_modules(Extraction(objects, tmp_path / "all" / name), Toolchain.find())
    combine.combine_corpus(str(tmp_path / "all"))
    corpus = Corpus.open(tmp_path / "all")
    assert sorted(corpus.names) == [
        *("first/helper.c.o", "first/main.c.o", "second/helper.c.o", "second/main.c.o")
    ]
    assert not any(outcome.error for outcome in replay(corpus, Toolchain.find()))


def test_local_thinlto(project, tmp_path, clang):
    for source in ("main.c", "helper.c"):
        clang(project, "-Oz", "-flto=thin", "-c", source, "-o", f"{source}.o")
    options = ("-Wl,--save-temps=import", "-Wl,--thinlto-emit-index-files")
    clang(project, "-fuse-ld=lld", "-flto=thin", *options, "main.c.o", "helper.c.o", "-o", "prog")
    mlgo_extract(
        lib.load_for_lld_thinlto(str(project), str(tmp_path / "t")), tmp_path / "t", "local"
    )
    extract_modules(Extraction(project, tmp_path / "o"), Toolchain.find())
    theirs, ours = Corpus.open(tmp_path / "t"), Corpus.open(tmp_path / "o")
    assert theirs.has_thinlto
    assert ours.has_thinlto
    assert sorted(theirs.names) == sorted(ours.names)
    for name in ours.names:
        assert ours.module(name).bitcode.read_bytes() == theirs.module(name).bitcode.read_bytes()
    description = json.loads((tmp_path / "o/corpus_description.json").read_text())
    assert description["global_command_override"][0] == "-cc1"
    # Theirs has to be filled in, as ours is.
    assert all("<UNSPECIFIED>" in each.error for each in replay(theirs, Toolchain.find()))
    assert not any(each.error for each in replay(ours, Toolchain.find()))
