"""Programs of a corpus: how they are described, run and compared."""

from __future__ import annotations

import json
import os

import pytest

from compiler_bridge.corpus import Corpus
from compiler_bridge.scoring import ScoreError, _programs
from compiler_bridge.scoring._measure import Broken
from compiler_bridge.scoring._programs import Outcome, check_expected, difference, read

from .conftest import MUCH, NEVER

GOOD = {"name": "p", "modules": ["step*.o"], "runs": [{"arguments": ["x"]}]}


def test_the_description(corpus):
    assert read(Corpus.open(corpus)) == []
    (corpus / "programs.json").write_text(json.dumps({"programs": [GOOD]}))
    (program,) = read(Corpus.open(corpus))
    assert program.name == "p"
    assert program.modules == tuple(f"step{i}.c.o" for i in range(5))
    assert (program.language, program.link) == ("c", ())
    assert program.runs[0].arguments == ("x",)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"name": 3}, "program 1: 'name' is no string"),
        ({"modules": []}, "program 1 (p): has no 'modules'"),
        ({"modules": ["none.o"]}, "program 1 (p): no module of the corpus is 'none.o'"),
        ({"modules": "x"}, "program 1 (p): 'modules' is no list"),
        ({"language": "rust"}, "program 1 (p): 'language' is 'rust'; expected c or c++"),
        ({"runs": []}, "program 1 (p): 'runs' is empty"),
        ({"runs": None}, "program 1 (p): 'runs' is missing"),
        ({"runs": ["x"]}, "program 1 (p): run 1: expected an object"),
        ({"runs": [{"args": []}]}, "program 1 (p): run 1: unknown key 'args'"),
        ({"runs": [{"arguments": [1]}]}, "run 1: 'arguments' is no list of strings"),
        ({"runs": [{"stdin": "none.txt"}]}, "run 1: there is no file "),
        ({"input": "x"}, "program 1 (p): unknown key 'input'"),
        ({"name": "a\0"}, r"program 1: 'name' has a NUL or half a character: 'a\x00'"),
        ({"name": "\ud800"}, r"program 1: 'name' has a NUL or half a character: '\ud800'"),
        ({"modules": ["\0"]}, r"program 1 (p): 'modules' has a NUL or half a character: "),
        ({"link": ["-l\ud800"]}, r"program 1 (p): 'link' has a NUL or half a character: "),
        ({"runs": [{"arguments": ["\0"]}]}, "run 1: 'arguments' has a NUL or half a character: "),
        ({"runs": [{"stdin": "a\0"}]}, "run 1: 'stdin' has a NUL or half a character: "),
        ({"\ud800": 1}, r"program 1 (p): unknown key '\ud800'"),
    ],
)
def test_mistakes_are_named(corpus, change, why):
    (corpus / "programs.json").write_text(json.dumps({"programs": [{**GOOD, **change}]}))
    with pytest.raises(ScoreError) as told:
        read(Corpus.open(corpus))
    assert why in str(told.value)
    assert "programs.json: " in str(told.value)


def test_two_of_one_name(corpus):
    (corpus / "programs.json").write_text(json.dumps({"programs": [GOOD, GOOD]}))
    with pytest.raises(ScoreError, match="two programs 'p'"):
        read(Corpus.open(corpus))
    (corpus / "programs.json").write_text("{")
    with pytest.raises(ScoreError, match=r"programs\.json: is no JSON"):
        read(Corpus.open(corpus))
    (corpus / "programs.json").write_text("[" * 100_000)
    with pytest.raises(ScoreError, match=r"programs\.json: is nested too deeply"):
        read(Corpus.open(corpus))
    (corpus / "programs.json").unlink()
    os.mkfifo(corpus / "programs.json")
    with pytest.raises(ScoreError, match=r"programs\.json: is no regular file"):
        read(Corpus.open(corpus))


def test_how_outcomes_differ():
    good = Outcome(1, ((0, "a", "one\ntwo\n"),))
    assert difference(good, Outcome(9, good.runs)) is None
    other = Outcome(1, ((0, "b", "one\nthree\n"),))
    assert difference(good, other) == "run 1: line 2 of the output is 'three' instead of 'two'"
    crashed = Outcome(1, ((-11, "a", "one\ntwo\n"),))
    assert difference(good, crashed) == "run 1: ended by SIGSEGV instead of exit status 0"
    shorter = Outcome(1, ((0, "b", "one\ntwo"),))
    assert difference(good, shorter) == "run 1: line 3 of the output is missing instead of ''"
    later = Outcome(1, ((0, "b", "one\ntwo\n"),))
    assert difference(good, later) == "run 1: the output differs"


def test_what_is_expected(corpus):
    (corpus / "x.txt").write_text("one\n")
    described = {**GOOD, "runs": [{"expected": "x.txt"}]}
    (corpus / "programs.json").write_text(json.dumps({"programs": [described]}))
    (program,) = read(Corpus.open(corpus))
    same = _programs.digest(corpus / "x.txt")
    check_expected(program, Outcome(1, ((0, same, "one\n"),)))
    with pytest.raises(Broken, match="is not what is expected: line 1 of the output is 'two'"):
        check_expected(program, Outcome(1, ((0, "other", "two\n"),)))
    with pytest.raises(Broken, match=r"instead of 'one', exit status 2$"):
        check_expected(program, Outcome(1, ((2, "other", "two\n"),)))


def test_a_program_is_counted(corpus, describe, score, tmp_path):
    describe(expected="expected.txt")
    file = tmp_path / "x.json"
    done = score(corpus, MUCH, "--json", file)
    assert done.status == 0, done.err
    result = json.loads(file.read_text())
    (program,) = result["programs"]
    assert program["difference"] is None
    # Linking and the loader take more than that, a program that loops much more.
    assert 10_000 < program["baseline"] < 1_000_000
    assert result["metrics"]["executed"]["pairs"] == 1
    # The count is exact: again, with the baseline from the cache and not, the same.
    for words in ([], ["--no-cache"]):
        score(corpus, MUCH, "--json", file, *words)
        assert json.loads(file.read_text())["programs"] == [program]


def test_names_that_are_no_text_in_utf8_are_shown(corpus, describe, score, tmp_path):
    """Files can have them."""
    describe(arguments=["tell"])
    text = (corpus / "programs.json").read_text().replace("greet", r"greet\udcff")
    (corpus / "programs.json").write_text(text)
    files = [word for kind in ("json", "csv", "html") for word in (f"--{kind}", tmp_path / kind)]
    done = score(corpus, NEVER, *files)
    assert done.status == 1, done.err
    assert r"WRONG: programs do something else than by the baseline: greet\udcff." in done.out


def test_a_program_that_does_something_else(corpus, describe, score, tmp_path):
    describe(arguments=["tell"])
    html, data = tmp_path / "x.html", tmp_path / "x.json"
    done = score(corpus, NEVER, "--html", html, "--json", data)
    assert done.status == 1
    why = "greet: run 1: line 2 of the output is 'as always' instead of 'inlined'"
    assert f"error: {why}\n" in done.out
    assert done.out.splitlines()[-1].startswith("WRONG: programs do something else")
    assert json.loads(data.read_text())["verdict"] == "wrong"
    assert 'class="warning wrong"' in html.read_text()
    assert "WRONG" in html.read_text()


def test_a_program_whose_baseline_is_wrong(corpus, describe, score):
    describe(arguments=["tell"], expected="expected.txt")
    done = score(corpus, NEVER)
    assert done.status == 0
    assert "left out: program greet: by the baseline: run 1: is not what is expected" in done.out
    assert score(corpus, NEVER, "--no-programs").out.count("greet") == 0


def test_a_program_that_cannot_be_started(corpus, describe, score):
    describe(arguments=["x" * (1 << 20)])
    done = score(corpus, MUCH)
    assert done.status == 0, done.err
    assert "left out: program greet: " in done.out
    assert "Argument list too long" in done.out


def test_a_program_that_does_not_link(corpus, describe, score):
    describe()
    text = (corpus / "programs.json").read_text().replace("main.c.o", "step1.c.o")
    (corpus / "programs.json").write_text(text)
    done = score(corpus, MUCH)
    assert done.status == 0
    assert "left out: program greet: by the baseline: does not link: " in done.out
