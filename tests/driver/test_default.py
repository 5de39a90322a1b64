"""The policy that is used when nobody names a model: where it is, and where it is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import unittest

from _driver import InstalledDriverTest, installed

POLICY = "native:InlineOz"
SYMBOL = b"cbridge_policy_InlineOz"


class Default(InstalledDriverTest):
    def models(self, *arguments: str, **environment: str) -> list[str]:
        """What the plugin was told in a call that must succeed."""
        self.log.unlink(missing_ok=True)
        self.good(*arguments, "-c", "pressure.c", "-o", "ours.o", **environment)
        return self.models_of_plugin()

    def without_policy(self) -> None:
        plugin = self.folder / "there/lib/compiler-bridge/CompilerBridgePasses.so"
        plugin.write_bytes(plugin.read_bytes().replace(SYMBOL, SYMBOL[::-1]))

    def test_where_small_code_is_asked_for(self) -> None:
        for call in (
            "-Os",
            "-Oz",
            "-O2 -Oz",
            "-O0 -Os -w",
            "--optimize=z",
            "-Oz -flto -fno-lto",
            "-O2 -Xclang -Oz",
        ):
            self.assertEqual(self.models(*call.split()), [POLICY], call)
        for call in ("", "-O0", "-O", "-O1", "-O2", "-O3", "-Oz -O2", "-Oz -O0", "-Oz -Xclang -O2"):
            self.assertEqual(self.models(*call.split()), [], call)
            self.assert_same_object("ours.o", *call.split(), "-c", "pressure.c")

    def test_levels_in_files(self) -> None:
        self.write("small.rsp", "-Oz")
        self.assertEqual(self.models("@small.rsp"), [POLICY])
        self.assertEqual(self.models("@small.rsp", "-O2"), [])
        self.write("small.cfg", "-Oz")
        for config in (["--config", "./small.cfg"], ["--config=./small.cfg"]):
            self.assertEqual(self.models(*config), [POLICY])
            self.assertEqual(self.models(*config, "-O2"), [])
            self.assertEqual(self.models("-O1", *config), [])
        self.write("fast.cfg", "-O2")
        self.assertEqual(self.models("--config=./fast.cfg"), [])
        self.assertEqual(self.models("--config=./fast.cfg", "-Os"), [POLICY])
        self.write("lto.cfg", "-Oz -flto")
        self.assertEqual(self.models("--config=./lto.cfg"), [])
        self.assertEqual(self.models("--config=./lto.cfg", "-Os"), [])
        self.assertEqual(self.models("--config=./lto.cfg", "-Os", "-fno-lto"), [POLICY])

    def test_a_configuration_beside_clang(self) -> None:
        told = """echo ' "clang" "-cc1" "-Oz"' >&2; echo ' "ld" "-O1"' >&2"""
        script = f'case $* in *-###*) {told} ;; *) echo "$*" ;; esac\n'
        fake = self.write("fake/clang-19", f"#!/bin/sh\n{script}", executable=True)
        call = ("-c", "x.c")
        self.assertEqual(self.good(*call, CBRIDGE_CLANG=str(fake)).stdout, "-c x.c\n")
        self.write("fake/clang.cfg", "-Oz")
        self.assertIn("-fpass-plugin=", self.good(*call, CBRIDGE_CLANG=str(fake)).stdout)

    def test_levels_in_the_environment(self) -> None:
        """Those with which clang overrides its command line; # has it say nothing about that."""
        for override, call, models in (
            ("#+-O2", ["-Oz"], []),
            ("#x-Oz", ["-Oz"], []),
            ("#+-flto", ["-Oz"], []),
            ("#+-Oz", ["-O2"], [POLICY]),
            ("#+-Oz", [], [POLICY]),
            ("#+-w", ["-Os"], [POLICY]),
            ("#", ["-Os"], [POLICY]),
            ("#", ["-O2"], []),
        ):
            made = self.models(*call, CCC_OVERRIDE_OPTIONS=override)
            self.assertEqual(made, models, (override, call))

    def test_who_is_named_counts_more(self) -> None:
        self.assertEqual(self.models("-Oz", "--cbridge-inline=constant:1"), ["constant:1"])
        self.assertEqual(self.models("-Oz", CBRIDGE_INLINE_MODEL="constant:0"), ["constant:0"])
        self.assertEqual(self.models("-O2", f"--cbridge-inline={POLICY}"), [POLICY])
        # Nobody is one, too.
        for option in ("", "heuristic:"):
            self.assertEqual(self.models("-Oz", f"--cbridge-inline={option}"), [])
            self.assertEqual(self.models("-Oz", CBRIDGE_INLINE_MODEL=option), [])
            self.assert_same_object("ours.o", "-Oz", "-c", "pressure.c")

    def test_disabled(self) -> None:
        self.assertEqual(self.models("-Oz", CBRIDGE_DISABLE="1"), [])
        self.assert_same_object("ours.o", "-Oz", "-c", "pressure.c")

    def test_beside_other_models(self) -> None:
        self.assertEqual(self.models("-Oz", "--cbridge-evict=testpolicy:random"), [POLICY])

    def test_a_plugin_without_it(self) -> None:
        self.without_policy()
        self.assertEqual(self.models("-Oz"), [])
        self.assert_same_object("ours.o", "-Oz", "-c", "pressure.c")
        self.assertIn("inline model: none\n", self.good("--cbridge-version").stdout)
        # Others can still be named.
        self.assertEqual(self.models("-Oz", "--cbridge-inline=constant:1"), ["constant:1"])

    def test_no_plugin(self) -> None:
        self.ours = installed(self.folder / "alone", "bin", None)
        self.assertEqual(self.models("-Oz"), [])
        self.assert_same_object("ours.o", "-Oz", "-c", "pressure.c")

    def test_a_damaged_plugin(self) -> None:
        plugin = self.folder / "there/lib/compiler-bridge/CompilerBridgePasses.so"
        whole = plugin.read_bytes()
        for size in (0, 20, 64, len(whole) // 2):
            plugin.write_bytes(whole[:size])
            self.assertEqual(self.models("-Oz"), [])

    def test_another_clang(self) -> None:
        mine = self.write("mine/clang", '#!/bin/sh\necho "18.1.0: $*"\n', executable=True)
        done = self.good("-Oz", "-c", "x.c", CBRIDGE_CLANG=str(mine))
        self.assertEqual(done.stdout, "18.1.0: -Oz -c x.c\n")

    def test_no_place_for_temporary_files(self) -> None:
        for budget in (1, 2):
            call = ("-Oz", f"--cbridge-budget={budget}")
            self.assertEqual(self.models(*call, TMPDIR="/nowhere"), [])
            self.assert_same_object("ours.o", "-Oz", "-c", "pressure.c")
            self.fell_back(
                *(*call, f"--cbridge-inline={POLICY}", "-c", "pressure.c"),
                why=f"inline model '{POLICY}' is not used: /nowhere/.*: No such file",
                TMPDIR="/nowhere",
            )

    def test_version(self) -> None:
        told = self.good("--cbridge-version").stdout
        self.assertIn(f"inline model: {POLICY} at -Os and -Oz\n", told)
        told = self.good("--cbridge-version", "--cbridge-inline=").stdout
        self.assertIn("inline model: none\n", told)
        told = self.good("--cbridge-version", CBRIDGE_DISABLE="1").stdout
        self.assertIn("inline model: none\n", told)

    def test_budget(self) -> None:
        self.assertEqual(self.models("-Oz", "--cbridge-budget=2"), [POLICY])
        # More than two ways: what it decides is recorded.
        (told,) = self.models("-Oz", "--cbridge-budget=4")
        self.assertTrue(told.startswith(f"{POLICY}?record="), told)
        self.assertEqual(self.models("-O2", "--cbridge-budget=4"), [])

    def test_calls_that_cannot_be_made_twice(self) -> None:
        """Plain clang, as ever; and nothing is said, since nobody has asked for a model."""
        os.mkfifo(self.folder / "fifo")
        writer = subprocess.Popen(
            ["cp", "pressure.c", "fifo"], cwd=self.folder, env=self.environment
        )
        self.good("-Oz", "-x", "c", "-c", "fifo", "-o", "ours.o")
        self.assertEqual(writer.wait(timeout=60), 0)
        self.assertEqual(self.models_of_plugin(), [])

    def test_standard_input(self) -> None:
        source = self.read("pressure.c").decode()
        call = ["-Oz", "-x", "c", "-", "-S", "-o", "-"]
        self.assertEqual(
            self.good(*call, stdin=source).stdout, self.clang(*call, stdin=source).stdout
        )
        self.assertEqual(self.models_of_plugin(), [POLICY])

    def test_what_is_not_compiled(self) -> None:
        self.clang("-c", "pressure.c", "-o", "object.o")
        for call in ("-E pressure.c", "-fsyntax-only pressure.c", "object.o -o p", "-M pressure.c"):
            ours = self.good("-Oz", "-Werror", *call.split())
            self.assertEqual(ours.stdout, self.clang("-Oz", "-Werror", *call.split()).stdout)
        self.assertEqual(self.models_of_plugin(), [])

    def test_errors_are_clangs(self) -> None:
        self.write("wrong.c", "int f(void) { return x; }\n")
        ours = self.driver("-Oz", "-c", "wrong.c")
        plain = self.clang("-Oz", "-c", "wrong.c")
        self.assertEqual((ours.returncode, ours.stderr), (plain.returncode, plain.stderr))

    @unittest.skipUnless(shutil.which("ld.lld-19"), "needs lld-19")
    def test_lto_is_clangs(self) -> None:
        for kind in ("-flto=thin", "-flto"):
            lto = ("-Oz", kind)
            self.assertEqual(self.models(*lto), [])
            self.assert_same_object("ours.o", *lto, "-c", "pressure.c")
            self.good(*lto, "-fuse-ld=lld", "ours.o", "-o", "program")
            self.good(*lto, "-fuse-ld=lld", "pressure.c", "-o", "program")
            self.assertEqual(self.models_of_plugin(), [])


if __name__ == "__main__":
    unittest.main()
