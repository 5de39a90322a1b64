"""Models that fail, die, lie or are not there: the compile is plain clang's."""

from __future__ import annotations

import unittest

from _driver import DriverTest


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

    def test_crashes(self) -> None:
        self.assert_plain("testpolicy:crash?after=10", "ended by signal 11")
        self.assert_plain("testpolicy:exit?after=10", "ended by exit status 0")

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
