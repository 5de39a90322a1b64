"""cbridge-clang is clang: names, options, response files."""

from __future__ import annotations

import os
import shutil
import unittest
from pathlib import Path

from _driver import CBRIDGE, DRIVER, DriverTest, installed

SCRIPTS = Path(__file__).resolve().parents[2] / "python/scripts"


class Basics(DriverTest):
    def test_help_and_version(self) -> None:
        told = self.good("--cbridge-help").stdout
        for word in ("inline", "evict", "priority", "version"):
            self.assertIn(f"--cbridge-{word}", told)
        told = self.good(
            "--cbridge-version", "--cbridge-evict=constant:1", "--cbridge-inline="
        ).stdout
        self.assertRegex(told, r"^cbridge-clang \d+\.\d+\.\d+\nclang: /.*clang-19\n")
        self.assertIn("evict model: constant:1\n", told)
        self.assertIn("inline model: none\n", told)
        self.assertEqual(self.good("--help").stdout, self.clang("--help").stdout)
        self.assertEqual(self.good("--version").stdout, self.clang("--version").stdout)

    def test_unknown_options(self) -> None:
        for option, why in (
            ("--cbridge-evcit=x:", "option '--cbridge-evcit=x:' is not known"),
            ("--cbridge-evict", "option '--cbridge-evict' needs a runner"),
        ):
            done = self.driver(option, "-c", "pressure.c")
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)
            self.assertFalse((self.folder / "pressure.o").exists())

    def test_without_a_model_it_is_clang(self) -> None:
        for level in ("-O0", "-O2", "-Oz"):
            self.good(level, "--cbridge-inline=", "-c", "pressure.c", "-o", "ours.o")
            self.assert_same_object("ours.o", level, "-c", "pressure.c")

    def test_errors_are_clangs(self) -> None:
        self.write("wrong.c", "int f(void) { return x; }\nint unused(int y) { return 1 }\n")
        for extra in ((), ("--cbridge-evict=constant:0",)):
            ours = self.driver(*extra, "-O2", "-Wall", "-c", "wrong.c")
            plain = self.clang("-O2", "-Wall", "-c", "wrong.c")
            self.assertEqual(ours.returncode, 1)
            self.assertEqual(
                (ours.returncode, ours.stdout, ours.stderr),
                (plain.returncode, plain.stdout, plain.stderr),
            )
        self.assertEqual(self.driver().stderr, self.clang().stderr)

    def test_cxx_by_its_name(self) -> None:
        self.write("hello.cpp", '#include <iostream>\nint main() { std::cout << "hello\\n"; }\n')
        done = self.run_program(f"{DRIVER}++", "hello.cpp", "-o", "hello")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.run_program("./hello").stdout, "hello\n")

    def test_disabled(self) -> None:
        options = ["--cbridge-inline=constant:1", "--cbridge-evict=constant:0", "-O2", "-c"]
        self.good(*options, "pressure.c", "-o", "ours.o", CBRIDGE_DISABLE="1")
        self.assert_same_object("ours.o", "-O2", "-c", "pressure.c")
        self.assertIn(
            "evict model: none",
            self.good(
                "--cbridge-evict=constant:0", "--cbridge-version", CBRIDGE_DISABLE="1"
            ).stdout,
        )

    def test_another_clang(self) -> None:
        mine = self.write("mine/clang", '#!/bin/sh\necho "mine: $*"\n', executable=True)
        self.assertEqual(self.good("-c", "x.c", CBRIDGE_CLANG=str(mine)).stdout, "mine: -c x.c\n")
        cxx = self.run_program(f"{DRIVER}++", "-c", "x.c", CBRIDGE_CLANG=str(mine))
        self.assertEqual(cxx.stdout, "mine: --driver-mode=g++ -c x.c\n")
        for wrong, why in (
            (str(self.folder / "none"), "none' is no program"),
            (str(self.folder), "is no program"),
            (str(DRIVER), "is this program, not clang"),
            (f"{DRIVER}++", "is this program, not clang"),
        ):
            done = self.driver("-c", "x.c", CBRIDGE_CLANG=wrong)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"CBRIDGE_CLANG: '{wrong}'", done.stderr)
            self.assertIn(why, done.stderr)

    def test_a_clang_of_another_version_gets_no_plugin(self) -> None:
        mine = self.write("mine/clang", '#!/bin/sh\necho "18.1.0: $*"\n', executable=True)
        done = self.fell_back(
            "--cbridge-inline=constant:1",
            "-c",
            "x.c",
            why="is not clang 19",
            CBRIDGE_CLANG=str(mine),
        )
        self.assertEqual(done.stdout, "18.1.0: -c x.c\n")

    def test_never_finds_itself(self) -> None:
        (self.folder / "trap").mkdir()
        (self.folder / "trap" / "clang-19").symlink_to(DRIVER)
        path = f"{self.folder}/trap:{self.environment['PATH']}"
        self.good("-c", "pressure.c", PATH=path)
        # Nor ccache, which would take the result of one model for another's.
        (self.folder / "trap" / "clang-19").unlink()
        self.write("trap/ccache", "#!/bin/sh\nexit 7\n", executable=True)
        (self.folder / "trap" / "clang-19").symlink_to("ccache")
        self.good("-c", "pressure.c", PATH=path)

    def script(self) -> Path:
        """That of the wheel, in a virtual environment."""
        package = self.folder / "venv/lib/python3.11/site-packages/compiler_bridge"
        installed(package, "bin", None)
        (self.folder / "venv/bin").mkdir()
        for name in ("cbridge-clang", "cbridge-clang++"):
            shutil.copy(SCRIPTS / name, self.folder / "venv/bin")
        return self.folder / "venv/bin/cbridge-clang"

    def test_never_starts_itself_through_a_script(self) -> None:
        script = self.script()
        (self.folder / "trap").mkdir()
        (self.folder / "trap/clang-19").symlink_to(script)
        path = f"{self.folder}/trap:{self.environment['PATH']}"
        for driver in (script, DRIVER):
            done = self.run_program(driver, "-c", "pressure.c", PATH=path)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            done = self.run_program(driver, "-c", "pressure.c", CBRIDGE_CLANG=str(script))
            self.assertIn("is this program, not clang", done.stderr)
        for how in ("exec ", ""):
            other = self.write("mine/clang", f'#!/bin/sh\n{how}{DRIVER} "$@"\n', executable=True)
            for model in ("", "constant:1"):
                done = self.driver(
                    f"--cbridge-inline={model}", "-c", "pressure.c", CBRIDGE_CLANG=str(other)
                )
                self.assertEqual(done.returncode, 2)
                self.assertIn("starts cbridge-clang again", done.stderr)

    def test_the_script_needs_no_path(self) -> None:
        script = self.script()
        clang = shutil.which("clang-19") or ""
        (self.folder / "link").symlink_to(script)
        for driver in (script, self.folder / "link", "venv/bin/cbridge-clang++"):
            done = self.run_program(driver, "-c", "pressure.c", PATH="", CBRIDGE_CLANG=clang)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("cbridge-clang", done.stderr)

    def test_no_clang_in_path(self) -> None:
        if os.path.exists("/usr/lib/llvm-19/bin/clang"):
            self.good("-c", "pressure.c", PATH="/nowhere")
        else:
            done = self.driver("-c", "pressure.c", PATH="/nowhere")
            self.assertIn("there is no clang-19", done.stderr)

    def test_inner_commands_pass(self) -> None:
        ours = self.good("-cc1", "-version", CBRIDGE_INLINE_MODEL="constant:1")
        self.assertEqual(ours.stdout, self.clang("-cc1", "-version").stdout)

    def test_response_files(self) -> None:
        self.write("inner.txt", "--cbridge-priority=constant:2 -DINNER\n")
        self.write(
            "all.txt",
            '-O2 \'--cbridge-evict=constant:1\' @inner.txt\n"-DTEXT=\\"a b\\"" -c text.c\n',
        )
        self.write("text.c", "char text[] = TEXT; int inner[INNER];\n")
        told = self.good("@all.txt", "--cbridge-version").stdout
        self.assertIn("evict model: constant:1\n", told)
        self.assertIn("priority model: constant:2\n", told)
        self.good("@all.txt", "-o", "ours.o")
        self.write("plain.txt", '-O2 -DINNER "-DTEXT=\\"a b\\"" -c text.c\n')
        self.assert_same_object("ours.o", "@plain.txt")
        self.good("@plain.txt", "-o", "ours.o")
        self.assert_same_object("ours.o", "@plain.txt")
        done = self.driver("@none.txt")
        self.assertEqual(done.stderr, self.clang("@none.txt").stderr)

    def test_response_files_with_a_byte_order_mark(self) -> None:
        self.write("ours.txt", "\ufeff-O2 --cbridge-evict=constant:1 -c pressure.c\n")
        self.assertIn(
            "evict model: constant:1\n", self.good("@ours.txt", "--cbridge-version").stdout
        )
        self.good("@ours.txt", "--cbridge-evict=", "-o", "ours.o")
        self.assert_same_object("ours.o", "-O2", "-c", "pressure.c")

    def test_response_files_reach_clang_as_they_are(self) -> None:
        mine = self.write("mine/clang", '#!/bin/sh\necho "mine: $*"\n', executable=True)
        self.write("plain.txt", "-O2\n")
        self.write("ours.txt", "-O2 --cbridge-evict= -DX\n")
        told = self.good("@plain.txt", CBRIDGE_CLANG=str(mine)).stdout
        self.assertEqual(told, "mine: @plain.txt\n")
        told = self.good("@ours.txt", CBRIDGE_CLANG=str(mine)).stdout
        self.assertRegex(told, r"^mine: @/proc/self/fd/\d+\n$")

    def test_our_options_behind_two_dashes_are_files(self) -> None:
        done = self.driver("-c", "--", "--cbridge-evict=x:")
        self.assertEqual(done.stderr, self.clang("-c", "--", "--cbridge-evict=x:").stderr)

    def test_plugin_path_of_the_tool(self) -> None:
        installed(self.folder / "there", "bin", "lib/compiler-bridge")
        tool = self.folder / "there" / "bin" / "cbridge"
        tool.write_bytes(CBRIDGE.read_bytes())
        tool.chmod(0o755)
        done = self.run_program(tool, "plugin-path", "llvm")
        plugin = self.folder / "there/lib/compiler-bridge/CompilerBridgePasses.so"
        self.assertEqual(done.stdout, f"{plugin.resolve()}\n")
        plugin.unlink()
        done = self.run_program(tool, "plugin-path", "llvm")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("there is no CompilerBridgePasses.so in ", done.stderr)
        for words in ((), ("gcc",), ("llvm", "llvm")):
            self.assertEqual(self.run_program(tool, "plugin-path", *words).returncode, 2)
        self.assertIn("usage:", self.run_program(tool, "plugin-path", "--help").stdout)


if __name__ == "__main__":
    unittest.main()
