"""--cbridge-budget: which calls are compiled several ways, and how, by a fake plugin and clang."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import unittest

from _driver import DriverTest, installed

VARIANTS = "testpolicy:variants"
CORES = len(os.sched_getaffinity(0))

#: A clang that tells its inner command, and makes objects that are as large as $FAKE_SIZES says, in
#: the order of ways. What a way does before is in $FAKE_DO. Lines of `calls` tell what happened.
FAKE_CLANG = """#!/usr/bin/env python3
import os, signal, struct, sys, time
def tell(what):
    with open("calls", "a") as calls:
        calls.write(what + "\\n")
def wait_for(count, what):
    while open("calls").read().count(what) < count:
        time.sleep(0.01)
if "-###" in sys.argv:
    print("fake clang version 19.1.7\\n (in-process)")
    print(f' "{sys.argv[0]}" "-cc1" "-emit-obj" "-O2" "-o" "code.o" "code.c"', flush=True)
    sys.exit()
if "-cc1" not in sys.argv:
    tell("outer")
    print("outer")
    sys.exit(os.environ.get("FAKE_PLAIN") or None)
plugin = any("-fpass-plugin=" in word for word in sys.argv)
way = int(os.environ["CBRIDGE_INLINE_VARIANT"]) + 1 if plugin else 0
tell(f"begin {way}")
print("way", way)
exec(os.environ.get("FAKE_DO", ""))
size = int(os.environ["FAKE_SIZES"].split()[way])
data = b"%d" % way * size
header = b"\\x7fELF\\x02\\x01".ljust(16, b"\\0") + struct.pack("<24xQ10xHHH", 64 + size, 64, 2, 0)
table = bytes(64) + struct.pack("<4xIQ8xQQ24x", 1, 2, 64, size)
with open(sys.argv[sys.argv.index("-o") + 1], "wb") as file:
    file.write(header + data + table)
tell(f"end {way}")
"""


class FakeTest(DriverTest):
    def setUp(self) -> None:
        super().setUp()
        self.ours = installed(self.folder / "there", "bin", "lib/compiler-bridge")
        self.write("code.c", "static int f(int x) { return x; }\nint g(int x) { return f(x); }\n")

    def driver(
        self, *arguments: str, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return self.run_program(self.ours, *arguments, stdin=stdin, **environment)

    def write_clang(self) -> str:
        (self.folder / "calls").unlink(missing_ok=True)
        (self.folder / "code.o").unlink(missing_ok=True)
        return str(self.write("fake/clang-19", FAKE_CLANG, executable=True))


class Calls(FakeTest):
    def compiles(self, *arguments: str, model: str = VARIANTS, stdin: str = "") -> list[str]:
        """What the plugin was told, after the model, by each compile of a call."""
        self.log.unlink(missing_ok=True)
        self.good(f"--cbridge-inline={model}", *arguments, stdin=stdin)
        return sorted(line.removeprefix(model).strip() for line in self.models_of_plugin())

    def test_values(self) -> None:
        for value in ("=0", "=x", "=65", "=", "", "=-1", "=+2", "=1.5", "=99999999999999999999"):
            done = self.driver(f"--cbridge-budget{value}", "-c", "code.c")
            self.assertEqual(done.returncode, 2)
            self.assertEqual(
                done.stderr,
                f"cbridge-clang: error: option '--cbridge-budget{value}' "
                "needs a number from 1 to 64; see --cbridge-help\n",
            )
            if value[1:]:
                done = self.driver("-c", "code.c", CBRIDGE_BUDGET=value[1:])
                why = f"CBRIDGE_BUDGET='{value[1:]}': needs a number from 1 to 64"
                self.assertEqual(done.stderr, f"cbridge-clang: error: {why}\n")
        self.assertFalse((self.folder / "code.o").exists())
        self.good("-c", "code.c", CBRIDGE_BUDGET="")
        self.good("-c", "code.c", "--cbridge-budget=2", CBRIDGE_BUDGET="x")
        self.good("-c", "code.c", CBRIDGE_BUDGET="x", CBRIDGE_DISABLE="1")
        self.good("-c", "code.c", "--cbridge-budget=64")

    def test_help_and_version(self) -> None:
        self.assertIn("--cbridge-budget=K", self.good("--cbridge-help").stdout)
        self.assertIn("budget: 1\n", self.good("--cbridge-version").stdout)
        told = self.good("--cbridge-version", "--cbridge-budget=07", CBRIDGE_BUDGET="3").stdout
        self.assertIn("budget: 7\n", told)
        told = self.good("--cbridge-version", CBRIDGE_BUDGET="3").stdout
        self.assertIn("budget: 3\n", told)

    def test_each_variant_once(self) -> None:
        for budget in (2, 3, 5):
            made = self.compiles(f"--cbridge-budget={budget}", "-O2", "-c", "code.c")
            self.assertEqual(made, [str(variant) for variant in range(budget - 1)])
        self.environment["CBRIDGE_INLINE_VARIANT"] = "7"  # of users, for one compile
        self.assertEqual(self.compiles("-O2", "-c", "code.c"), ["7"])
        made = self.compiles("--cbridge-budget=3", "-O2", "-c", "code.c")
        self.assertEqual(made, ["0", "1"])

    def test_models_without_variants(self) -> None:
        for model in ("testpolicy:same", "constant:1", "testpolicy:random"):
            made = self.compiles("--cbridge-budget=9", "-O2", "-c", "code.c", model=model)
            self.assertEqual(made, ["0"], model)

    def test_without_a_model(self) -> None:
        self.assertEqual(self.compiles("--cbridge-budget=4", "-O2", "-c", "code.c", model=""), [])
        self.assert_same_object("code.o", "-O2", "-c", "code.c")
        heuristic = self.compiles("--cbridge-budget=4", "-O2", "-c", "code.c", model="heuristic:")
        self.assertEqual(heuristic, [])

    def test_calls_that_are_compiled_once(self) -> None:
        self.write("main.c", "int main(void) { return 0; }\n")
        for call in (
            "-O2 -S code.c",
            "-O2 -c -emit-llvm code.c",
            "-O2 -c -flto code.c",
            "-O2 -c -flto -ffat-lto-objects code.c",
            "-O2 main.c -o main",
            "-O2 -c code.c -save-temps",
            "-O2 -c code.c -fno-integrated-as",
            "-O2 -c code.c -g -gsplit-dwarf",
            "-O2 -c code.c --coverage",
            "-O2 -c code.c -fsave-optimization-record",
            "-O2 -c code.c --serialize-diagnostics code.dia",
            "-O2 -c code.c -MJ code.json",
            "-O2 -c code.c -ftime-trace",
            "-O2 -c code.c -fstack-usage",
            "-O2 -c code.c -grecord-command-line",
            "-O2 -c code.c -o /dev/null",
        ):
            made = self.compiles("--cbridge-budget=3", *call.split())
            self.assertEqual(set(made), {""}, call)  # some load the plugin twice
        for name in ("code.dwo", "code.gcno", "code.opt.yaml", "code.dia", "code.json", "code.su"):
            self.assertTrue((self.folder / name).exists(), name)
        made = self.compiles("--cbridge-budget=3", "-O2", "-c", "code.c", "main.c")
        self.assertEqual(made, ["", ""])
        made = self.compiles(
            *("--cbridge-budget=3", "-O2", "-c", "-x", "c", "-", "-o", "x.o"), stdin="int x;"
        )
        self.assertEqual(made, [""])
        for call in ("-c code.c", "-O0 -c code.c", "-O2 -fno-inline -c code.c"):
            self.assertLessEqual(len(self.compiles("--cbridge-budget=3", *call.split())), 1)

    def test_objects_that_are_none_of_elf(self) -> None:
        for target in ("x86_64-apple-darwin", "x86_64-w64-mingw32", "wasm32"):
            call = ("-O2", "-c", "code.c", f"--target={target}")
            self.assertIn("", self.compiles("--cbridge-budget=3", *call))
            self.assert_same_object("code.o", *call)

    def test_models_that_record_or_allocate_registers(self) -> None:
        model = f"{VARIANTS}?record={self.folder}/logs/"
        made = self.compiles("--cbridge-budget=3", "-O2", "-c", "code.c", model=model)
        self.assertEqual(made, [""])
        made = self.compiles(
            *("--cbridge-budget=3", "--cbridge-evict=testpolicy:random", "-O2", "-c", "code.c")
        )
        self.assertEqual(made, [""])

    def fake(
        self, budget: int, sizes: str, do: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """A call of the fake clang."""
        clang = self.write_clang()
        return self.driver(
            *(f"--cbridge-inline={VARIANTS}", f"--cbridge-budget={budget}", "-O2", "-c", "code.c"),
            CBRIDGE_CLANG=clang,
            FAKE_SIZES=sizes,
            FAKE_DO=do,
            **environment,
        )

    def assert_kept(self, way: int, done: subprocess.CompletedProcess[str]) -> None:
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"way {way}\n", ""))
        self.assertEqual(self.read("code.o")[64:65], b"%d" % way)
        self.assert_nothing_left()

    def test_order(self) -> None:
        for sizes, way in (
            ("50 50 50 50", 0),
            ("50 40 40 40", 1),
            ("50 60 40 40", 2),
            ("50 60 60 49", 3),
            ("50 60 60 60", 0),
        ):
            self.assert_kept(way, self.fake(4, sizes))
            if CORES > 1:  # the first is the last to end
                self.assert_kept(way, self.fake(4, sizes, do="way or wait_for(3, 'end')"))

    def calls(self) -> list[str]:
        return self.read("calls").decode().split("\n")[:-1]

    def test_as_many_at_a_time_as_there_are_cores(self) -> None:
        together = min(CORES, 6)
        self.assert_kept(3, self.fake(6, "9 8 7 6 6 6", do=f"wait_for({together}, 'begin')"))
        running = 0
        for call in self.calls():
            running += 1 if call.startswith("begin") else -1
            self.assertLessEqual(running, together)
        expected = [f"{what} {way}" for what in ("begin", "end") for way in range(6)]
        self.assertEqual(sorted(self.calls()), expected)

    def test_one_after_the_other_on_one_core(self) -> None:
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(before)})
        try:
            self.assert_kept(2, self.fake(4, "9 8 7 8"))
        finally:
            os.sched_setaffinity(0, before)
        expected = [f"{what} {way}" for way in range(4) for what in ("begin", "end")]
        self.assertEqual(self.calls(), expected)

    def test_plain_clang_fails(self) -> None:
        for how in ("sys.exit(3)", "os.kill(os.getpid(), 11)", "os.kill(os.getpid(), 9)"):
            # Others would take for ever.
            do = f"print('x' * 100000) or {how} if way == 0 else signal.pause()"
            done = self.fake(3, "9 1 1", do=do, FAKE_PLAIN="7 errors")
            told = (done.returncode, done.stdout, done.stderr)
            self.assertEqual(told, (1, "outer\n", "7 errors\n"))
            self.assertFalse((self.folder / "code.o").exists())
            self.assert_nothing_left()
            # Not so alone, with all memory for itself.
            done = self.fake(3, "9 1 1", do=do)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "outer\n", ""))

    def test_variants_fail(self) -> None:
        for how in (
            "sys.exit(1)",
            "os.kill(os.getpid(), 11)",
            "os.kill(os.getpid(), 15)",
            "os._exit(0)",
            "(open(sys.argv[sys.argv.index('-o') + 1], 'w').write('half'), os._exit(0))",
        ):
            do = f"way in (1, 3) and {how}"
            self.assert_kept(2, self.fake(4, "9 1 5 1", do=do))

    def test_inner_commands_that_cannot_be_run(self) -> None:
        """Say, since their options are too long."""
        clang = self.write(
            "fake/clang-19",
            '#!/bin/sh\ncase $* in *-###*) echo \' "/nowhere" "-cc1" "-emit-obj" "-O2" '
            '"-o" "code.o" "code.c"\' ;; *) echo outer ;; esac\n',
            executable=True,
        )
        done = self.good(
            *(f"--cbridge-inline={VARIANTS}", "--cbridge-budget=3", "-O2", "-c", "code.c"),
            CBRIDGE_CLANG=str(clang),
        )
        self.assertEqual(done.stdout, "outer\n")


class Signals(FakeTest):
    def start(self, new_group: bool = False) -> subprocess.Popen[str]:
        """All ways that can run at a time run and wait; returns once they do."""
        told = self.folder / "told"
        with contextlib.suppress(FileExistsError):
            os.mkfifo(told)
        clang = self.write_clang()
        half = "open(sys.argv[sys.argv.index('-o') + 1], 'w')"
        do = f"{half}; open('{told}', 'w').write('x'); signal.pause()"
        process = subprocess.Popen(
            [
                *(self.ours, f"--cbridge-inline={VARIANTS}", "--cbridge-budget=5"),
                *("-O2", "-c", "code.c"),
            ],
            cwd=self.folder,
            env=self.environment
            | {"CBRIDGE_CLANG": clang, "FAKE_DO": do, "FAKE_SIZES": "1 1 1 1 1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=new_group,
        )
        heard = 0
        while heard < min(5, CORES):
            heard += len(told.read_bytes())
        return process

    def assert_gone(self, process: subprocess.Popen[str], by: signal.Signals) -> None:
        running = [os.pidfd_open(number) for number in self.processes()]
        if by is signal.SIGINT:
            os.killpg(process.pid, by)
        else:
            process.send_signal(by)
        for each in running:
            self.assertTrue(select.select([each], [], [], 30)[0])
            os.close(each)
        out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out, err), (-by, "", ""))
        self.assertFalse((self.folder / "code.o").exists())
        self.assert_nothing_left()

    def test_signals(self) -> None:
        for by in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGINT):
            self.assert_gone(self.start(new_group=by is signal.SIGINT), by)


if __name__ == "__main__":
    unittest.main()
