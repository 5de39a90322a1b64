"""The compilers that `./dev bench inline-runners` compares, and the peers that some of them ask."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from _clang import LLVM_ADVISOR, PLUGIN, environment
from _inline_policy import NAMES
from _make import MODELS, OUT, ROOT, make_tf
from _native import CompileError, compile_model

REFERENCE, POLICY, EQUAL = "reference", "policy", "equal"
IN_PROCESS = ["native", "onnx", "tf", "tflite"]
PEER_TIMEOUT = "timeout=60s"  # a busy machine is no reason to lose a runner


@dataclass(frozen=True)
class Variant:
    """A way to compile: without the plugin, with it, with it and a model."""

    name: str
    kind: str = REFERENCE
    model: str | None = None
    plugin: Path | None = PLUGIN
    driver: str | None = None
    """What compiles, if not `clang -cc1`."""

    def recording(self, folder: Path) -> Variant:
        assert self.model
        mark = "&" if "?" in self.model else "?"
        return replace(self, model=f"{self.model}{mark}record={folder}/")

    @property
    def environment(self) -> dict[str, str]:
        variable = "LLVM_ADVISOR_MODEL" if self.plugin == LLVM_ADVISOR else "CBRIDGE_INLINE_MODEL"
        return environment(self.model, variable)

    @property
    def clang_arguments(self) -> list[str]:
        return [f"-fpass-plugin={self.plugin}"] if self.plugin else []

    @property
    def lld_arguments(self) -> list[str]:
        return [f"--load-pass-plugin={self.plugin}"] if self.plugin else []


PLAIN = Variant("plain", plugin=None)
REFERENCES = [PLAIN, Variant("plugin"), Variant("heuristic", model="heuristic:")]


class Peers:
    """One process per runner for all compiles, as a trainer is."""

    def __init__(self, weights: Path) -> None:
        self._weights = weights
        self._folder = tempfile.TemporaryDirectory()
        self._processes: dict[str, subprocess.Popen[str]] = {}

    def __enter__(self) -> Peers:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait()
        self._folder.cleanup()

    def start(self, name: str, scheme: str, options: str = "") -> Variant:
        address = f"{scheme}{self._folder.name}/{name}"
        program = [sys.executable, str(ROOT / "bench/_inline_peer.py")]
        # One thread: the network is small, and others would only spin.
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [*program, address, str(self._weights)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | threads,
        )
        self._processes[name] = process
        assert process.stdout
        if process.stdout.readline().strip() != "ready":
            sys.exit(f"the peer of {name} did not start")
        return Variant(name, POLICY, f"{address}?{PEER_TIMEOUT}{options}")

    def cpu_s(self, name: str) -> float | None:
        """What a peer has used since it was started."""
        if name not in self._processes:
            return None
        stat = Path(f"/proc/{self._processes[name].pid}/stat").read_text()
        user, system = stat.rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def runner_strings(name: str, tensorflow: bool) -> dict[str, Callable[[], str]]:
    """How the model of that name is made for each engine, and opened."""
    folder = MODELS / name

    def native() -> str:
        made = compile_model(folder / "model.onnx", name.title().replace("_", ""))
        return f"native:{made}"

    strings: dict[str, Callable[[], str]] = {
        "native": native,
        "onnx": lambda: f"onnx:{folder / 'model.onnx'}",
    }
    if tensorflow:
        strings["tf"] = lambda: f"tf:{OUT / 'tf' / name}.so"
        strings["tflite"] = lambda: f"tflite:{folder / 'tflite'}"
    return strings


def in_process(tensorflow: bool, missing: dict[str, str]) -> list[Variant]:
    """Of both models; what cannot be made has no row, and `missing` tells why."""
    if tensorflow:
        make_tf(list(NAMES.values()))
    made = []
    for equal, name in NAMES.items():
        for runner, string in runner_strings(name, tensorflow).items():
            title = f"{runner}-equal" if equal else runner
            try:
                made.append(Variant(title, EQUAL if equal else POLICY, string()))
            except CompileError as why:
                missing[title] = str(why)
    return made


def by_llvm(policies: list[Variant]) -> list[Variant]:
    """The same by LLVM's own advisor, over the fastest runner."""
    native = [each for each in policies if each.name == "native"]
    return [replace(each, name="native-llvm", plugin=LLVM_ADVISOR) for each in native]


def out_of_process(peers: Peers) -> list[Variant]:
    return [
        peers.start("shm", "shm:"),
        peers.start("pipe", "pipe:"),
        peers.start("pipe-json", "pipe:", "&serdes=json"),
        peers.start("grpc", "grpc:unix:"),
    ]
