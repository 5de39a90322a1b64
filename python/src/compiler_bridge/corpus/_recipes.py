"""How to build a source package without its build dependencies: as much of it as builds."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ._errors import CorpusError

BUILD = "cbridge-build"


@dataclass(frozen=True)
class Recipe:
    """Commands, in the package's folder; `{jobs}` is how many at once, `{cc}` the compiler."""

    steps: tuple[tuple[str, ...], ...]


def _make(*words: str) -> tuple[str, ...]:
    # As much as possible: a program that lacks a library does not take the others with it.
    return ("make", "-k", "-j{jobs}", *words)


def _configure(*words: str) -> Recipe:
    return Recipe((("./configure", *words), _make()))


def cmake(*words: str) -> Recipe:
    options = ["-DCMAKE_BUILD_TYPE=None", "-DBUILD_SHARED_LIBS=OFF", "-DBUILD_TESTING=OFF", *words]
    configure = ("cmake", "-S", ".", "-B", BUILD, "-G", "Unix Makefiles", *options)
    return Recipe((configure, ("cmake", "--build", BUILD, "-j{jobs}", "--", "-k")))


# What libtool would compile twice is compiled once.
_STATIC = "--disable-shared"
_NO_MESSAGES = "--disable-nls"

RECIPES: dict[str, Recipe] = {
    "busybox": Recipe((("make", "defconfig"), _make("CC={cc}", "SKIP_STRIP=y", "busybox"))),
    "dash": _configure("--without-libedit"),
    "double-conversion": cmake(),
    "duktape": Recipe((_make("-f", "Makefile.cmdline", "CC={cc}"),)),
    "jansson": cmake("-DJANSSON_WITHOUT_TESTS=ON", "-DJANSSON_EXAMPLES=OFF"),
    "leveldb": cmake("-DLEVELDB_BUILD_TESTS=OFF", "-DLEVELDB_BUILD_BENCHMARKS=OFF"),
    "libjpeg-turbo": cmake("-DWITH_SIMD=0", "-DENABLE_SHARED=0"),
    "libjsoncpp": cmake("-DJSONCPP_WITH_TESTS=OFF", "-DBUILD_OBJECT_LIBS=OFF"),
    "libxml2": _configure(_STATIC, "--without-python", "--without-lzma", "--without-icu"),
    "mujs": Recipe((_make("release", "HAVE_READLINE=no", "CC={cc}"),)),
    "re2": Recipe((_make("obj/libre2.a"),)),  # CMake lacks what this generates
    "snappy": cmake("-DSNAPPY_BUILD_TESTS=OFF", "-DSNAPPY_BUILD_BENCHMARKS=OFF"),
    "tcc": Recipe((("./configure", "--cc={cc}"), _make("tcc"))),
    "tinyxml2": cmake(),
    "yaml-cpp": cmake("-DYAML_CPP_BUILD_TESTS=OFF", "-DYAML_CPP_BUILD_TOOLS=OFF"),
}

# What a folder has -> how it is built; the first that fits.
_BY_FILE: tuple[tuple[str, Callable[[], Recipe]], ...] = (
    ("configure", lambda: _configure(_STATIC, _NO_MESSAGES)),
    ("CMakeLists.txt", cmake),
    ("autogen.sh", lambda: _generated("./autogen.sh")),
    ("configure.ac", lambda: _generated("autoreconf", "-fi")),
    ("meson.build", lambda: Recipe((("meson", "setup", BUILD), ("ninja", "-k0", "-C", BUILD)))),
    ("Makefile", lambda: Recipe((_make(),))),
    ("GNUmakefile", lambda: Recipe((_make(),))),
    ("makefile", lambda: Recipe((_make(),))),
)


def _generated(*words: str) -> Recipe:
    return Recipe((tuple(words), *_configure(_STATIC, _NO_MESSAGES).steps))


def recipe(package: str, folder: Path) -> Recipe:
    if package in RECIPES:
        return RECIPES[package]
    for name, make in _BY_FILE:
        if (folder / name).exists():
            return make()
    known = ", ".join(name for name, _ in _BY_FILE)
    raise CorpusError(f"cannot tell how it is built: it has none of {known}")


def check_programs(recipe: Recipe) -> None:
    for program, *_ in recipe.steps:
        if "/" not in program and shutil.which(program) is None:
            raise CorpusError(f"there is no {program}, with which it is built")
