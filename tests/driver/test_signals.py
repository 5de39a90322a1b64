"""Signals to the driver while clang waits for an answer: all end, and leave nothing."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import subprocess
import termios
import unittest
from pathlib import Path

from _driver import DRIVER, DriverTest, installed


class Signals(DriverTest):
    def start(
        self, *arguments: str, new_group: bool = False, terminal: int | None = None
    ) -> subprocess.Popen[str]:
        """A compile whose model blocks; returns once it does."""
        told = self.folder / "told"
        with contextlib.suppress(FileExistsError):
            os.mkfifo(told)
        process = subprocess.Popen(
            [DRIVER, f"--cbridge-evict=testpolicy:block?after=3&tell={told}", "-O2", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=new_group or terminal is not None,
            preexec_fn=None if terminal is None else lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        told.read_bytes()  # opened by the model
        return process

    def assert_gone(self, process: subprocess.Popen[str], by: signal.Signals) -> None:
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, -by, err)
        self.assertEqual((out, err), ("", ""))
        self.assertFalse((self.folder / "pressure.o").exists())

    #: One process of clang, or a driver of clang with compilers below it.
    CALLS = (["-c", "pressure.c"], ["-c", "-save-temps", "pressure.c"])

    def test_to_the_driver_alone(self) -> None:
        for by in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for call in self.CALLS:
                process = self.start(*call)
                process.send_signal(by)
                self.assert_gone(process, by)
                self.assert_nothing_left()

    def test_while_it_waits_for_its_input(self) -> None:
        for by in (signal.SIGINT, signal.SIGKILL):
            process = subprocess.Popen(
                [DRIVER, "--cbridge-evict=testpolicy:random", "-O2", "-x", "c", "-", "-S"],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert process.stdin is not None
            # More than a pipe holds: it reads, so that it is ready for signals.
            process.stdin.write("// text\n" * 100_000)
            process.stdin.flush()
            running = [os.pidfd_open(number) for number in self.processes()]
            self.assertEqual(len(running), 2)
            process.send_signal(by)
            self.wait_for(running)
            self.assert_gone(process, by)
            self.assert_nothing_left()

    def wait_for(self, running: list[int]) -> None:
        """Until these processes, held by files, have ended."""
        for each in running:
            self.assertTrue(select.select([each], [], [], 30)[0])
            os.close(each)

    def test_to_the_whole_group(self) -> None:
        for call in self.CALLS:
            process = self.start(*call, new_group=True)
            os.killpg(process.pid, signal.SIGINT)
            self.assert_gone(process, signal.SIGINT)
            self.assert_nothing_left()

    def test_killed(self) -> None:
        """Nobody is left to clean up but the process in which the model hangs."""
        for kill in (os.kill, os.killpg):
            for call in self.CALLS:
                process = self.start(*call, new_group=True)
                running = [os.pidfd_open(number) for number in self.processes()]
                self.assertGreaterEqual(len(running), 3)
                kill(process.pid, signal.SIGKILL)
                self.wait_for(running)
                process.communicate(timeout=30)
                if kill is os.killpg:
                    self.unlink_clangs_own()
                self.assert_nothing_left()

    def test_from_a_terminal(self) -> None:
        """It reaches the driver and clang; the model's process is in the background."""
        ours, theirs = os.openpty()
        self.addCleanup(os.close, ours)
        process = self.start("-c", "pressure.c", terminal=theirs)
        os.close(theirs)
        running = {number: os.pidfd_open(number) for number in self.processes()}
        [model] = [number for number in running if os.getpgid(number) != process.pid]
        status = Path(f"/proc/{model}/status").read_text()
        [ignored] = re.findall(r"SigIgn:\s*(\w+)", status)
        for stops in (signal.SIGTTIN, signal.SIGTTOU):
            self.assertTrue(int(ignored, 16) & 1 << (stops - 1), status)
        os.write(ours, b"\x03")
        self.wait_for(list(running.values()))
        self.assert_gone(process, signal.SIGINT)

    def test_while_clang_inlines_or_is_run_again(self) -> None:
        """No model asks us anything, and clang is a script that waits, with a plugin or without."""
        ours = installed(self.folder / "there", "bin", "lib/compiler-bridge")
        told = self.folder / "told"
        os.mkfifo(told)
        wait = f"echo >{told}; exec sleep 1000"
        for with_plugin in (wait, "exit 1"):
            text = f"#!/bin/sh\ncase $* in *pass-plugin*) {with_plugin} ;; esac\n{wait}\n"
            fake = self.write("fake/clang-19", text, executable=True)
            for by in (signal.SIGTERM, signal.SIGKILL):
                process = subprocess.Popen(
                    [ours, "--cbridge-inline=constant:1", "-O2", "-c", "pressure.c"],
                    cwd=self.folder,
                    env=self.environment | {"CBRIDGE_CLANG": str(fake)},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                told.read_bytes()
                running = [os.pidfd_open(number) for number in self.processes()]
                process.send_signal(by)
                self.wait_for(running)
                self.assert_gone(process, by)
                self.assert_nothing_left()

    def test_the_models_process_is_killed(self) -> None:
        process = self.start("-c", "pressure.c")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        compilers = [
            child
            for child in children
            if b"-regalloc-evict" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
        self.assertEqual((len(children), len(compilers)), (2, 1))
        [model] = set(children) - set(compilers)
        os.kill(int(model), signal.SIGKILL)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0)
        self.assertIn("ended by signal 9; compiled without it", err)
        self.assert_same_object("pressure.o", "-O2", "-c", "pressure.c")

    def test_clang_is_killed(self) -> None:
        process = self.start("-c", "pressure.c")
        [clang] = [n for n, said in self.processes().items() if "-regalloc-evict" in said]
        os.kill(clang, signal.SIGKILL)
        self.assert_gone(process, signal.SIGKILL)
        self.unlink_clangs_own()

    def unlink_clangs_own(self) -> None:
        """What a clang that is killed cannot remove."""
        for left in self.folder.glob("*.tmp"):
            left.unlink()


if __name__ == "__main__":
    unittest.main()
