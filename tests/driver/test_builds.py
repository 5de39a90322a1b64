"""As the compiler of a build: make, CMake, configure scripts, ccache."""

from __future__ import annotations

import shutil
import unittest

from _driver import DRIVER, DriverTest

RANDOM = "testpolicy:random?seed=1"


class Builds(DriverTest):
    def setUp(self) -> None:
        super().setUp()
        self.environment["CBRIDGE_EVICT_MODEL"] = RANDOM
        self.clang("-O0", "pressure.c", "-o", "expected")
        self.expected = self.run_program("./expected").stdout

    def built(self, *command: str) -> str:
        done = self.run_program(*command)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    @unittest.skipUnless(shutil.which("make"), "needs make")
    def test_make(self) -> None:
        sources = [f"part{i}" for i in range(6)]
        for name in sources:
            text = self.read("pressure.c").decode()
            self.write(f"{name}.c", text.replace("main", name).replace("hash", f"hash_{name}"))
        self.write(
            "Makefile",
            "CFLAGS = -O2 -MD -Wall -Werror\n"
            f"program: pressure.o {' '.join(f'{name}.o' for name in sources)}\n"
            "\t$(CC) $^ -o $@\n"
            "-include *.d\n",
        )
        told = self.built("make", "-j2", f"CC={DRIVER}")
        self.assertNotIn("cbridge-clang:", told)
        self.assertEqual(self.run_program("./program").stdout, self.expected)
        self.assertIn("up to date", self.built("make", f"CC={DRIVER}"))
        # Plain clang makes something else of it.
        plain = self.clang("-O2", "-Wall", "-c", "pressure.c", "-o", "plain.o")
        self.assertEqual(plain.returncode, 0)
        self.assertNotEqual(self.read("pressure.o"), self.read("plain.o"))

    @unittest.skipUnless(shutil.which("cmake"), "needs CMake")
    def test_cmake(self) -> None:
        self.write(
            "project/CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.22)\nproject(p C CXX)\n"
            "include(CheckCCompilerFlag)\ncheck_c_compiler_flag(-fstack-protector HAS_FLAG)\n"
            "check_c_compiler_flag(-fno-such-flag HAS_NO_FLAG)\n"
            'message("${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION} ${HAS_FLAG}'
            ' [${HAS_NO_FLAG}] ${CMAKE_CXX_COMPILER_ID}")\n'
            "add_executable(program ../pressure.c)\nadd_executable(hello hello.cpp)\n",
        )
        self.write("project/hello.cpp", '#include <cstdio>\nint main() { std::puts("hello"); }\n')
        told = self.built(
            *("cmake", "-S", "project", "-B", "build", "-DCMAKE_BUILD_TYPE=Release"),
            *(f"-DCMAKE_C_COMPILER={DRIVER}", f"-DCMAKE_CXX_COMPILER={DRIVER}++"),
        )
        self.assertRegex(told, r"Clang 19\.\d+\.\d+ 1 \[\] Clang")
        self.built("cmake", "--build", "build", "-j2")
        self.assertEqual(self.run_program("build/program").stdout, self.expected)
        self.assertEqual(self.run_program("build/hello").stdout, "hello\n")

    def test_configure(self) -> None:
        """What Autoconf's scripts ask of a compiler."""
        self.write(
            "configure",
            """#!/bin/sh
set -e
echo 'int main(void) { return 0; }' >conftest.c
test "$($CC --version | sed -n '1s/.*clang version.*/clang/p')" = clang
$CC -V conftest.c 2>/dev/null && exit 10
$CC -o conftest conftest.c && ./conftest
$CC -c $CFLAGS conftest.c && test -f conftest.o
echo '#include <stdio.h>' | $CC -E - | grep -q printf
echo '#include <no_such_header.h>' >conftest.c
$CC -E conftest.c >/dev/null 2>conftest.err && exit 11
grep -q 'no_such_header' conftest.err
echo 'char no_such_function(void); int main(void) { return no_such_function(); }' >conftest.c
$CC $CFLAGS -o conftest conftest.c 2>/dev/null && exit 12
# Any output counts as a warning.
echo 'int x(int y) { return y; }' >conftest.c
test -z "$($CC $CFLAGS -Werror -c conftest.c 2>&1)"
$CC $CFLAGS -no-such-option -c conftest.c 2>/dev/null && exit 13
$CC $CFLAGS -MT conftest.o -MD -MP -MF conftest.Tpo -c conftest.c
grep -q 'conftest.o:' conftest.Tpo
$CC -print-prog-name=ld | grep -q ld
$CC -dumpmachine | grep -q -- -
echo configured
""",
            executable=True,
        )
        self.environment |= {"CC": str(DRIVER), "CFLAGS": "-g -O2"}
        self.assertEqual(self.built("./configure"), "configured\n")

    @unittest.skipUnless(shutil.which("ccache"), "needs ccache")
    def test_ccache(self) -> None:
        self.environment |= {"CCACHE_DIR": str(self.folder / "cache"), "CCACHE_LOGFILE": "log"}

        def compile_with(*options: str, **environment: str) -> bytes:
            command = ["ccache", str(DRIVER), *options, "-O2", "-c", "pressure.c", "-o", "ours.o"]
            done = self.run_program(*command, **environment)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return self.read("ours.o")

        def hits() -> int:
            lines = self.built("ccache", "--print-stats").splitlines()
            counts = dict(line.split("\t") for line in lines)
            return int(counts["direct_cache_hit"]) + int(counts["preprocessed_cache_hit"])

        first = compile_with(f"--cbridge-evict={RANDOM}")
        self.assertEqual(hits(), 0)
        self.assertEqual(compile_with(f"--cbridge-evict={RANDOM}"), first)
        self.assertEqual(hits(), 1)
        # Options are seen, the environment is not: what the guide says about it.
        other = compile_with("--cbridge-evict=testpolicy:random?seed=9")
        self.assertEqual(hits(), 1)
        self.assertNotEqual(other, first)
        compile_with(CCACHE_NAMESPACE=RANDOM)
        self.environment["CBRIDGE_EVICT_MODEL"] = "testpolicy:random?seed=9"
        self.assertEqual(compile_with(CCACHE_NAMESPACE="testpolicy:random?seed=9"), other)
        self.assertEqual(hits(), 1)
        self.assertIn("Compiler type: clang", (self.folder / "log").read_text())


if __name__ == "__main__":
    unittest.main()
