"""--cbridge-budget with the real plugin: which object is kept, and what is seen of the others."""

from __future__ import annotations

import os
import shlex
import unittest
from pathlib import Path

from _budget import CHANCE, SCORES, BudgetTest, functions, loaded
from _driver import DRIVER

#: Of CHANCE: -O2 code is smaller by the first, larger by the second than plain clang's.
SMALLER, LARGER = f"{CHANCE}?seed=1", f"{CHANCE}?seed=0"


class Budget(BudgetTest):
    def test_two_are_the_smaller_one(self) -> None:
        winners = set()
        for level in ("-O1", "-O2", "-Os"):
            for model in (SMALLER, LARGER, f"{SCORES}?seed=3"):
                ways = [self.plain(level), self.by_model(model, level)]
                best = min((0, 1), key=lambda way: (loaded(ways[way]), way))
                self.assertEqual(self.kept(2, level, model=model), ways[best], (level, model))
                winners.add(best)
        self.assertEqual(winners, {0, 1})

    def test_one_is_the_model_alone(self) -> None:
        self.assertNotEqual(self.by_model(LARGER, "-O2"), self.plain("-O2"))
        self.assertEqual(self.kept(1, "-O2", model=LARGER), self.by_model(LARGER, "-O2"))

    def test_models_that_do_not_describe_themselves(self) -> None:
        smaller = set()
        for model in ("constant:0", "constant:1", "testpolicy:random"):
            ways = [self.plain("-O2"), self.by_model(model, "-O2")]
            for budget in (2, 9, 64):
                self.assertEqual(self.kept(budget, "-O2", model=model), min(ways, key=loaded))
            smaller.add(loaded(ways[1]) < loaded(ways[0]))
        self.assertEqual(smaller, {False, True})

    def test_by_the_environment_and_response_files(self) -> None:
        expected = self.kept(4, "-O2", model=SMALLER)
        self.write("more.txt", f'--cbridge-budget=4 --cbridge-inline={SMALLER} -DTEXT=\\"a\\ b\\"')
        self.good("@more.txt", "-O2", "-c", "code.c", "-o", "ours.o")
        self.assertEqual(self.read("ours.o"), expected)
        self.good(
            *("-O2", "-c", "code.c", "-o", "ours.o"),
            CBRIDGE_INLINE_MODEL=SMALLER,
            CBRIDGE_BUDGET="4",
        )
        self.assertEqual(self.read("ours.o"), expected)
        ours = self.kept(1, "-O2", model=SMALLER)
        self.environment["CBRIDGE_BUDGET"] = "4"
        self.assertEqual(self.kept(1, "-O2", model=SMALLER), ours)  # options count more

    def test_features_that_users_name(self) -> None:
        expected = self.kept(6, "-O2", model=SMALLER)
        for names in ("callsite_loop_depth", "all", "caller_name,inlining_default"):
            self.environment["CBRIDGE_INLINE_FEATURES"] = names
            self.assertEqual(self.kept(6, "-O2", model=SMALLER), expected)
        self.environment["CBRIDGE_INLINE_FEATURES"] = "no_such_feature"
        for budget in (2, 6):
            call = (f"--cbridge-inline={SMALLER}", f"--cbridge-budget={budget}", "-O2")
            self.fell_back(*call, "-c", "code.c", why="'no_such_feature' is no extra feature")
            self.assert_same_object("code.o", "-O2", "-c", "code.c")

    def test_nothing_to_decide(self) -> None:
        for code in ("", "int x = 3;\n", "int f(int x) { return x; }\n", "int f(void);\n"):
            self.write("code.c", code)
            for budget in (2, 3, 8):
                self.assertEqual(self.kept(budget, "-O2"), self.plain("-O2"), code)

    def test_cxx_with_debug_information(self) -> None:
        self.write("code.cpp", "#include <vector>\n" + "\n".join(functions()))
        call = ("-O2", "-g", "-c", "code.cpp", "-o", "ours.o")
        done = self.run_program(
            f"{DRIVER}++", *call, f"--cbridge-inline={SMALLER}", "--cbridge-budget=4"
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        ours = self.read("ours.o")
        self.run_program("clang++-19", *call)
        self.assertLess(loaded(ours), loaded(self.read("ours.o")))

    def test_files_for_make(self) -> None:
        self.write("header.h", "#define X 1\n")
        self.write("code.c", '#include "header.h"\n#include <stdio.h>\n' + "\n".join(functions()))
        for call, made in (
            ("-MD -o out.o", "out.d"),
            ("-MMD -MP", "code.d"),
            ("-MD -MF my.d -MT 'my target' -MQ 'a$b' -MP -o out.o", "my.d"),
            ("-MMD -MFmy.d -o out.o", "my.d"),
            ("-Wp,-MD,my.d -o out.o", "my.d"),
        ):
            words = ("-O2", "-c", "code.c", *shlex.split(call))
            self.assertEqual(self.clang(*words).returncode, 0)
            expected = self.read(made)
            (self.folder / made).unlink()
            before = set(os.listdir(self.folder))
            self.good(f"--cbridge-inline={CHANCE}", "--cbridge-budget=4", *words)
            self.assertEqual(self.read(made), expected, call)
            self.assertEqual(set(os.listdir(self.folder)) - before, {made})
        for file in ("-", "/dev/stdout"):
            words = ("-O2", "-c", "code.c", "-MD", "-MF", file, "-o", "out.o")
            done = self.good(f"--cbridge-inline={CHANCE}", "--cbridge-budget=4", *words)
            self.assertEqual(done.stdout, self.clang(*words).stdout)

    def test_messages_come_once(self) -> None:
        code = self.read("code.c").decode()
        self.write("code.c", f"int h(void) {{ int unused; return 1; }}\n{code}")
        words = ("-O2", "-Wall", "-L/nowhere", "-c", "code.c", "-o", "ours.o")
        plain = self.clang(*words)
        self.assertGreaterEqual(plain.stderr.count("warning: "), 2)
        for model in (SMALLER, LARGER):
            model_words = (f"--cbridge-inline={model}", "--cbridge-budget=6")
            done = self.driver(*model_words, *words)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", plain.stderr))

        def on_a_terminal(*command: str) -> str:
            line = shlex.join([*command, *words])
            return self.run_program("script", "-qec", line, "/dev/null", TERM="xterm").stdout

        plain_lines = on_a_terminal("clang-19")
        self.assertIn("\x1b[", plain_lines)
        self.assertEqual(on_a_terminal(str(DRIVER), *model_words), plain_lines)

    def test_errors_are_clangs(self) -> None:
        model = (f"--cbridge-inline={CHANCE}", "--cbridge-budget=4")
        self.write("wrong.c", "int f(void) { return x; }\nint unused(int y) { return 1 }\n")
        self.write("crash.c", "#pragma clang __debug crash\n")
        self.write("warns.c", "int f(void) { int unused; return 1; }\n")
        (self.folder / "folder").mkdir()
        for call in (
            "-O2 -Wall -c wrong.c",
            "-O2 -c none.c",
            "-O2 -c code.c -no-such-option",
            "-O2 -Wall -Werror -c warns.c",
            "-O2 -c code.c -o nowhere/code.o",
            "-O2 -c code.c -o folder",
        ):
            ours, plain = self.driver(*model, *call.split()), self.clang(*call.split())
            self.assertEqual((ours.returncode, ours.stderr), (plain.returncode, plain.stderr))
            self.assertNotEqual(ours.returncode, 0)
            self.assertEqual(list(self.folder.glob("*.o")), [])
        done = self.driver(*model, "-O2", "-c", "crash.c")
        self.assertEqual(done.returncode, self.clang("-O2", "-c", "crash.c").returncode)
        self.assertEqual(done.stderr.count("PLEASE submit a bug report"), 1)
        self.assertNotIn("cbridge-clang: ", done.stderr)
        for file in self.temporary.iterdir():
            file.unlink()  # the reports

    def test_no_model_is_a_candidate(self) -> None:
        crashed = "clang failed with inline model '.*'; compiled without"
        for model, why in (
            (f"{CHANCE}?how=crash", crashed),
            (f"{CHANCE}?how=exit&after=9", crashed),
            (f"{CHANCE}?how=fail", "the policy gave up; LLVM's own heuristic decides"),
            (f"{CHANCE}?how=fail&after=9", "the policy gave up; LLVM's own heuristic decides"),
            ("native:/none.so", "inlining by native:/none.so: .*; LLVM's own heuristic decides"),
            (f"shm:{self.folder}/nobody", "LLVM's own heuristic decides"),
        ):
            for budget in (2, 8):
                call = (f"--cbridge-inline={model}", f"--cbridge-budget={budget}", "-O2")
                done = self.fell_back(*call, "-c", "code.c", "-o", "ours.o", why=why)
                self.assertNotIn("record=", done.stderr)
                self.assertNotIn(str(self.temporary), done.stderr)
                self.assert_nothing_left()
                self.assert_same_object("ours.o", "-O2", "-c", "code.c")

    def test_a_model_that_never_answers(self) -> None:
        self.environment["CBRIDGE_ANSWER_TIMEOUT"] = "0.2"
        model = f"{CHANCE}?how=block&tell=/dev/null&after=5"
        call = (f"--cbridge-inline={model}", "--cbridge-budget=4", "-O2", "-c", "code.c")
        self.fell_back(*call, why="clang failed with inline model")
        self.assert_same_object("code.o", "-O2", "-c", "code.c")

    def test_permissions(self) -> None:
        for mask, mode in (("027", 0o640), ("077", 0o600), ("002", 0o664)):
            call = f"--cbridge-inline={SMALLER} --cbridge-budget=3 -O2 -c code.c -o ours.o"
            done = self.run_program("sh", "-c", f"umask {mask}; exec {DRIVER} {call}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((self.folder / "ours.o").stat().st_mode & 0o777, mode)

    def test_an_output_through_a_link(self) -> None:
        """As clang does it: the link is replaced."""
        self.write("target.o", "old")
        for command in (
            ["clang-19"],
            [str(DRIVER), f"--cbridge-inline={CHANCE}", "--cbridge-budget=2"],
        ):
            link = self.folder / "link.o"
            link.unlink(missing_ok=True)
            link.symlink_to("target.o")
            done = self.run_program(*command, "-O2", "-c", "code.c", "-o", "link.o")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertFalse(link.is_symlink())
            self.assertEqual(self.read("target.o"), b"old")

    def test_folders_in_which_nothing_can_be_made(self) -> None:
        self.fell_back(
            *(f"--cbridge-inline={CHANCE}", "--cbridge-budget=3", "-O2", "-c", "code.c"),
            why="/nowhere/",
            TMPDIR="/nowhere",
        )
        if os.geteuid() != 0:
            old = Path(self.write("old.o", "old"))
            old.chmod(0o400)
            words = ("-O2", "-c", "code.c", "-o", "old.o")
            ours = self.driver(f"--cbridge-inline={CHANCE}", "--cbridge-budget=3", *words)
            self.assertEqual(ours.stderr, self.clang(*words).stderr)


if __name__ == "__main__":
    unittest.main()
