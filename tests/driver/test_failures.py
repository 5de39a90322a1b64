"""Models that fail, die, lie or are not there: the compile is plain clang's."""

from __future__ import annotations

import unittest

from _driver import DRIVER, DriverTest

#: Asks one question, as LLVM does, and then fails as $FAKE_ERROR and $FAKE_CODE say.
FAKE_CLANG = """#!/usr/bin/env python3
import os, sys
with open("calls", "a") as calls:
    calls.write("call\\n")
bases = [word.partition("=")[2] for word in sys.argv if "priority-interactive" in word]
if not bases:
    sys.exit(print("compiled"))
answers = open(bases[0] + ".in", "rb")
with open(bases[0] + ".out", "wb") as questions:
    spec = '{"name":"%s","type":"%s","port":0,"shape":[1]}'
    feature, advice = spec % ("li_size", "int64_t"), spec % ("priority", "float")
    header = '{"features":[%s],"advice":%s}' % (feature, advice)
    questions.write(header.encode() + b'\\n{"context":"f"}\\n{"observation":0}\\n12345678\\n')
    questions.flush()
    assert len(answers.read(4)) == 4
print("half of the output")
sys.stderr.write(os.environ["FAKE_ERROR"])
code = int(os.environ["FAKE_CODE"])
sys.exit(code) if code >= 0 else os.kill(os.getpid(), -code)
"""


class Failures(DriverTest):
    def assert_plain(self, model: str, why: str, option: str = "evict") -> None:
        self.fell_back(
            f"--cbridge-{option}={model}", "-O2", "-c", "pressure.c", "-o", "ours.o", why=why
        )
        self.assert_same_object("ours.o", "-O2", "-c", "pressure.c")

    def test_fails_at_once_and_half_way(self) -> None:
        for after in (0, 1, 20):
            for option in ("evict", "priority"):
                self.assert_plain(
                    f"testpolicy:fail?after={after}",
                    rf"{option} model 'testpolicy:fail\?after={after}': "
                    "the policy gave up; compiled without it",
                    option,
                )

    def test_one_of_two_fails(self) -> None:
        self.fell_back(
            "--cbridge-evict=testpolicy:random",
            "-O2",
            "-c",
            "pressure.c",
            "-o",
            "ours.o",
            "--cbridge-priority=testpolicy:fail?after=5",
            why="priority model .* the policy gave up",
        )
        self.assert_same_object("ours.o", "-O2", "-c", "pressure.c")

    def call_fake_clang(self, error: str, code: int) -> tuple[int, str, str, int]:
        """What a call comes to, and how often clang was called for it."""
        self.write("fake/clang-19", FAKE_CLANG, executable=True)
        (self.folder / "calls").unlink(missing_ok=True)
        done = self.driver(
            *("--cbridge-priority=constant:1", "-O2", "-c", "pressure.c"),
            CBRIDGE_CLANG=f"{self.folder}/fake/clang-19",
            FAKE_ERROR=error,
            FAKE_CODE=str(code),
        )
        return done.returncode, done.stdout, done.stderr, self.read("calls").count(b"call")

    def test_what_clang_cannot_bear(self) -> None:
        for error, code in (
            ("error: ran out of registers during register allocation\n", 1),
            ("fatal error: error in backend\n", 70),
            ("stack dump\n", -11),
        ):
            returned, out, err, calls = self.call_fake_clang(error, code)
            self.assertEqual((returned, out, calls), (0, "compiled\n", 2), error)
            self.assertRegex(err, "^cbridge-clang: clang cannot bear what models decided, 1 times")
            self.assertEqual(err.count("\n"), 1)

    def test_ordinary_errors_are_reported_once(self) -> None:
        error = "a.c:1:1: error: expected ';'\n"
        self.assertEqual(self.call_fake_clang(error, 1), (1, "half of the output\n", error, 1))

    def test_crashes(self) -> None:
        self.assert_plain("testpolicy:crash?after=10", "ended by signal 6")
        self.assert_plain("testpolicy:exit?after=10", "ended by exit status 0")

    def test_never_answers(self) -> None:
        done = self.fell_back(
            *("--cbridge-evict=testpolicy:block?after=3&tell=/dev/null", "-O2", "-c", "pressure.c"),
            *("-o", "ours.o", "--cbridge-priority=testpolicy:random"),
            why="evict model 'testpolicy:block.*': no answer within 1 s; compiled without it",
            CBRIDGE_ANSWER_TIMEOUT="1",
        )
        self.assertEqual(done.stdout, "")
        self.assert_same_object("ours.o", "-O2", "-c", "pressure.c")

    def test_absent(self) -> None:
        for model in (
            f"shm:{self.folder}/nobody",
            f"pipe:{self.folder}/nobody",
            f"native:{self.folder}/none.so",
            f"onnx:{self.folder}/none.onnx",
            "native:NobodyLinkedThis",
            f"replay:{self.folder}/none.log",
            "what:is-this",
        ):
            self.assert_plain(model, "evict model '")

    def test_peers_that_lie_or_say_nothing(self) -> None:
        for program in ("/bin/false", "/bin/cat", "/bin/sleep 1000"):
            for scheme in ("pipe", "shm"):
                self.assert_plain(f"{scheme}:?timeout=300ms&connect=300ms&spawn={program}", "evict")

    def test_a_model_of_another_signature(self) -> None:
        self.assert_plain("constant:0.5", "evict model 'constant:0.5'")

    def test_corrupt_files(self) -> None:
        self.write("corrupt.onnx", "no model")
        self.write("corrupt.so", "no library")
        self.assert_plain(f"onnx:{self.folder}/corrupt.onnx", "corrupt.onnx")
        self.assert_plain(f"native:{self.folder}/corrupt.so", "corrupt.so")

    def test_no_place_for_temporary_files(self) -> None:
        self.fell_back(
            "--cbridge-evict=testpolicy:random",
            "-O2",
            "-c",
            "pressure.c",
            "-o",
            "ours.o",
            why="/nowhere/",
            TMPDIR="/nowhere",
        )
        self.assert_same_object("ours.o", "-O2", "-c", "pressure.c")

    def shell(self, call: str) -> int:
        command = f"exec {DRIVER} --cbridge-evict={call}"
        return self.run_program("sh", "-c", command).returncode

    def test_closed_standard_files(self) -> None:
        for model in ("testpolicy:random", "'testpolicy:fail?after=3'"):
            for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
                code = self.shell(f"{model} -O2 -c pressure.c -o closed.o {closed}")
                self.assertEqual(code, 0, closed)
                (self.folder / "closed.o").unlink()

    def test_a_record_that_cannot_be_written(self) -> None:
        for option in ("evict", "priority"):
            self.fell_back(
                *(
                    f"--cbridge-{option}=testpolicy:random?record=/proc/nope/",
                    "-O2",
                    "-c",
                    "pressure.c",
                ),
                why=rf"{option} model '.*': cannot record to /proc/nope",
            )

    def test_output_that_cannot_be_written(self) -> None:
        code = self.shell("testpolicy:random -O2 -S pressure.c -o - >/dev/full")
        self.assertEqual(code, 1)

    def test_what_models_print_is_not_the_compilers_output(self) -> None:
        printing = "printf spoken; exec sleep 1000"
        self.write("peer.sh", f"#!/bin/sh\n{printing}\n", executable=True)
        done = self.driver(
            f"--cbridge-evict=pipe:?timeout=300ms&connect=300ms&spawn={self.folder}/peer.sh",
            "-O2",
            "-S",
            "pressure.c",
            "-o",
            "-",
        )
        self.assertEqual(done.stdout, self.clang("-O2", "-S", "pressure.c", "-o", "-").stdout)


if __name__ == "__main__":
    unittest.main()
