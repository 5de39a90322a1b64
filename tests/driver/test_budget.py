"""--cbridge-budget with the real plugin: which object is kept, and what is seen of the others."""

from __future__ import annotations

import os
import shlex
import struct
import unittest
from collections.abc import Iterator
from pathlib import Path

from _driver import DRIVER, DriverTest

VARIANTS = "testpolicy:variants"


def functions() -> Iterator[str]:
    """Calls enough, of functions that are small enough, for decisions to matter."""
    yield "int ext(int); int ext2(int, int);"
    for n in range(12):
        steps = ("x += ext(x);", f"x ^= x >> {n % 5 + 1};", f"x *= {n + 3};", "x += ext2(x, x);")
        body = " ".join(steps[(n + i) % 4] for i in range(n % 7 + 2))
        yield f"static int f{n}(int x) {{ {body} return x; }}"
    for n in range(8):
        calls = " + ".join(f"f{(5 * n + 7 * i) % 12}(x + {i})" for i in range(4))
        yield f"int g{n}(int x) {{ return {calls}; }}"


def loaded(elf: bytes) -> int:
    """The bytes of an object that are loaded, of the machine that runs this."""
    table, size, count = struct.unpack_from("<40xQ10xHH", elf)
    sections = [struct.unpack_from("<4xIQ8x8xQ", elf, table + i * size) for i in range(count)]
    return sum(bytes_ for kind, flags, bytes_ in sections if flags & 2 and kind != 8)


class Budget(DriverTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("code.c", "\n".join(functions()))

    def ways(self, level: str, count: int, model: str = VARIANTS) -> list[bytes]:
        """What single compiles make of the source: clang's, then each variant's."""
        self.clang(level, "-c", "code.c", "-o", "way.o")
        made = [self.read("way.o")]
        for variant in range(count - 1):
            call = (f"--cbridge-inline={model}", level, "-c", "code.c", "-o", "way.o")
            self.good(*call, CBRIDGE_INLINE_VARIANT=str(variant))
            made.append(self.read("way.o"))
        return made

    def kept(self, budget: int, *arguments: str, model: str = VARIANTS) -> bytes:
        (self.folder / "ours.o").unlink(missing_ok=True)
        call = (f"--cbridge-inline={model}", f"--cbridge-budget={budget}", "-c", "code.c")
        self.good(*call, "-o", "ours.o", *arguments)
        self.assert_nothing_left()
        return self.read("ours.o")

    def test_keeps_the_smallest(self) -> None:
        winners = set()
        for level, seed in (("-O2", 0), ("-O2", 1), ("-O1", 2), ("-Os", 0)):
            model = f"{VARIANTS}?seed={seed}"
            ways = self.ways(level, 6, model)
            self.assertGreater(len({loaded(way) for way in ways}), 3)
            for budget in (2, 3, 6):
                best = min(range(budget), key=lambda i: (loaded(ways[i]), i))
                ours = self.kept(budget, level, model=model)
                self.assertEqual(ours, ways[best], (level, seed, budget))
                self.assertLessEqual(loaded(ours), loaded(ways[0]))
                winners.add(best)
        self.assertGreater(len(winners), 2, winners)

    def test_one_is_the_model_alone(self) -> None:
        self.assertEqual(self.kept(1, "-O2"), self.ways("-O2", 2)[1])

    def test_the_same_whoever_is_first(self) -> None:
        first = self.kept(6, "-O2")
        for cores in ("0", "0", f"0-{(os.cpu_count() or 1) - 1}"):
            command = ("taskset", "-c", cores, DRIVER, f"--cbridge-inline={VARIANTS}", "-O2")
            done = self.run_program(
                *command, *("--cbridge-budget=6", "-c", "code.c", "-o", "ours.o")
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(self.read("ours.o"), first)

    def test_by_the_environment_and_response_files(self) -> None:
        expected = self.kept(3, "-O2")
        self.write("more.txt", f'--cbridge-budget=3 --cbridge-inline={VARIANTS} -DTEXT=\\"a\\ b\\"')
        self.good("@more.txt", "-O2", "-c", "code.c", "-o", "ours.o")
        self.assertEqual(self.read("ours.o"), expected)
        self.good(
            *("-O2", "-c", "code.c", "-o", "ours.o"),
            CBRIDGE_INLINE_MODEL=VARIANTS,
            CBRIDGE_BUDGET="3",
        )
        self.assertEqual(self.read("ours.o"), expected)
        ours = self.kept(1, "-O2")
        self.environment["CBRIDGE_BUDGET"] = "3"
        self.assertEqual(self.kept(1, "-O2"), ours)  # options count more

    def test_cxx_with_debug_information(self) -> None:
        self.write("code.cpp", "#include <vector>\n" + "\n".join(functions()))
        call = ("-O2", "-g", "-c", "code.cpp", "-o", "ours.o")
        done = self.run_program(
            f"{DRIVER}++", *call, f"--cbridge-inline={VARIANTS}", "--cbridge-budget=4"
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
            self.good(f"--cbridge-inline={VARIANTS}", "--cbridge-budget=4", *words)
            self.assertEqual(self.read(made), expected, call)
            self.assertEqual(set(os.listdir(self.folder)) - before, {made})
        for file in ("-", "/dev/stdout"):
            words = ("-O2", "-c", "code.c", "-MD", "-MF", file, "-o", "out.o")
            done = self.good(f"--cbridge-inline={VARIANTS}", "--cbridge-budget=4", *words)
            self.assertEqual(done.stdout, self.clang(*words).stdout)

    def test_messages_come_once(self) -> None:
        code = self.read("code.c").decode()
        self.write("code.c", f"int h(void) {{ int unused; return 1; }}\n{code}")
        words = ("-O2", "-Wall", "-L/nowhere", "-c", "code.c", "-o", "ours.o")
        plain = self.clang(*words)
        self.assertGreaterEqual(plain.stderr.count("warning: "), 2)
        model = (f"--cbridge-inline={VARIANTS}", "--cbridge-budget=4")
        done = self.driver(*model, *words)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", plain.stderr))

        def on_a_terminal(*command: str) -> str:
            line = shlex.join([*command, *words])
            return self.run_program("script", "-qec", line, "/dev/null", TERM="xterm").stdout

        plain_lines = on_a_terminal("clang-19")
        self.assertIn("\x1b[", plain_lines)
        self.assertEqual(on_a_terminal(str(DRIVER), *model), plain_lines)

    def test_errors_are_clangs(self) -> None:
        model = (f"--cbridge-inline={VARIANTS}", "--cbridge-budget=4")
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

    def test_a_variant_that_fails_is_no_candidate(self) -> None:
        ways = self.ways("-O2", 4)
        sizes = [loaded(way) for way in ways]
        best = sizes.index(min(sizes))
        self.assertGreater(best, 0)
        second = min((i for i in range(4) if i != best), key=lambda i: (sizes[i], i))
        for how in ("fail", "crash", "exit"):
            model = f"{VARIANTS}?bad={best - 1}&how={how}"
            self.assertEqual(self.kept(4, "-O2", model=model), ways[second], how)

    def test_no_model_is_a_candidate(self) -> None:
        for model, why in (
            (
                f"{VARIANTS}?bad=0&how=crash",
                "clang failed with inline model '.*'; compiled without",
            ),
            (f"{VARIANTS}?bad=0&how=exit", "clang failed with inline model '.*'; compiled without"),
            (f"{VARIANTS}?bad=0", "the policy gave up; LLVM's own heuristic decides"),
            ("native:/none.so", "inlining by native:/none.so: .*; LLVM's own heuristic decides"),
            (f"shm:{self.folder}/nobody", "LLVM's own heuristic decides"),
        ):
            call = (f"--cbridge-inline={model}", "--cbridge-budget=2", "-O2", "-c", "code.c")
            self.fell_back(*call, "-o", "ours.o", why=why)
            self.assert_same_object("ours.o", "-O2", "-c", "code.c")
        self.fell_back(
            *("--cbridge-inline=native:/none.so", "--cbridge-budget=9", "-O2", "-c", "code.c"),
            why="LLVM's own heuristic decides",
        )

    def test_a_variant_that_never_answers(self) -> None:
        ways = self.ways("-O2", 2)
        self.environment["CBRIDGE_ANSWER_TIMEOUT"] = "0.2"
        model = f"{VARIANTS}?bad=1&how=block&tell=/dev/null"
        best = min(ways, key=loaded)
        self.assertEqual(self.kept(3, "-O2", model=model), best)

    def test_permissions(self) -> None:
        for mask, mode in (("027", 0o640), ("077", 0o600), ("002", 0o664)):
            call = f"--cbridge-inline={VARIANTS} --cbridge-budget=3 -O2 -c code.c -o ours.o"
            done = self.run_program("sh", "-c", f"umask {mask}; exec {DRIVER} {call}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((self.folder / "ours.o").stat().st_mode & 0o777, mode)

    def test_an_output_through_a_link(self) -> None:
        """As clang does it: the link is replaced."""
        self.write("target.o", "old")
        for command in (
            ["clang-19"],
            [str(DRIVER), f"--cbridge-inline={VARIANTS}", "--cbridge-budget=2"],
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
            *(f"--cbridge-inline={VARIANTS}", "--cbridge-budget=3", "-O2", "-c", "code.c"),
            why="/nowhere/",
            TMPDIR="/nowhere",
        )
        if os.geteuid() != 0:
            old = Path(self.write("old.o", "old"))
            old.chmod(0o400)
            words = ("-O2", "-c", "code.c", "-o", "old.o")
            ours = self.driver(f"--cbridge-inline={VARIANTS}", "--cbridge-budget=3", *words)
            self.assertEqual(ours.stderr, self.clang(*words).stderr)


if __name__ == "__main__":
    unittest.main()
