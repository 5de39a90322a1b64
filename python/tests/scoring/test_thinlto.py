"""Models on modules of ThinLTO, which opt optimizes."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from compiler_bridge.corpus import Corpus
from compiler_bridge.scoring import Children, Compiler, Policy, _thinlto

from .conftest import MUCH

REMARK = "the modules are of ThinLTO, for which clang itself loads no pass plugins: opt optimized"


@pytest.mark.usefixtures("plugin")
def test_a_model_is_asked(thinlto, score, tmp_path):
    file = tmp_path / "x.json"
    done = score(thinlto, "constant:1", "--json", file)
    assert done.status == 0, done.out + done.err
    assert "Worse: text" in done.out
    assert REMARK in done.out
    result = json.loads(file.read_text())
    assert len(result["modules"]) == 8
    found = result["decisions"]
    assert found["compared"] == found["asked_policy"] >= 20
    sites = {(each["labels"]["caller"], each["labels"]["callee"]) for each in found["differences"]}
    assert {(f"outer{i}", f"step{i}") for i in range(5)} <= sites
    done = score(thinlto, "constant:0", "--baseline", "constant:1", "--json", file)
    assert done.status == 0, done.out + done.err
    text = json.loads(file.read_text())["metrics"]["text"]
    assert text["policy"] < text["baseline"] == result["metrics"]["text"]["policy"]


@pytest.mark.usefixtures("plugin")
def test_baselines_by_opt_are_kept_apart(thinlto, score, tmp_path):
    file = tmp_path / "x.json"

    def kept(policy: str) -> int:
        done = score(thinlto, policy, "--json", file)
        assert done.status == 0, done.out + done.err
        return int(json.loads(file.read_text())["baselines_from_cache"])

    assert [kept(policy) for policy in (MUCH, "constant:1")] == [0, 0]
    assert [kept(policy) for policy in (MUCH, "constant:1")] == [8, 8]


def compiler() -> Compiler:
    return dataclasses.replace(Compiler.find("clang-19", Children(), 60), by_opt=True)


def check_same_code(corpus: Corpus, folder: Path) -> None:
    for module in corpus:
        words = module.compile_command("clang-19", folder / "one.o")
        subprocess.run(words, check=True, timeout=60)
        compiler().measure(module, Policy.parse("heuristic:"), folder)
        same = (folder / "object.o").read_bytes() == (folder / "one.o").read_bytes()
        assert same, module.name


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("-O3", "-vectorize-loops"),
        ("-O2", "-vectorize-loops", "-fno-unroll-loops"),
        ("-mrelocation-model", "static"),
        ("-mllvm", "-inline-threshold=500", "-mllvm", "-vectorize-loops=0"),
    ],
)
def test_the_code_is_that_of_clang(thinlto, tmp_path, more):
    corpus = Corpus.open(thinlto)
    assert corpus.override is not None
    check_same_code(dataclasses.replace(corpus, override=(*corpus.override, *more)), tmp_path)


def test_commands_of_the_driver(thinlto, tmp_path):
    corpus = Corpus.open(thinlto)
    check_same_code(dataclasses.replace(corpus, override=("-O2", "-fno-pic")), tmp_path)


def test_what_the_index_says_is_done(thinlto, tmp_path):
    """Virtual calls are direct, and types are checked."""
    module = Corpus.open(thinlto).module("user.cpp.o")
    compiler().optimize(module, Policy.parse("heuristic:"), tmp_path / "x.bc")
    words = ["llvm-dis-19", str(tmp_path / "x.bc"), "-o", "-"]
    text = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout
    area = text.partition(" @area(")[2].partition("\n}")[0]
    assert area.count("@_ZNK6Square4areaEi(") == 2
    assert "@llvm.ubsantrap(" in text


def test_a_module_with_an_empty_index_is_as_any_other(thinlto, tmp_path):
    shutil.copytree(thinlto, tmp_path / "corpus")
    (tmp_path / "corpus/step1.c.o.thinlto.bc").write_bytes(b"")
    check_same_code(Corpus.open(tmp_path / "corpus"), tmp_path)


@pytest.fixture
def no_plugin(tmp_path):
    (tmp_path / "plugin.so").write_bytes(b"")
    return "--plugin", tmp_path / "plugin.so"


def test_flags_do_not_compare_with_a_model(thinlto, score, no_plugin):
    for policy, baseline in (("constant:1", MUCH), (MUCH, "constant:1")):
        done = score(thinlto, policy, "--baseline", baseline, *no_plugin)
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith(f"cbridge: {MUCH!r} and a model do not compare on modules of ")
    done = score(thinlto, MUCH)
    assert done.status == 0
    assert REMARK not in done.out


def test_without_opt(thinlto, score, no_plugin, tmp_path):
    clang = tmp_path / "my-clang"
    clang.write_text(
        '#!/bin/sh\ncase "$1" in -print-prog-name=opt) echo none; exit;; esac\nexec clang-19 "$@"\n'
    )
    clang.chmod(0o755)
    done = score(thinlto, "constant:1", *no_plugin, "--clang", clang)
    assert done.status == 2
    assert "install the Debian package llvm-19" in done.err
    assert score(thinlto, MUCH, "--clang", clang).status == 0


@pytest.mark.parametrize(
    ("flag", "level"),
    [("-O0", 0), ("-O1", 1), ("-Os", 2), ("-Oz", 2), ("-O2", 2), ("-O3", 3), ("-O9", 3)],
)
def test_levels(flag, level):
    passes, *_ = _thinlto.arguments(["-cc1", "-O2", flag], Path("index"), Path("x.yaml"))
    assert passes == f"-passes=wholeprogramdevirt,lowertypetests,thinlto<O{level}>"


def test_what_clang_tells_its_passes():
    def words(*more: str) -> list[str]:
        return _thinlto.arguments(["-cc1", "-O2", *more], Path("index"), Path("x.yaml"))[6:]

    off = ["-vectorize-loops=0", "-vectorize-slp=0"]
    on = ("-vectorize-loops", "-vectorize-slp")
    assert words() == ["-relocation-model=pic", *off]
    assert words(*on, "-mrelocation-model", "static") == ["-relocation-model=static"]
    assert words(*on, "-mcmodel=large")[1:] == ["-code-model=large"]
    assert words(*on, "-fno-unroll-loops")[1:] == [
        "-disable-loop-unrolling=1",
        "-interleave-loops=0",
    ]
    assert words(*on, "-mllvm", "-inline-threshold=1")[1:] == ["-inline-threshold=1"]
    # LLVM takes no option twice.
    assert words("-mllvm", "-vectorize-slp") == ["-relocation-model=pic", *off]
