"""--cbridge-budget: which calls are compiled several ways, and how, by a fake plugin and clang."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import unittest

from _driver import DriverTest, installed

CHANCE = "testpolicy:chance"
CORES = len(os.sched_getaffinity(0))

#: A clang that tells its inner command, and makes objects that are as large as $FAKE_SIZES says, in
#: the order of ways. It records $FAKE_PAIRS decisions, all of one caller, so that they are tried
#: one by one; the sizes of functions are unknown, so that none is found to be good. What a way does
#: before is in $FAKE_DO. Lines of `calls` tell what happened, those of `models` what it was told.
FAKE_CLANG = r"""#!/usr/bin/env python3
import os, re, signal, struct, sys, time
def tell(what, file="calls"):
    with open(file, "a") as calls:
        calls.write(what + "\n")
def wait_for(count, what):
    while open("calls").read().count(what) < count:
        time.sleep(0.01)
def text(value):
    return struct.pack("<qQQQ", 1, 16 + len(value), 0, len(value)) + value
def record(folder):
    spec = '{"name":"%s","type":"%s","port":0,"shape":[1]}'
    inputs = [("caller_name", "string"), ("callee_name", "string"), ("inlining_default", "int64_t")]
    decision = spec % ("inlining_decision", "int64_t")
    features = ",".join([*(spec % each for each in inputs), decision])
    os.mkdir(folder)
    with open(folder + "/fake.log", "wb") as log:
        log.write(b'{"features":[%s],"advice":%s,"cbridge":{"version":1,"decisions":1}}\n'
                  % (features.encode(), decision.encode()))
        log.write(b'{"context":"code.c"}\n')
        for pair in range(int(os.environ.get("FAKE_PAIRS", "40"))):
            log.write(b'{"observation":%d}\n' % pair + text(b"g") + text(b"f%d" % pair))
            log.write(struct.pack("<qq", 0, 0) + b'\n')
if "-###" in sys.argv:
    print("fake clang version 19.1.7\n (in-process)")
    print(f' "{sys.argv[0]}" "-cc1" "-emit-obj" "-O2" "-o" "code.o" "code.c"', flush=True)
    sys.exit()
if "-cc1" not in sys.argv:
    tell("outer")
    print("outer")
    sys.exit(os.environ.get("FAKE_PLAIN") or None)
object = sys.argv[sys.argv.index("-o") + 1]
way = int(os.path.basename(object).removesuffix(".o"))
plugin = any("-fpass-plugin=" in word for word in sys.argv)
model = os.environ["CBRIDGE_INLINE_MODEL"] if plugin else "none"
tell(f"begin {way}")
tell(f"{way} {model} {os.environ.get('CBRIDGE_INLINE_FEATURES', '')}", "models")
print("way", way)
exec(os.environ.get("FAKE_DO", ""))
recorded = re.search(r"[?&]record=([^&]*)/", model)
if recorded:
    record(recorded[1])
size = int(os.environ["FAKE_SIZES"].split()[way])
data = b"%d" % (way % 10) * size
header = b"\x7fELF\x02\x01".ljust(16, b"\0") + struct.pack("<24xQ10xHHH", 64 + size, 64, 2, 0)
table = bytes(64) + struct.pack("<4xIQ8xQQ24x", 1, 2, 64, size)
with open(object, "wb") as file:
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
        for name in ("calls", "models"):
            (self.folder / name).unlink(missing_ok=True)
        (self.folder / "code.o").unlink(missing_ok=True)
        return str(self.write("fake/clang-19", FAKE_CLANG, executable=True))


class Calls(FakeTest):
    def compiles(self, *arguments: str, model: str = CHANCE, stdin: str = "") -> list[str]:
        """What the plugin was told, after the model, by each compile of a call."""
        self.log.unlink(missing_ok=True)
        self.good(f"--cbridge-inline={model}", *arguments, stdin=stdin)
        folder = re.compile(rf"{re.escape(str(self.temporary))}/[^/]*")
        return sorted(
            folder.sub("", line.removeprefix(model)).strip() for line in self.models_of_plugin()
        )

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
        told = self.good("--cbridge-help").stdout
        self.assertRegex(told, r"--cbridge-budget=K .* one object .* one source \(-c\)")
        self.assertRegex(told, r"CBRIDGE_ANSWER_TIMEOUT\n(.*\n)? .* a way of a budget")
        self.assertIn("budget: 1\n", self.good("--cbridge-version").stdout)
        told = self.good("--cbridge-version", "--cbridge-budget=07", CBRIDGE_BUDGET="3").stdout
        self.assertIn("budget: 7\n", told)
        told = self.good("--cbridge-version", CBRIDGE_BUDGET="3").stdout
        self.assertIn("budget: 3\n", told)

    def test_what_the_model_is_told(self) -> None:
        """Nothing is decided here, so that there is nothing to change."""
        call = ("-O2", "-c", "code.c")
        self.assertEqual(self.compiles("--cbridge-budget=2", *call), [""])
        names = "inlining_default,caller_name,callee_name"
        for budget in (3, 5, 64):
            made = self.compiles(f"--cbridge-budget={budget}", *call)
            self.assertEqual(made, [f"?record=/1.log/ {names}"])
        made = self.compiles("--cbridge-budget=3", *call, model=f"{CHANCE}?seed=3")
        self.assertEqual(made, [f"&record=/1.log/ {names}"])
        self.environment["CBRIDGE_INLINE_FEATURES"] = "callsite_loop_depth"
        self.assertEqual(self.compiles("--cbridge-budget=2", *call), ["callsite_loop_depth"])
        made = self.compiles("--cbridge-budget=3", *call)
        self.assertEqual(made, [f"?record=/1.log/ callsite_loop_depth,{names}"])

    def test_models_that_do_not_describe_themselves(self) -> None:
        for model in ("constant:1", "testpolicy:random", "native:/none.so", "shm:/nobody"):
            made = self.compiles("--cbridge-budget=9", "-O2", "-c", "code.c", model=model)
            self.assertEqual(made, [""], model)

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

    def test_sources_that_read_standard_input(self) -> None:
        """Whoever reads it takes all: only one compile may, and errors in it must be seen."""
        for code, text in (
            ('#include "/dev/stdin"', "int x = 3;\n"),
            ('#if __has_include("/dev/stdin")\n#include "/dev/stdin"\n#endif', "int x = 3;\n"),
            ('__asm__(".data\\n.incbin \\"/dev/stdin\\"\\n");', "12345678"),
            ('#include "/dev/stdin"', "int x = ;\n"),
        ):
            self.write("code.c", code + "\nint f(int x) { return x; }\n")
            call = ("-O2", "-c", "code.c", "-o", "ours.o")
            plain = self.clang(*call, stdin=text)
            made = self.read("ours.o") if plain.returncode == 0 else b""
            for budget in (2, 4):
                (self.folder / "ours.o").unlink(missing_ok=True)
                model = (f"--cbridge-inline={CHANCE}", f"--cbridge-budget={budget}")
                ours = self.driver(*model, *call, stdin=text)
                self.assertEqual((ours.returncode, ours.stderr), (plain.returncode, plain.stderr))
                if made:
                    self.assertEqual(self.read("ours.o"), made, code)

    def test_names_with_newlines(self) -> None:
        """What is behind the newline is no message of clang, nor what is before it a file."""
        self.write("d", "int other(void) { return 1; }\n")
        for text in ("note: x", "warning: x", "Target: x", ' "x'):
            source = f"d\n{text}/code.c"
            self.write(source, "int f(int x) { return x; }\n")
            call = ("-O2", "-c", source)
            self.assertEqual(self.compiles("--cbridge-budget=3", *call, "-o", "ours.o"), [""])
            self.assert_same_object("ours.o", *call)

    def test_objects_that_are_none_of_elf(self) -> None:
        for target in ("x86_64-apple-darwin", "x86_64-w64-mingw32", "wasm32"):
            call = ("-O2", "-c", "code.c", f"--target={target}")
            self.assertIn("", self.compiles("--cbridge-budget=3", *call))
            self.assert_same_object("code.o", *call)

    def test_models_that_record_or_allocate_registers(self) -> None:
        model = f"{CHANCE}?record={self.folder}/logs/"
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
            *(f"--cbridge-inline={CHANCE}", f"--cbridge-budget={budget}", "-O2", "-c", "code.c"),
            CBRIDGE_CLANG=clang,
            FAKE_SIZES=sizes,
            FAKE_DO=do,
            **environment,
        )

    def assert_kept(self, way: int, done: subprocess.CompletedProcess[str]) -> None:
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, f"way {way}\n", ""))
        self.assertEqual(self.read("code.o")[64:65], b"%d" % (way % 10))
        self.assert_nothing_left()

    def test_order(self) -> None:
        for sizes, way in (
            ("50 50 50 50", 0),
            ("50 40 40 40", 1),
            ("50 60 40 40", 2),
            ("50 60 60 49", 3),
            ("50 60 60 60", 0),
        ):
            # The last of five is for what is known to be good, which is nothing.
            self.assert_kept(way, self.fake(5, sizes))
            if CORES > 1:  # the first is the last to end
                do = "way % 2 or wait_for(way + 1, 'end')"
                self.assert_kept(way, self.fake(5, sizes, do=do))

    def calls(self) -> list[str]:
        return self.read("calls").decode().split("\n")[:-1]

    def test_what_ways_are_told(self) -> None:
        self.fake(7, "9 9 9 9 9 9")
        told = sorted(line.split(" ") for line in self.read("models").decode().splitlines())
        self.assertEqual([each[0] for each in told], [str(way) for way in range(6)])
        self.assertEqual(told[0][1:], ["none", ""])
        names = "inlining_default,caller_name,callee_name"
        folder = re.escape(str(self.temporary)) + "/[^/]*"
        self.assertRegex(told[1][1], rf"^{CHANCE}\?record={folder}/1\.log/$")
        for way, model, features in told[2:]:
            self.assertRegex(
                model,
                rf"^replay:{folder}/{way}\.way\?key=caller_name,callee_name"
                rf"&record={folder}/{way}\.log/$",
            )
            self.assertEqual(features, names)

    def test_ends_when_all_is_tried(self) -> None:
        for pairs in (0, 1, 2, 5):
            sizes = " ".join(["9"] * (2 + pairs))
            self.assert_kept(0, self.fake(64, sizes, FAKE_PAIRS=str(pairs)))
            self.assertEqual(len(self.calls()), 2 * (2 + pairs))

    def test_as_many_at_a_time_as_there_are_cores(self) -> None:
        together = min(CORES, 2)
        do = f"wait_for(way // {together} * {together} + {together}, 'begin')"
        self.assert_kept(3, self.fake(7, "9 8 7 6 6 6", do=do))
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
            self.assert_kept(2, self.fake(5, "9 8 7 8"))
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

    #: What a way may do that is no success.
    FAULTS = (
        "sys.exit(1)",
        "os.kill(os.getpid(), 11)",
        "os.kill(os.getpid(), 15)",
        "os._exit(0)",
        "(open(object, 'w').write('half'), os._exit(0))",
    )

    def test_ways_fail(self) -> None:
        for how in self.FAULTS:
            self.assert_kept(3, self.fake(5, "9 8 1 5", do=f"way == 2 and {how}"))
            self.assert_kept(2, self.fake(5, "9 8 5 1", do=f"way == 3 and {how}"))
            self.assert_kept(1, self.fake(5, "9 8 5 1", do=f"way > 1 and {how}"))

    def test_the_model_fails(self) -> None:
        for how in self.FAULTS:
            done = self.fake(5, "9 8", do=f"way == 1 and {how}")
            why = f"clang failed with inline model '{CHANCE}'; compiled without"
            told = (done.returncode, done.stdout, done.stderr)
            self.assertEqual(told, (0, "way 0\n", f"cbridge-clang: {why}\n"))
            self.assertEqual(self.read("code.o")[64:65], b"0")
            self.assert_nothing_left()
            self.assertNotIn("begin 2", self.calls())

    def test_a_way_that_never_ends(self) -> None:
        do = "way == 2 and signal.pause()"
        self.assert_kept(3, self.fake(5, "9 8 1 5", do=do, CBRIDGE_ANSWER_TIMEOUT="0.1"))

    def test_decisions_that_are_not_known(self) -> None:
        """Of a way, and of the model, which is a candidate all the same."""
        forget = "globals().update(model='')"
        half = "(os.mkdir(to), open(to + '/x.log', 'w').write('{'))"
        damage = f"globals().update(record=lambda to: {half})"
        for do in (forget, damage):
            self.assert_kept(5, self.fake(7, "9 8 7 7 7 6", do=f"way == 2 and {do}"))
            self.assert_kept(1, self.fake(7, "9 8", do=f"way == 1 and {do}"))

    def test_inner_commands_that_cannot_be_run(self) -> None:
        """Say, since their options are too long."""
        clang = self.write(
            "fake/clang-19",
            '#!/bin/sh\ncase $* in *-###*) echo \' "/nowhere" "-cc1" "-emit-obj" "-O2" '
            '"-o" "code.o" "code.c"\' ;; *) echo outer ;; esac\n',
            executable=True,
        )
        done = self.good(
            *(f"--cbridge-inline={CHANCE}", "--cbridge-budget=3", "-O2", "-c", "code.c"),
            CBRIDGE_CLANG=str(clang),
        )
        self.assertEqual(done.stdout, "outer\n")


class Signals(FakeTest):
    def start(self, first: int, new_group: bool) -> subprocess.Popen[str]:
        """All ways from the first on that can run at a time wait; returns once they do."""
        told = self.folder / "told"
        with contextlib.suppress(FileExistsError):
            os.mkfifo(told)
        clang = self.write_clang()
        do = (
            f"way >= {first} and (open(object, 'w'), "
            f"open('{told}', 'w').write('x'), signal.pause())"
        )
        process = subprocess.Popen(
            [
                *(self.ours, f"--cbridge-inline={CHANCE}", "--cbridge-budget=5"),
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
        while heard < min(2, CORES):
            heard += len(told.read_bytes())
        return process

    def assert_gone(
        self, process: subprocess.Popen[str], by: signal.Signals, to_group: bool
    ) -> None:
        running = [os.pidfd_open(number) for number in self.processes()]
        if to_group:
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
        for by, to_group in (
            (signal.SIGTERM, False),
            (signal.SIGHUP, False),
            (signal.SIGKILL, False),
            (signal.SIGKILL, True),
            (signal.SIGINT, True),
        ):
            for first in (0, 2):
                process = self.start(first, new_group=to_group)
                made = {file.name for file in self.temporary.glob("*/*")}
                self.assertEqual("2.way" in made, first == 2, made)
                self.assert_gone(process, by, to_group)


if __name__ == "__main__":
    unittest.main()
