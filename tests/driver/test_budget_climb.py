"""--cbridge-budget with the real plugin: what more ways than two find, and inner commands."""

from __future__ import annotations

import os
import unittest

from _budget import CHANCE, MAIN, SCORES, BudgetTest, classes, loaded
from _driver import DRIVER

LEVELS = ("-O2", "-Os", "-Oz")

#: A clang that does what is asked for with $BAD_WAYS and $HOW, and keeps all objects in `ways`.
WRAPPER = """#!/bin/sh
for word; do
  if [ "$before" = -o ]; then way=$(basename "$word" .o); object=$word; fi
  before=$word
done
case "$*" in *-cc1*-emit-obj*) ;; *) exec clang-19 "$@" ;; esac
echo "${way} ${CBRIDGE_INLINE_MODEL}" >> ways/all
for bad in $BAD_WAYS; do [ "$way" != "$bad" ] || eval "$HOW"; done
clang-19 "$@" && cp "$object" ways/
"""


class Climb(BudgetTest):
    def check(self, model: str, level: str, source: str) -> tuple[int, int, int]:
        """The sizes of plain clang's, the model's and the kept one of eight."""
        ours = self.kept(8, level, model=model, source=source)
        plain = self.plain(level, source=source)
        by_model = self.by_model(model, level, source=source)
        sizes = (loaded(plain), loaded(by_model), loaded(ours))
        self.assertLessEqual(sizes[2], min(sizes[:2]), (model, level, source))
        if sizes[2] == sizes[0]:  # the earliest of equals
            self.assertEqual(ours, plain)
        elif sizes[2] == sizes[1]:
            self.assertEqual(ours, by_model)
        return sizes

    def test_never_larger(self) -> None:
        self.write("code.cpp", "\n".join(classes()))
        better, models_better = 0, 0
        for source in ("code.c", "code.cpp"):
            for level in LEVELS:
                for model in (f"{CHANCE}?seed=1", f"{CHANCE}?seed=2", f"{SCORES}?seed=0"):
                    plain, by_model, ours = self.check(model, level, source)
                    better += ours < min(plain, by_model)
                    models_better += by_model < plain
        # It begins with either.
        self.assertGreater(models_better, 1)
        self.assertGreater(better, 6)

    def test_more_ways_are_no_worse(self) -> None:
        """Not true of every model and source, but mostly."""
        model = f"{SCORES}?seed=1"
        sizes = [loaded(self.kept(budget, "-Os", model=model)) for budget in (2, 8, 64)]
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        self.assertLess(sizes[2], sizes[0])

    def test_the_same_whatever_there_is_to_run_on(self) -> None:
        model = f"{CHANCE}?seed=1"
        first = self.kept(8, "-O2", model=model)
        self.assertLess(loaded(first), loaded(self.by_model(model, "-O2")))
        last = max(os.sched_getaffinity(0))
        for cores in ("0", f"{last}", f"0-{last}", f"0-{last}"):
            command = ("taskset", "-c", cores, DRIVER, f"--cbridge-inline={model}", "-O2")
            done = self.run_program(
                *command, *("--cbridge-budget=8", "-c", "code.c", "-o", "ours.o")
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(self.read("ours.o"), first)

    def test_programs_do_the_same(self) -> None:
        self.write("code.cpp", "\n".join(classes()))
        self.write("main.c", MAIN)
        self.clang("-O1", "-c", "main.c")
        plain, objects = set(), set()
        for source in ("code.c", "code.cpp"):
            outputs = set()
            for level in ("-O2", "-Oz"):
                made = [self.plain(level, source=source)]
                plain.add(made[0])
                for seed in range(3):
                    made.append(self.kept(6, level, model=f"{SCORES}?seed={seed}", source=source))
                for number, each in enumerate(made):
                    (self.folder / "each.o").write_bytes(each)
                    linked = self.run_program(
                        "clang++-19", "main.o", "each.o", "-o", f"program{number}"
                    )
                    self.assertEqual(linked.returncode, 0, linked.stderr)
                    done = self.run_program(self.folder / f"program{number}")
                    self.assertEqual(done.returncode, 0)
                    outputs.add(done.stdout)
                objects |= set(made)
            self.assertEqual(len(outputs), 1)
            self.assertGreater(len(outputs.pop()), 200)
        self.assertTrue(objects - plain)


class Inner(BudgetTest):
    """Inner commands, of which each way can be looked at."""

    def setUp(self) -> None:
        super().setUp()
        self.model = f"{CHANCE}?seed=1"
        self.environment["CBRIDGE_CLANG"] = str(self.write("wrapper", WRAPPER, executable=True))

    def compile(self, budget: int, **environment: str) -> list[tuple[int, str]]:
        """The ways that were begun, with the model of each."""
        for file in (self.folder / "ways").glob("*"):
            file.unlink()
        (self.folder / "ways").mkdir(exist_ok=True)
        (self.folder / "inner.o").unlink(missing_ok=True)
        self.good(
            *(f"--cbridge-budget={budget}", f"--cbridge-inline={self.model}"),
            *self.inner("-O2"),
            **environment,
        )
        self.assert_nothing_left()
        lines = (self.folder / "ways/all").read_text().splitlines()
        ways = [line.partition(" ") for line in lines]
        return sorted((int(way), model) for way, _, model in ways if way.isdigit())

    def way(self, number: int) -> bytes:
        return self.read(f"ways/{number}.o")

    def test_the_smallest_is_kept(self) -> None:
        ways = self.compile(8)
        self.assertEqual([way for way, _ in ways], list(range(len(ways))))
        self.assertIn(len(ways), (7, 8))
        self.assertEqual(ways[0][1], self.model)  # there, but without the plugin
        self.assertRegex(ways[1][1], rf"^testpolicy:chance\?seed=1&record={self.temporary}/")
        for number, model in ways[2:]:
            self.assertRegex(
                model, rf"^replay:.*/{number}\.way\?key=caller_name,callee_name&record="
            )
        best = min(range(len(ways)), key=lambda way: (loaded(self.way(way)), way))
        self.assertGreater(best, 1)
        self.assertEqual(self.read("inner.o"), self.way(best))
        self.assertEqual(self.way(0), self.plain("-O2"))
        self.assertEqual(self.way(1), self.by_model(self.model, "-O2"))
        self.assertEqual(self.read("inner.o"), self.kept(8, "-O2", model=self.model))

    def test_ways_that_fail(self) -> None:
        good = self.compile(8)
        best = min(range(len(good)), key=lambda way: (loaded(self.way(way)), way))
        for bad, how in (
            (2, "kill -SEGV $$"),
            (2, "exit 1"),
            (best, "kill -KILL $$"),
            (best, "exit 0"),
            (3, 'echo x > "$object"; exit'),
        ):
            ways = self.compile(8, BAD_WAYS=str(bad), HOW=how)
            self.assertGreater(len(ways), 4, how)
            left = [way for way, _ in ways if way != bad]
            kept = min(left, key=lambda way: (loaded(self.way(way)), way))
            self.assertEqual(self.read("inner.o"), self.way(kept), how)
            self.assertLess(loaded(self.way(kept)), loaded(self.way(1)))
        every = " ".join(str(way) for way in range(2, 64))
        ways = self.compile(16, BAD_WAYS=every, HOW="exit 1")
        self.assertGreater(len(ways), 3)
        self.assertEqual(self.read("inner.o"), self.way(1))

    def test_a_way_that_never_ends(self) -> None:
        ways = self.compile(4, BAD_WAYS="2", HOW="exec sleep 1000", CBRIDGE_ANSWER_TIMEOUT="0.2")
        self.assertEqual([way for way, _ in ways], [0, 1, 2, 3])
        self.assertEqual(self.read("inner.o"), min((self.way(w) for w in (0, 1, 3)), key=loaded))

    def test_ends_when_all_is_tried(self) -> None:
        """Three decisions of one function can be tried one after the other."""
        self.write(
            "code.c",
            "int ext(int);\n"
            "static int a(int x) { return ext(x) + ext(x + 1); }\n"
            "static int b(int x) { return ext(x) - ext(x + 2); }\n"
            "static int c(int x) { return ext(x) * ext(x + 3); }\n"
            "int d(int x) { return a(x) + a(x + 1) + b(x) + b(x * 2) + c(x) + c(x - 3); }\n",
        )
        ways = self.compile(64)
        self.assertLess(len(ways), 16)
        self.assertGreater(len(ways), 4)
        ours = self.read("inner.o")
        self.compile(len(ways) + 1)
        self.assertEqual(self.read("inner.o"), ours)

    def test_models_that_do_not_describe_themselves(self) -> None:
        self.model = "constant:1"
        self.assertEqual(self.compile(64), [(0, "constant:1"), (1, "constant:1")])
        self.assertEqual(self.read("inner.o"), min(self.way(0), self.way(1), key=loaded))

    def test_two_are_not_recorded(self) -> None:
        self.assertEqual(self.compile(2), [(0, self.model), (1, self.model)])

    def test_without_the_option(self) -> None:
        """Is clang's own business, as for whoever calls clang."""
        command = self.inner("-O2")
        for options, environment in (
            ((), {}),
            ((f"--cbridge-inline={self.model}",), {}),
            ((f"--cbridge-inline={self.model}",), {"CBRIDGE_BUDGET": "8"}),
            ((f"--cbridge-inline={self.model}", "--cbridge-budget=1"), {}),
            (("--cbridge-inline=", "--cbridge-budget=8"), {}),
            ((f"--cbridge-inline={self.model}", "--cbridge-budget=8"), {"CBRIDGE_DISABLE": "1"}),
        ):
            (self.folder / "ways").mkdir(exist_ok=True)
            self.good(*options, *command, **environment)
            self.assertEqual(self.read("inner.o"), self.plain("-O2"), options)
            self.assertFalse((self.folder / "ways/0.o").exists())

    def test_response_files(self) -> None:
        self.compile(6)
        expected = self.read("inner.o")
        self.assertNotEqual(expected, self.plain("-O2"))
        self.write("words", " ".join(f"'{word}'" for word in self.inner("-O2")[1:]))
        (self.folder / "inner.o").unlink()
        self.good("--cbridge-budget=6", f"--cbridge-inline={self.model}", "-cc1", "@words")
        self.assertEqual(self.read("inner.o"), expected)

    def test_others_are_passed_on(self) -> None:
        (self.folder / "ways").mkdir()
        del self.environment["CBRIDGE_CLANG"]
        model = ("--cbridge-budget=6", f"--cbridge-inline={self.model}")
        outputs = {
            "-emit-obj": ["-S", "-emit-llvm", "-fsyntax-only", "-E"],
            "-O2": ["-O0", "-fno-inline"],
        }
        command = self.inner("-O2")
        for old, news in outputs.items():
            for new in news:
                changed = [new if word == old else word for word in command]
                made = self.folder / "inner.o"
                made.unlink(missing_ok=True)
                plain = self.run_program("clang-19", *changed)
                expected = made.read_bytes() if made.exists() else None
                made.unlink(missing_ok=True)
                ours = self.good(*model, *changed)
                self.assertEqual(ours.stdout, plain.stdout)
                self.assertEqual(made.read_bytes() if made.exists() else None, expected, new)
        wrong = [*command[:-1], "none.c"]
        ours, plain = self.driver(*model, *wrong), self.run_program("clang-19", *wrong)
        self.assertEqual((ours.returncode, ours.stderr), (plain.returncode, plain.stderr))
        self.assertNotEqual(ours.returncode, 0)


if __name__ == "__main__":
    unittest.main()
