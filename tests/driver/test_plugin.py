"""Inlining: the plugin is found, loaded where something is compiled, and nowhere in the way."""

from __future__ import annotations

import os
import shlex
import shutil
import unittest

from _driver import InstalledDriverTest, installed

MODEL = "constant:1"


class Plugin(InstalledDriverTest):
    def test_places(self) -> None:
        for name, programs, plugins in (
            ("build", "tools/cbridge-clang", "lib/compiler-bridge"),
            ("wheel", "compiler_bridge/bin", "compiler_bridge/lib"),
        ):
            self.ours = installed(self.folder / name, programs, plugins)
            self.log.unlink(missing_ok=True)
            self.good(f"--cbridge-inline={MODEL}", "-O2", "-c", "pressure.c")
            self.assertEqual(self.models_of_plugin(), [MODEL], name)

    def test_through_links(self) -> None:
        link = self.folder / "elsewhere"
        link.mkdir()
        (link / "cc").symlink_to(self.ours)
        self.ours = link / "cc"
        self.good(f"--cbridge-inline={MODEL}", "-O2", "-c", "pressure.c")
        self.assertEqual(self.models_of_plugin(), [MODEL])

    def test_module_path(self) -> None:
        self.ours = installed(self.folder / "alone", "bin", None)
        plugins = self.folder / "there/lib/compiler-bridge"
        self.good(
            f"--cbridge-inline={MODEL}",
            "-O2",
            "-c",
            "pressure.c",
            CBRIDGE_MODULE_PATH=f"/nowhere:{plugins}",
        )
        self.assertEqual(self.models_of_plugin(), [MODEL])

    def test_missing(self) -> None:
        self.ours = installed(self.folder / "alone", "bin", None)
        self.fell_back(
            f"--cbridge-inline={MODEL}",
            "-O2",
            "-c",
            "pressure.c",
            "-o",
            "ours.o",
            why="there is no CompilerBridgePasses.so in ",
        )
        self.assert_same_object("ours.o", "-O2", "-c", "pressure.c")

    def fake_clang(self, with_model: str) -> str:
        """A clang 19 that tells who started it and what it read; not so with a plugin."""
        plain = 'echo "plain $PPID: $*"; cat; exit ${FAKE_CODE-0}'
        script = f"case $* in *pass-plugin*) {with_model} ;; esac\n{plain}\n"
        return str(self.write("fake/clang-19", f"#!/bin/sh\n{script}", executable=True))

    def test_clang_fails_with_it(self) -> None:
        for failure in ("echo half; echo wrong >&2; exit 1", "kill -SEGV $$"):
            for call in ("-O2 -c x.c", "-Os -S -emit-llvm x.c", "-flto -fuse-ld=lld x.o"):
                fake = self.fake_clang(with_model=failure)
                done = self.fell_back(
                    f"--cbridge-inline={MODEL}",
                    *call.split(),
                    why=f"clang failed with inline model '{MODEL}'; compiled without$",
                    CBRIDGE_CLANG=fake,
                )
                self.assertRegex(done.stdout, rf"^plain \d+: {call}\n$")
        done = self.driver(
            f"--cbridge-inline={MODEL}", "-O2", "-c", "x.c", CBRIDGE_CLANG=fake, FAKE_CODE="3"
        )
        self.assertEqual((done.returncode, done.stderr), (3, ""))

    def test_folders_of_a_clang_that_fails_go(self) -> None:
        fake = self.fake_clang(with_model='mkdir -p "$TMPDIR/a/b"; echo >"$TMPDIR/a/b/c"; exit 1')
        self.fell_back(
            *(f"--cbridge-inline={MODEL}", "-O2", "-c", "x.c"),
            why="clang failed",
            CBRIDGE_CLANG=fake,
        )

    def test_errors_are_clangs(self) -> None:
        self.write("wrong.c", "int f(void) { return x; }\n")
        ours = self.driver(f"--cbridge-inline={MODEL}", "-O2", "-c", "wrong.c")
        plain = self.clang("-O2", "-c", "wrong.c")
        self.assertEqual((ours.returncode, ours.stderr), (plain.returncode, plain.stderr))

    def test_where_nothing_is_inlined_clang_takes_our_place(self) -> None:
        fake = self.fake_clang(with_model='echo "$PPID"; exit 1')
        for call in ("-c x.c", "x.o -o x", "-O2 -E x.c", "-O0 -c x.c"):
            done = self.driver(f"--cbridge-inline={MODEL}", *call.split(), CBRIDGE_CLANG=fake)
            self.assertEqual((done.returncode, done.stdout), (1, f"{os.getpid()}\n"), call)

    def test_standard_input(self) -> None:
        source = self.read("pressure.c").decode()
        call = ["-O2", "-x", "c", "-", "-S", "-o", "-"]
        ours = self.good(f"--cbridge-inline={MODEL}", *call, stdin=source).stdout
        self.assertEqual(ours, self.clang(*call, stdin=source).stdout)
        self.assertEqual(self.models_of_plugin(), [MODEL])
        fake = self.fake_clang(with_model="cat >/dev/null; exit 1")
        done = self.driver(f"--cbridge-inline={MODEL}", *call, stdin=source, CBRIDGE_CLANG=fake)
        self.assertTrue(done.stdout.endswith(source))

    def test_another_model_fails(self) -> None:
        self.fell_back(
            *(f"--cbridge-inline={MODEL}", "--cbridge-evict=testpolicy:fail", "-O2", "-c"),
            "pressure.c",
            why="the policy gave up; compiled without it$",
        )
        self.assertEqual(self.models_of_plugin(), [MODEL, MODEL])

    def test_heuristic_is_plain(self) -> None:
        call = ["-O2", "-grecord-command-line", "-c", "pressure.c"]
        self.good("--cbridge-inline=heuristic:", *call, "-o", "plain.out")
        ours = self.read("plain.out")
        self.clang(*call, "-o", "plain.out")
        self.assertEqual(ours, self.read("plain.out"))
        self.good("--cbridge-inline=heuristic:?record=logs/", *call)
        self.assertEqual(self.models_of_plugin(), ["heuristic:?record=logs/"])

    def test_warnings_have_colours_on_a_terminal(self) -> None:
        self.write("warns.c", "int f(void) { int unused; return 1; }\n")

        def on_a_terminal(*command: str) -> str:
            line = shlex.join([*command, "-O2", "-Wall", "-c", "warns.c"])
            return self.run_program("script", "-qec", line, "/dev/null", TERM="xterm").stdout

        plain = on_a_terminal("clang-19")
        self.assertIn("\x1b[", plain)
        ours = on_a_terminal(str(self.ours), f"--cbridge-inline={MODEL}")
        self.assertEqual(ours, plain)

    def test_options_count_more_than_the_environment(self) -> None:
        self.good("-O2", "-c", "pressure.c", CBRIDGE_INLINE_MODEL=MODEL)
        self.good(
            "-O2", "-c", "pressure.c", "--cbridge-inline=constant:0", CBRIDGE_INLINE_MODEL=MODEL
        )
        self.good("-O2", "-c", "pressure.c", "--cbridge-inline=", CBRIDGE_INLINE_MODEL=MODEL)
        self.good("-O2", "-c", "pressure.c", CBRIDGE_INLINE_MODEL="")
        self.good("-O2", "-c", "pressure.c", CBRIDGE_INLINE_MODEL=MODEL, CBRIDGE_DISABLE="1")
        self.assertEqual(self.models_of_plugin(), [MODEL, "constant:0"])

    def test_malformed_runner(self) -> None:
        self.fell_back(
            "--cbridge-inline=nothing",
            "-c",
            "pressure.c",
            "-o",
            "ours.o",
            why="inline model 'nothing' is not used: ",
        )
        self.assert_same_object("ours.o", "-c", "pressure.c")

    def test_no_warnings_where_nothing_is_compiled(self) -> None:
        self.write("asm.s", ".globl f\nf: ret\n")
        self.clang("-c", "pressure.c", "-o", "object.o")
        option = f"--cbridge-inline={MODEL}"
        for call in (
            ["-E", "pressure.c"],
            ["-fsyntax-only", "pressure.c"],
            ["-M", "pressure.c"],
            ["-c", "asm.s"],
            ["object.o", "-o", "program"],
            ["-print-search-dirs"],
            ["--version"],
            ["-dumpmachine"],
        ):
            ours = self.good(option, "-Werror", *call)
            self.assertEqual(ours.stdout, self.clang("-Werror", *call).stdout, call)
        self.assertEqual(self.models_of_plugin(), [])
        shown = self.driver(option, "-Werror", "-###", "pressure.c")
        self.assertEqual(shown.returncode, 0)
        self.assertNotIn("warning", shown.stderr)

    def test_werror_where_something_is_compiled(self) -> None:
        self.good(f"--cbridge-inline={MODEL}", "-Werror", "-Wall", "-O2", "pressure.c", "-o", "p")
        self.assertEqual(self.models_of_plugin(), [MODEL])

    @unittest.skipUnless(shutil.which("ld.lld-19"), "needs lld-19")
    def test_lto_by_lld(self) -> None:
        option = f"--cbridge-inline={MODEL}"
        for kind in ("-flto=thin", "-flto"):
            lto = ["-O2", kind, "-Werror"]
            self.good(option, *lto, "-c", "pressure.c", "-o", "lto.o")
            compiled = len(self.models_of_plugin())
            self.good(option, *lto, "-fuse-ld=lld", "lto.o", "-o", "program")
            linked = self.models_of_plugin()[compiled:]
            self.assertGreaterEqual(len(linked), 1, kind)
            self.assertEqual(set(linked), {MODEL})
        # A comma in its path is no end of it.
        self.ours = installed(self.folder / "a,b", "bin", "lib/compiler-bridge")
        self.log.unlink()
        self.good(option, "-O2", "-flto", "-fuse-ld=lld", "lto.o", "-o", "program")
        self.assertEqual(set(self.models_of_plugin()), {MODEL})
        # lld optimizes nothing here, and is told nothing.
        self.clang("-c", "pressure.c", "-o", "object.o")
        self.good(option, "-fuse-ld=lld", "object.o", "-o", "program")


if __name__ == "__main__":
    unittest.main()
