"""What the tests of cbridge-clang share. Needs nothing but Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(os.environ["CBRIDGE_TEST_TOOLS"])
BUILT = Path(os.environ["CBRIDGE_TEST_BUILT"])
DRIVER = TOOLS / "cbridge-clang" / "cbridge-clang"
CBRIDGE = TOOLS / "cbridge" / "cbridge"
PLUGIN = BUILT / "plugin" / "CompilerBridgePasses.so"

#: Needs more registers than there are, so that the allocator has to choose.
PRESSURE = r"""
#include <stdio.h>
static double mix(const double *a, const double *b, int n) {
  double s[20] = {0};
  double p = 1, q = 2, r = 3, t = 4, u = 5, v = 6, w = 7, x = 8, y = 9, z = 10;
  for (int i = 0; i + 12 < n; i++) {
    p += a[i] * b[i]; q += p * a[i + 1]; r += q - b[i + 2]; t += r * a[i + 3];
    u += t + b[i + 4] * p; v += u * a[i + 5]; w += v - q; x += w * b[i + 6];
    y += x + a[i + 7] * r; z += y * b[i + 8]; s[0] += z; s[1] += p * z;
    s[2] += q * y; s[3] += r * x; s[4] += t * w; s[5] += u * v; s[6] += p - z;
    s[7] += q - y; s[8] += r - x; s[9] += t - w; printf("%.0f", 0 * z);
  }
  for (int i = 0; i < 10; i++) p += s[i] * q - r * t + u * v - w * x + y * z;
  return p;
}
long hash(const char *s, long a, long b, long c, long d, long e, long f) {
  long g = a ^ b, h = c ^ d, i = e ^ f, j = a + c, k = b + d, l = e + a, m = f + b;
  for (; *s; s++) {
    a = a * 31 + *s + g; b ^= a >> 3; c += b * h; d ^= c << 1; e += d * i; f ^= e >> 2;
    g += f * j; h ^= g << 2; i += h * k; j ^= i >> 1; k += j * l; l ^= k; m += l * a;
  }
  return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l ^ m;
}
int main(int argc, char **argv) {
  double a[64], b[64];
  for (int i = 0; i < 64; i++) { a[i] = 1.0 / (i + argc); b[i] = 1.0 / (i + 2 * argc); }
  printf("%.9g %ld\n", mix(a, b, 20), hash("registers", 1, 2, 3, 4, 5, 6));
  (void)argv;
  return 0;
}
"""


class DriverTest(unittest.TestCase):
    """Each test has an empty folder, and leaves no other file and no process."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="driver-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.log = self.folder / "plugin.log"
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CBRIDGE_", "CCACHE_"))
        }
        self.environment |= {
            "CBRIDGE_MODULE_PATH": str(BUILT / "modules"),
            "CBRIDGE_TEST_LOG": str(self.log),
            "TMPDIR": str(self.temporary),
            "LC_ALL": "C",
        }
        self.write("pressure.c", PRESSURE)

    def tearDown(self) -> None:
        self.assert_nothing_left()

    def assert_nothing_left(self) -> None:
        self.assertEqual(os.listdir(self.temporary), [], "left in TMPDIR")
        left = [str(file) for file in self.folder.rglob("*.tmp")]
        self.assertEqual(left, [])
        self.assertEqual(self.processes(), {})

    def processes(self) -> dict[int, str]:
        """What runs in our folder, or was told of it; by number."""
        found = {}
        for process in Path("/proc").iterdir():
            if not process.name.isdigit() or int(process.name) == os.getpid():
                continue
            try:
                said = (process / "cmdline").read_bytes().decode(errors="replace")
                where = os.readlink(process / "cwd")
            except OSError:
                continue
            if not said:
                continue  # on its way out, without memory
            if str(self.folder) in said or where.startswith(str(self.folder)):
                found[int(process.name)] = said.replace("\0", " ")
        return found

    def write(self, name: str, text: str, executable: bool = False) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if executable:
            file.chmod(0o755)
        return file

    def run_program(
        self, *command: str | Path, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(word) for word in command],
            cwd=self.folder,
            env=self.environment | environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def clang(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return self.run_program("clang-19", *arguments, stdin=stdin)

    def driver(
        self, *arguments: str, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return self.run_program(DRIVER, *arguments, stdin=stdin, **environment)

    def good(
        self, *arguments: str, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """A call that must succeed, and says nothing."""
        done = self.driver(*arguments, stdin=stdin, **environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done

    def fell_back(
        self, *arguments: str, why: str, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """A call that must succeed without the model, and says why in one line."""
        done = self.driver(*arguments, stdin=stdin, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertRegex(done.stderr, "^cbridge-clang: ")
        self.assertRegex(done.stderr, why)
        return done

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def assert_same_object(self, name: str, *arguments: str) -> None:
        """Whether a file is what plain clang makes of these arguments."""
        plain = self.clang(*arguments, "-o", "plain.out")
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual(self.read(name), self.read("plain.out"), name)

    def models_of_plugin(self) -> list[str]:
        """The models that the plugin was told, once per compile."""
        return self.log.read_text().splitlines() if self.log.exists() else []


def installed(folder: Path, programs: str, plugins: str | None) -> Path:
    """A copy of the driver in folder/programs, of the plugin in folder/plugins."""
    (folder / programs).mkdir(parents=True)
    driver = folder / programs / "cbridge-clang"
    shutil.copy(DRIVER, driver)
    (folder / programs / "cbridge-clang++").symlink_to("cbridge-clang")
    if plugins:
        (folder / plugins).mkdir(parents=True)
        shutil.copy(PLUGIN, folder / plugins)
    return driver


class InstalledDriverTest(DriverTest):
    """With a driver and a plugin that are installed, in folder/there."""

    def setUp(self) -> None:
        super().setUp()
        self.ours = installed(self.folder / "there", "bin", "lib/compiler-bridge")

    def driver(
        self, *arguments: str, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return self.run_program(self.ours, *arguments, stdin=stdin, **environment)
