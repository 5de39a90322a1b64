"""Register allocation by models: compiles of every kind, and programs that stay right."""

from __future__ import annotations

import shutil
import unittest

from _driver import BUILT, DRIVER, DriverTest, installed

RANDOM = "testpolicy:random?seed="


class Regalloc(DriverTest):
    def expected(self) -> str:
        self.clang("-O0", "pressure.c", "-o", "expected")
        return self.run_program("./expected").stdout

    def test_random_legal_advice_keeps_programs_right(self) -> None:
        expected = self.expected()
        objects = set()
        for seed in range(6):
            for option in ("evict", "priority"):
                self.good(f"--cbridge-{option}={RANDOM}{seed}", "-O2", "pressure.c", "-o", "ours")
                self.assertEqual(self.run_program("./ours").stdout, expected)
                objects.add(self.read("ours"))
        self.assertGreater(len(objects), 6)  # the models were heard

    def test_both_at_once(self) -> None:
        self.good(
            "-O3",
            "pressure.c",
            "-o",
            "ours",
            CBRIDGE_EVICT_MODEL=f"{RANDOM}1",
            CBRIDGE_PRIORITY_MODEL=f"{RANDOM}2",
        )
        self.assertEqual(self.run_program("./ours").stdout, self.expected())

    def test_cxx_with_exceptions(self) -> None:
        self.write(
            "throws.cpp",
            "#include <cstdio>\n#include <stdexcept>\n#include <string>\n"
            "static long f(long n, const std::string &s) {\n"
            '  if (n > 40) throw std::runtime_error("deep " + s);\n'
            "  return f(n + 1, s + std::to_string(n)) * n + long(s.size());\n}\n"
            'int main() {\n  try { f(1, "x"); }\n'
            "  catch (const std::exception &e) { std::puts(e.what()); }\n}\n",
        )
        self.run_program("clang++-19", "-O0", "throws.cpp", "-o", "plain")
        for level in ("-O1", "-Os", "-O3"):
            done = self.run_program(
                f"{DRIVER}++",
                f"--cbridge-evict={RANDOM}3",
                f"--cbridge-priority={RANDOM}4",
                level,
                "-g",
                "throws.cpp",
                "-o",
                "ours",
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(self.run_program("./ours").stdout, self.run_program("./plain").stdout)

    def test_illegal_advice_is_replaced(self) -> None:
        for option, model in (
            ("evict", "constant:33"),
            ("evict", "constant:-1"),
            ("priority", "constant:-1"),
        ):
            done = self.fell_back(
                f"--cbridge-{option}={model}",
                "-O2",
                "pressure.c",
                "-o",
                "ours",
                why=r"[1-9]\d* of [1-9]\d* decisions were not legal",
            )
            self.assertIn("defaults were taken instead", done.stderr)
            self.assertEqual(self.run_program("./ours").stdout, self.expected())

    def test_several_sources(self) -> None:
        self.write("one.c", "int one(void) { return 1; }\n")
        for seed in (1, 2):
            self.good(
                f"--cbridge-evict={RANDOM}{seed}",
                "-O2",
                "pressure.c",
                "one.c",
                "-fno-integrated-as",
                "-o",
                "ours",
            )
            self.assertEqual(self.run_program("./ours").stdout, self.expected())
        self.write("two.c", self.read("pressure.c").decode().replace("main", "other"))
        self.good(f"--cbridge-evict={RANDOM}1", "-O2", "-c", "two.c", "pressure.c", "one.c")
        self.assertTrue((self.folder / "two.o").exists() and (self.folder / "one.o").exists())

    def test_one_source_is_wrong(self) -> None:
        self.write("wrong.c", "int f(void) { return x; }\n")
        for model in (f"{RANDOM}1", "testpolicy:fail?after=3"):
            ours = self.driver(f"--cbridge-evict={model}", "-O2", "-c", "pressure.c", "wrong.c")
            plain = self.clang("-O2", "-c", "pressure.c", "wrong.c")
            self.assertEqual(ours.returncode, plain.returncode)
            lines = [line for line in ours.stderr.splitlines(True) if "cbridge-clang" not in line]
            self.assertEqual("".join(lines), plain.stderr)
            self.assertTrue((self.folder / "pressure.o").exists())

    def test_save_temps_and_dependencies(self) -> None:
        self.write("pressure.h", "")
        self.write("with.c", '#include "pressure.h"\n' + self.read("pressure.c").decode())
        self.good(
            f"--cbridge-evict={RANDOM}1",
            "-O2",
            "-save-temps",
            "-MD",
            "-MF",
            "with.d",
            "-c",
            "with.c",
        )
        for ending in ("i", "bc", "s", "o"):
            self.assertTrue((self.folder / f"with.{ending}").exists(), ending)
        self.assertIn("pressure.h", self.read("with.d").decode())

    def test_standard_input_and_output(self) -> None:
        source = self.read("pressure.c").decode()
        arguments = ["-O2", "-x", "c", "-", "-S", "-o", "-"]
        plain = self.clang(*arguments, stdin=source).stdout
        ours = self.good(f"--cbridge-evict={RANDOM}5", *arguments, stdin=source).stdout
        self.assertRegex(ours, r"(?m)^main:")
        self.assertNotEqual(ours, plain)
        again = self.fell_back(
            "--cbridge-evict=testpolicy:fail?after=20",
            *arguments,
            why="the policy gave up",
            stdin=source,
        )
        self.assertEqual(again.stdout, plain)
        named = self.good(
            f"--cbridge-evict={RANDOM}5", "-O2", "pressure.c", "-S", "-o", "/dev/stdout"
        ).stdout
        self.assertRegex(named, r"(?m)^main:")

    def test_warnings_come_once(self) -> None:
        self.write(
            "warns.c", "int unused(void) { int x; return 1; }\n" + self.read("pressure.c").decode()
        )
        plain = self.clang("-Wall", "-O2", "-c", "warns.c").stderr
        self.assertIn("unused variable", plain)
        self.assertEqual(
            self.driver(f"--cbridge-evict={RANDOM}1", "-Wall", "-O2", "-c", "warns.c").stderr, plain
        )
        failed = self.driver(
            "--cbridge-evict=testpolicy:fail?after=9", "-Wall", "-O2", "-c", "warns.c"
        ).stderr
        self.assertEqual(failed.count("unused variable"), 1)
        self.assertEqual(failed.splitlines(True)[1:], plain.splitlines(True))

    def test_what_llvm_decides_cannot_be_recorded(self) -> None:
        done = self.driver(
            "--cbridge-evict=heuristic:?record=logs", "-O2", "-c", "pressure.c", "-o", "ours.o"
        )
        self.assertEqual(done.returncode, 0)
        self.assertIn("LLVM's own decisions of this kind cannot be recorded", done.stderr)
        self.assert_same_object("ours.o", "-O2", "-c", "pressure.c")

    def test_heuristic_and_none_are_plain(self) -> None:
        for model in ("heuristic:", ""):
            self.good(
                f"--cbridge-evict={model}",
                f"--cbridge-priority={model}",
                "-O2",
                "-c",
                "pressure.c",
                "-o",
                "ours.o",
            )
            self.assert_same_object("ours.o", "-O2", "-c", "pressure.c")

    def test_calls_that_allocate_nothing_ask_nothing(self) -> None:
        """A model that fails at once would be reported."""
        self.write("asm.s", ".globl f\nf: ret\n")
        self.clang("-c", "pressure.c", "-o", "object.o")
        for call in (
            ["-O2", "-E", "pressure.c"],
            ["-O2", "-fsyntax-only", "pressure.c"],
            ["-O2", "-M", "pressure.c"],
            ["-O2", "-S", "-emit-llvm", "pressure.c", "-o", "-"],
            ["-O2", "-flto", "-c", "pressure.c"],
            ["-O2", "-c", "asm.s"],
            ["-O2", "object.o", "-o", "program"],
            ["-c", "pressure.c"],
            ["-O2", "-O0", "-c", "pressure.c"],
            ["-print-search-dirs"],
            ["--version"],
            ["-O2", "-x", "c-header", "pressure.c", "-o", "pressure.pch"],
        ):
            ours = self.driver("--cbridge-evict=testpolicy:fail", "-Werror", *call)
            plain = self.clang("-Werror", *call)
            self.assertEqual(
                (ours.returncode, ours.stdout, ours.stderr),
                (plain.returncode, plain.stdout, plain.stderr),
                call,
            )

    def test_a_compile_that_never_asks(self) -> None:
        self.write("nothing.c", "int nothing;\n")
        self.write("little.c", "int little(int x) { return x + 1; }\n")
        for name in ("nothing", "little"):
            self.good("--cbridge-evict=testpolicy:fail", "-O2", "-c", f"{name}.c")
            self.assert_same_object(f"{name}.o", "-O2", "-c", f"{name}.c")

    def test_the_user_chooses_an_advisor(self) -> None:
        option = ["-mllvm", "-regalloc-enable-advisor=default"]
        self.fell_back(
            f"--cbridge-evict={RANDOM}1",
            *option,
            "-O2",
            "-c",
            "pressure.c",
            "-o",
            "ours.o",
            why="choose an advisor already",
        )
        self.assert_same_object("ours.o", *option, "-O2", "-c", "pressure.c")

    def test_embedded_bitcode_allows_no_options_of_llvm(self) -> None:
        for kind in ("", "=all", "=bitcode"):
            call = [f"-fembed-bitcode{kind}", "-O2", "-c", "pressure.c"]
            self.fell_back(
                f"--cbridge-evict={RANDOM}1", *call, "-o", "ours.o", why="-fembed-bitcode allows no"
            )
            self.assert_same_object("ours.o", *call)
        self.good(f"--cbridge-evict={RANDOM}1", "-fembed-bitcode=marker", *call[1:])

    def test_standard_output_is_no_input(self) -> None:
        for output in (["--output", "-"], ["--output=-"], ["-o-"]):
            ours = self.good(
                f"--cbridge-evict={RANDOM}5", "-O2", "-S", "pressure.c", *output
            ).stdout
            self.assertRegex(ours, r"(?m)^main:")

    def test_modules_beside_the_program(self) -> None:
        for programs, modules in (
            ("package/bin", "package/lib"),
            ("there/bin", "there/lib/compiler-bridge"),
            ("build/tools/cbridge-clang", "build/lib/compiler-bridge"),
        ):
            ours = installed(self.folder, programs, None)
            (self.folder / modules).mkdir(parents=True)
            shutil.copy(BUILT / "modules" / "cbridge-testpolicy.so", self.folder / modules)
            done = self.run_program(
                *(ours, f"--cbridge-evict={RANDOM}1", "-O2", "-c", "pressure.c"),
                CBRIDGE_MODULE_PATH="",
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""), programs)

    def test_recorded_decisions_are_those_that_were_taken(self) -> None:
        (self.folder / "log").mkdir()
        self.driver(
            f"--cbridge-priority={RANDOM}1&record={self.folder}/log/",
            "-O2",
            "-c",
            "pressure.c",
            "-o",
            "first.o",
        )
        self.good(
            f"--cbridge-priority=replay:{self.folder}/log/",
            "-O2",
            "-c",
            "pressure.c",
            "-o",
            "again.o",
        )
        self.assertEqual(self.read("first.o"), self.read("again.o"))


if __name__ == "__main__":
    unittest.main()
