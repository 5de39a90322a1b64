"""Writing a corpus: equal modules once, broken ones listed, a second run only what is missing."""

from __future__ import annotations

import json
import os
import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from compiler_bridge.corpus import (
    DUPLICATE,
    KEPT,
    SKIPPED,
    Corpus,
    CorpusError,
    CorpusWriter,
    _journal,
    history,
)

COMMAND = ["-cc1", "-triple", "x86_64-pc-linux-gnu", "-Oz", "-o", "a.o", "-x", "c", "a.c"]


@pytest.fixture
def bitcode(tmp_path, clang):
    """`bitcode(name, text)` compiles a source."""

    def make(name: str, text: str) -> Path:
        source = tmp_path / name
        source.write_text(text)
        clang(tmp_path, "-Oz", "-emit-llvm", "-c", name, "-o", f"{name}.bc")
        return tmp_path / f"{name}.bc"

    return make


ONE = "int one(void) { return 1; }"
TWO = "int two(void) { return 2; }"


def test_what_is_written_can_be_read(tmp_path, bitcode):
    with CorpusWriter(tmp_path / "c") as writer:
        assert writer.add("src/one.o", bitcode("one.c", ONE), COMMAND).result == KEPT
    (module,) = Corpus.open(tmp_path / "c")
    assert module.name == "src/one.o"
    assert module.command == ("-cc1", "-emit-obj", "-triple", "x86_64-pc-linux-gnu", "-Oz")
    assert module.bitcode.read_bytes() == (tmp_path / "one.c.bc").read_bytes()


def test_equal_modules_are_kept_once_whatever_their_files_are_called(tmp_path, bitcode):
    with CorpusWriter(tmp_path / "c") as writer:
        writer.add("one.o", bitcode("one.c", ONE), COMMAND)
        again = writer.add("again.o", bitcode("again.c", ONE), COMMAND)
        assert (again.result, again.name) == (DUPLICATE, "one.o")
        other_level = [word if word != "-Oz" else "-O2" for word in COMMAND]
        assert writer.add("o2.o", bitcode("one.c", ONE), other_level).result == KEPT
        assert writer.add("two.o", bitcode("two.c", TWO), COMMAND).result == KEPT
    assert Corpus.open(tmp_path / "c").names == ("o2.o", "one.o", "two.o")


def test_names_stay_inside_and_apart(tmp_path, bitcode):
    with CorpusWriter(tmp_path / "c") as writer:
        assert writer.add("../../a.o", bitcode("a.c", ONE), COMMAND).name == "a.o"
        assert writer.add("/a.o", bitcode("b.c", TWO), COMMAND).name == "a.o~2"
    assert sorted(path.name for path in tmp_path.glob("*.bc")) == ["a.c.bc", "b.c.bc"]


def test_broken_bitcode_is_skipped_and_listed(tmp_path, bitcode):
    broken = tmp_path / "broken.bc"
    broken.write_bytes(bitcode("one.c", ONE).read_bytes()[:100])
    with CorpusWriter(tmp_path / "c") as writer:
        entry = writer.attempt("bad.o", "bad", "1", lambda: writer.add("bad.o", broken, COMMAND))
        writer.add("one.o", tmp_path / "one.c.bc", COMMAND)
    assert entry is not None
    assert entry.result == SKIPPED
    assert Corpus.open(tmp_path / "c").names == ("one.o",)
    assert (tmp_path / "c/skipped.txt").read_text().startswith("bad.o: is no valid bitcode: ")
    # What is no longer broken is no longer listed.
    with CorpusWriter(tmp_path / "c") as writer:
        assert not writer.is_done("bad", "1")
        writer.add("bad.o", bitcode("two.c", TWO), COMMAND, source="bad", stamp="1")
    assert Corpus.open(tmp_path / "c").names == ("bad.o", "one.o")
    assert not (tmp_path / "c/skipped.txt").exists()


def test_a_second_run_knows_what_is_done(tmp_path, bitcode):
    with CorpusWriter(tmp_path / "c") as writer:
        writer.add("one.o", bitcode("one.c", ONE), COMMAND, source="s", stamp="1")
        writer.add("same.o", bitcode("one.c", ONE), COMMAND, source="t", stamp="1")
    with CorpusWriter(tmp_path / "c") as writer:
        assert writer.is_done("s", "1")
        assert writer.is_done("t", "1")
        assert not writer.is_done("s", "2")
        # The input has changed: its module is replaced, and its duplicate has to be seen again.
        writer.add("one.o", bitcode("two.c", TWO), COMMAND, source="s", stamp="2")
        assert not writer.is_done("t", "1")
        writer.add("same.o", bitcode("one.c", ONE), COMMAND, source="t", stamp="1")
    corpus = Corpus.open(tmp_path / "c")
    assert corpus.names == ("one.o", "same.o")
    assert corpus.module("one.o").bitcode.read_bytes() == (tmp_path / "two.c.bc").read_bytes()


def test_an_input_that_only_seems_to_have_changed_keeps_its_module(tmp_path, bitcode):
    one = bitcode("one.c", ONE)
    with CorpusWriter(tmp_path / "c") as writer:
        writer.add("one.o", one, COMMAND, source="s", stamp="1")
        writer.add("same.o", one, COMMAND, source="t", stamp="1")
        again = writer.attempt(
            "one.o", "s", "2", lambda: writer.add("one.o", one, COMMAND, source="s", stamp="2")
        )
        assert again is None
        assert writer.is_done("s", "2")
        assert writer.is_done("t", "1")
    assert Corpus.open(tmp_path / "c").names == ("one.o",)


def test_modules_whose_files_are_gone_are_made_again(tmp_path, bitcode):
    with CorpusWriter(tmp_path / "c") as writer:
        writer.add("one.o", bitcode("one.c", ONE), COMMAND, source="s", stamp="1")
    (tmp_path / "c/one.o.bc").unlink()
    with CorpusWriter(tmp_path / "c") as writer:
        assert not writer.is_done("s", "1")
    assert Corpus.open(tmp_path / "c").names == ()


def test_a_killed_run_leaves_its_modules(tmp_path, bitcode):
    """No description yet, and half a line in the journal."""
    with CorpusWriter(tmp_path / "c") as writer:
        writer.add("one.o", bitcode("one.c", ONE), COMMAND, source="s", stamp="1")
    (tmp_path / "c/corpus_description.json").unlink()
    with open(tmp_path / "c/corpus_journal.jsonl", "a") as journal:
        journal.write('{"source": "t", "sta')
    with CorpusWriter(tmp_path / "c") as writer:
        assert writer.is_done("s", "1")
        writer.add("two.o", bitcode("two.c", TWO), COMMAND, source="t", stamp="1")
    assert Corpus.open(tmp_path / "c").names == ("one.o", "two.o")
    assert [entry.source for entry in history(tmp_path / "c")] == ["s", "t"]


def test_a_corpus_of_another_tool_can_be_added_to(tmp_path, bitcode):
    folder = tmp_path / "c"
    folder.mkdir()
    os.rename(bitcode("one.c", ONE), folder / "a.bc")
    (folder / "a.cmd").write_bytes(b"-cc1\0-Oz")
    (folder / "corpus_description.json").write_text('{"has_thinlto": false, "modules": ["a"]}')
    with CorpusWriter(folder) as writer:
        assert writer.add("b", bitcode("one.c", ONE), COMMAND).result == DUPLICATE
        assert writer.add("c", bitcode("two.c", TWO), COMMAND).result == KEPT
    assert Corpus.open(folder).names == ("a", "c")


def test_one_writer_at_a_time(tmp_path):
    with (
        CorpusWriter(tmp_path / "c"),
        pytest.raises(CorpusError, match="another cbridge is writing"),
    ):
        CorpusWriter(tmp_path / "c")


def test_a_corpus_has_one_kind_of_modules(tmp_path, bitcode):
    one = bitcode("one.c", ONE)
    with (
        CorpusWriter(tmp_path / "c", thinlto=True) as writer,
        pytest.raises(CorpusError, match=r"one\.o: has no ThinLTO index"),
    ):
        writer.add("one.o", one, COMMAND)
    with pytest.raises(CorpusError, match="a corpus of ThinLTO modules"):
        CorpusWriter(tmp_path / "c", thinlto=False)


def test_of_equal_modules_the_first_is_kept_whichever_thread_was_first(tmp_path, bitcode):
    one = bitcode("one.c", ONE)
    with CorpusWriter(tmp_path / "c") as writer:
        for rank in (2, 3, 1):
            source = f"s{rank}"
            writer.attempt(
                f"{rank}.o",
                source,
                "",
                lambda rank=rank, source=source: writer.add(
                    f"{rank}.o", one, COMMAND, source=source
                ),
                rank,
            )
    assert Corpus.open(tmp_path / "c").names == ("1.o",)
    results = {entry.source: (entry.result, entry.name) for entry in history(tmp_path / "c")}
    assert results == {"s1": (KEPT, "1.o"), "s2": (DUPLICATE, "1.o"), "s3": (DUPLICATE, "1.o")}
    assert not (tmp_path / "c/2.o.bc").exists()
    # What an earlier run has kept stays.
    with CorpusWriter(tmp_path / "c") as writer:
        writer.attempt("0.o", "s0", "", lambda: writer.add("0.o", one, COMMAND, source="s0"), 0)
    assert Corpus.open(tmp_path / "c").names == ("1.o",)


def test_an_error_of_a_write_names_the_file(tmp_path, bitcode):
    """A full disk does not."""
    one = bitcode("one.c", ONE)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with CorpusWriter(tmp_path / "c") as writer:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
            with pytest.raises(OSError, match=r"File too large: '.*/c/one\.o\.bc'"):
                _journal.replace(tmp_path / "c/one.o.bc", one.read_bytes())
            with pytest.raises(OSError, match=r"File too large: '.*/c/corpus_journal\.jsonl'"):
                writer.skip("x", "y")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.glob("c/.*")) == []


def test_many_threads(tmp_path, bitcode):
    files = [bitcode(f"f{i}.c", f"int f(void) {{ return {i % 5}; }}") for i in range(10)]
    with CorpusWriter(tmp_path / "c") as writer, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda path: writer.add(path.name, path, COMMAND), files))
    corpus = Corpus.open(tmp_path / "c")
    assert len(corpus) == 5
    lines = (tmp_path / "c/corpus_journal.jsonl").read_text().splitlines()
    results = [json.loads(line)["result"] for line in lines]
    assert results.count(KEPT) == results.count(DUPLICATE) == 5
