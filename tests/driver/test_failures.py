"""Models that fail, die, lie or are not there: the compile is plain clang's."""

from __future__ import annotations

import os
import re
import unittest
from pathlib import Path

from _driver import DRIVER, DriverTest

#: Asks one question, as LLVM does, and then fails as $FAKE_ERROR and $FAKE_CODE say;
#: without a model as $FAKE_PLAIN says.
FAKE_CLANG = """#!/usr/bin/env python3
import os, sys
with open("calls", "a") as calls:
    calls.write("call\\n")
bases = [word.partition("=")[2] for word in sys.argv if "priority-interactive" in word]
if not bases:
    print("compiled")
    sys.exit(os.environ["FAKE_PLAIN"] or None)
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

    def test_nobody_wants_what_is_printed(self) -> None:
        self.write("warns.c", "static int unused; int f(void) { return 1; }\n")
        words = ["-O2", "-Wall", "-c", "warns.c", "-o", "ours.o"]
        closed = ["sh", "-c", 'exec "$@" 2>&-', "sh", DRIVER, "--cbridge-evict=testpolicy:random"]
        self.assertEqual(self.run_program(*closed, *words).returncode, 0)
        self.assert_same_object("ours.o", "-O2", "-Wall", "-c", "warns.c")

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

    def call_fake_clang(self, error: str, code: int, plain: str) -> tuple[int, str, str, int]:
        """What a call comes to, and how often clang was called for it."""
        self.write("fake/clang-19", FAKE_CLANG, executable=True)
        (self.folder / "calls").unlink(missing_ok=True)
        done = self.driver(
            *("--cbridge-priority=constant:1", "-O2", "-c", "pressure.c"),
            CBRIDGE_CLANG=f"{self.folder}/fake/clang-19",
            FAKE_ERROR=error,
            FAKE_CODE=str(code),
            FAKE_PLAIN=plain,
        )
        return done.returncode, done.stdout, done.stderr, self.read("calls").count(b"call")

    def test_what_clang_cannot_bear(self) -> None:
        for error, code in (
            ("error: ran out of registers during register allocation\n", 1),
            ("error: stack frame size exceeds limit\n", 1),
            ("fatal error: error in backend\n", 70),
            ("stack dump\n", -11),
        ):
            line = (
                "cbridge-clang: clang failed with priority model 'constant:1'; compiled without\n"
            )
            self.assertEqual(self.call_fake_clang(error, code, ""), (0, "compiled\n", line, 2))

    def test_ordinary_errors_are_reported_once_and_by_plain_clang(self) -> None:
        error = "a.c:1:1: error: expected ';'"
        for code in (1, 70, -11):
            self.assertEqual(
                self.call_fake_clang("with a model", code, error),
                (1, "compiled\n", f"{error}\n", 2),
            )

    def test_frames_that_are_too_large_by_a_model(self) -> None:
        def largest(*model: str) -> int:
            told = self.driver(*model, "-O2", "-Wframe-larger-than=1", "-c", "pressure.c").stderr
            return max(int(size) for size in re.findall(r"stack frame size \((\d+)\)", told))

        plain = largest()
        models = [f"--cbridge-evict=testpolicy:random?seed={seed}" for seed in range(20)]
        model = next(model for model in models if largest(model) > plain)
        limited = ["-O2", "-Werror", f"-Wframe-larger-than={plain}", "-c", "pressure.c"]
        self.fell_back(model, *limited, why="clang failed with evict model .*; compiled without$")
        self.assert_same_object("pressure.o", *limited)

    def test_crash_reports_survive(self) -> None:
        self.write("crash.c", "#pragma clang __debug crash\n")
        done = self.driver("--cbridge-evict=testpolicy:random", "-O2", "-c", "crash.c")
        self.assertEqual(done.returncode, self.clang("-O2", "-c", "crash.c").returncode)
        self.assertEqual(done.stderr.count("PLEASE submit a bug report"), 1)
        self.assertNotIn("cbridge-clang: ", done.stderr)
        named = re.findall(r"diagnostic msg: (/.*\.(?:c|sh))\n", done.stderr)
        self.assertEqual(len(named), 2, done.stderr)
        for file in map(Path, named):
            self.assertTrue(file.exists(), file)
        for file in self.temporary.iterdir():
            file.unlink()

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
            why="evict model 'testpolicy:random' is not used: /nowhere/.*: No such file",
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

    def test_standard_input_that_cannot_be_read(self) -> None:
        arguments = "-O2 -x c - -S -o - "
        for no_input in ("<&-", "<.", "0>file"):
            code = self.shell(f"testpolicy:random {arguments}{no_input}")
            plain = self.run_program("sh", "-c", f"exec clang-19 {arguments}{no_input}")
            self.assertEqual(code, plain.returncode, no_input)

    def test_pipes_are_used_once(self) -> None:
        """No model, since another clang would find the pipe empty, or fill it twice."""
        why = r"evict model '.*' is not used: '/dev/fd/\d+' is no regular file"
        for call, made in (
            ("-c -x c <(cat pressure.c) -o ours.o", "ours.o"),
            ("-S pressure.c -o >(cat >ours.s)", "ours.s"),
            ("-S pressure.c -o ours.s -MD -MF >(cat >ours.d)", "ours.d"),
            ("-S pressure.c -o ours.s -MD -MF/dev/fd/7 7> >(cat >ours.d)", "ours.d"),
            ("-S pressure.c -o ours.s -include <(echo '#define X')", "ours.s"),
            ("-x c @<(echo -S pressure.c) -o ours.s", "ours.s"),
        ):
            command = (
                f"{DRIVER} --cbridge-evict=testpolicy:fail -O2 {call}; code=$?; wait $!; exit $code"
            )
            done = self.run_program("bash", "-c", command)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1), done.stderr)
            self.assertRegex(done.stderr, why)
            ours = self.read(made)
            plain = command.replace(f"{DRIVER} --cbridge-evict=testpolicy:fail", "clang-19")
            self.assertEqual(self.run_program("bash", "-c", plain).returncode, 0)
            self.assertEqual(ours, self.read(made), call)
        self.good("--cbridge-evict=testpolicy:random", "-O2", "-c", "pressure.c", "-o", "/dev/null")

    def test_a_fifo_as_the_source(self) -> None:
        os.mkfifo(self.folder / "fifo.c")
        feed = f"cat pressure.c >fifo.c & {DRIVER} --cbridge-evict=native:/none.so -O2 -c fifo.c"
        done = self.run_program("sh", "-c", feed)
        self.assertEqual(done.returncode, 0)
        self.assertIn("'fifo.c' is no regular file", done.stderr)
        ours = self.read("fifo.o")
        plain = self.run_program("sh", "-c", "cat pressure.c >fifo.c & clang-19 -O2 -c fifo.c")
        self.assertEqual(plain.returncode, 0)
        self.assertEqual(ours, self.read("fifo.o"))

    def test_standard_input_is_included(self) -> None:
        self.write(
            "included.c", "int f(void) { return included; }\n" + self.read("pressure.c").decode()
        )
        for call in (["-include", "/dev/stdin"], ["-include/dev/stdin"], ["-imacros", "/dev/fd/0"]):
            self.fell_back(
                *("--cbridge-evict=testpolicy:fail?after=5", "-O2", "-c", "included.c", *call),
                why="the policy gave up",
                stdin="#define included 1\n",
            )

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
