"""What the tests of --cbridge-budget with the real plugin share."""

from __future__ import annotations

import shlex
import struct
from collections.abc import Iterator

from _driver import DriverTest

#: Decides by chance, and describes itself.
CHANCE = "testpolicy:chance"
#: The same with scores.
SCORES = "testpolicy:scores"

#: What the functions call, and a program of them.
MAIN = """
#include <stdio.h>
int g0(int), g1(int), g2(int), g3(int), g4(int), g5(int), g6(int), g7(int);
static int calls;
int ext(int x) { printf("%d ", x); return ++calls * 7 + x % 11; }
int ext2(int x, int y) { printf("%d,%d ", x, y); return ++calls * 3 - y % 13; }
int main(void) {
  int (*all[])(int) = {g0, g1, g2, g3, g4, g5, g6, g7};
  for (int i = 0; i < 24; i++) printf("= %d\\n", all[i % 8](i));
  return 0;
}
"""


def functions() -> Iterator[str]:
    """Calls enough, of functions that are small enough, for decisions to matter."""
    yield "int ext(int); int ext2(int, int);"
    for n in range(12):
        steps = ("x += ext(x);", f"x ^= x >> {n % 5 + 1};", f"x *= {n + 3}u;", "x += ext2(x, x);")
        body = " ".join(steps[(n + i) % 4] for i in range(n % 7 + 2))
        yield f"static unsigned f{n}(unsigned x) {{ {body} return x; }}"
    for n in range(8):
        calls = " + ".join(f"f{(5 * n + 7 * i) % 12}(x + {i})" for i in range(4))
        yield f"int g{n}(int x) {{ return (int)({calls}); }}"


def classes() -> Iterator[str]:
    """The same for C++: constructors, templates, functions that others may have, too."""
    yield 'extern "C" { int ext(int); int ext2(int, int); }'
    yield (
        "template <int N> struct Step { unsigned X; Step(unsigned X) : X(X + N) {}"
        " ~Step() { ext(int(X)); }"
        " unsigned next() const { return N % 3 ? X * N : X ^ (X >> 2); } };"
    )
    for n in range(9):
        yield (
            f"static unsigned f{n}(unsigned x) {{ Step<{n % 5}> s(x);"
            f" return s.next() + Step<{n % 4}>(x).next() + unsigned(ext2({n}, int(x))); }}"
        )
    for n in range(8):
        calls = " + ".join(f"f{(2 * n + 5 * i) % 9}(unsigned(x + {i}))" for i in range(3))
        yield f'extern "C" int g{n}(int x) {{ return int({calls}); }}'


def loaded(elf: bytes) -> int:
    """The bytes of an object that are loaded, of the machine that runs this."""
    table, size, count = struct.unpack_from("<40xQ10xHH", elf)
    sections = [struct.unpack_from("<4xIQ8x8xQ", elf, table + i * size) for i in range(count)]
    return sum(bytes_ for kind, flags, bytes_ in sections if flags & 2 and kind != 8)


class BudgetTest(DriverTest):
    def setUp(self) -> None:
        super().setUp()
        self.write("code.c", "\n".join(functions()))

    def plain(self, *arguments: str, source: str = "code.c") -> bytes:
        """What clang makes of the source."""
        done = self.clang("-c", source, "-o", "way.o", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.read("way.o")

    def by_model(self, model: str, *arguments: str, source: str = "code.c") -> bytes:
        """What a single compile by the model makes of it."""
        self.good(f"--cbridge-inline={model}", "-c", source, "-o", "way.o", *arguments)
        return self.read("way.o")

    def kept(
        self, budget: int, *arguments: str, model: str = CHANCE, source: str = "code.c"
    ) -> bytes:
        (self.folder / "ours.o").unlink(missing_ok=True)
        call = (f"--cbridge-inline={model}", f"--cbridge-budget={budget}", "-c", source)
        self.good(*call, "-o", "ours.o", *arguments)
        self.assert_nothing_left()
        return self.read("ours.o")

    def inner(self, *arguments: str, source: str = "code.c") -> list[str]:
        """clang's inner command for inner.o, from -cc1 on."""
        told = self.clang("-###", "-c", source, "-o", "inner.o", *arguments).stderr
        command = shlex.split(told.splitlines()[-1])
        self.assertEqual(command[1], "-cc1")
        return command[1:]
