"""What the tests share: peers in threads, compilers in processes, and raw ends of a pipe."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from compiler_bridge import (
    BridgeError,
    BridgeTimeout,
    CompilerInterface,
    CompilerPool,
    Request,
    Runner,
    TensorSpec,
)

# In the background of a shell Ctrl-C is ignored, by us and by all that we start.
signal.signal(signal.SIGINT, signal.default_int_handler)

PATIENCE = 20.0  # seconds after which a test gives up, far above what it needs


def until(condition: Callable[[], Any], what: str = "it does not happen") -> Any:
    """Polls until the condition gives something true, which is returned."""
    end = time.monotonic() + PATIENCE
    pause = threading.Event()
    while not (result := condition()):
        assert time.monotonic() < end, what
        pause.wait(0.002)
    return result


@pytest.fixture(name="until")
def until_fixture() -> Callable[..., Any]:
    return until


@pytest.fixture
def base(tmp_path: Path) -> str:
    return str(tmp_path / "base")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests run over every channel, unless they look at what only one of them has."""
    if "channel" in metafunc.fixturenames:
        channels = ["pipe", "shm"]
        only = [name for name in channels if metafunc.definition.get_closest_marker(name)]
        if {"raw_compiler", "raw_peer"} & set(metafunc.fixturenames):
            only = ["pipe"]
        metafunc.parametrize("channel", only or channels)


@pytest.fixture
def address(base: str, channel: str) -> str:
    return f"{channel}:{base}"


class Served:
    """A peer that answers `policy(request)` in its own thread and remembers what it was asked."""

    def __init__(self, address: str, policy: Callable[[Request], Any], **options: Any) -> None:
        self.compiler = CompilerInterface(address, **options)
        self.seen: list[Request] = []
        self.error: BaseException | None = None
        self._policy = policy
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        try:
            for request in self.compiler:
                with self._changed:
                    self.seen.append(request)
                    self._changed.notify_all()
                self.compiler.reply(self._policy(request))
        except BaseException as error:
            self.error = error
            self.compiler.close()

    def wait(self, condition: Callable[[list[Request]], bool]) -> list[Request]:
        """Waits until what was seen fulfils the condition."""
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self.seen), PATIENCE), self.seen
        return self.seen

    def wait_done(self, count: int = 1) -> Request:
        """The request that ended the count-th episode."""
        self.wait(lambda seen: sum(request.done for request in seen) >= count)
        return [request for request in self.seen if request.done][count - 1]

    def join(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the peer does not end"

    def close(self) -> None:
        self.compiler.close()
        self.join()


@pytest.fixture
def served(address: str) -> Iterator[Callable[..., Served]]:
    """`served(policy)` starts a peer at `address`; it is stopped after the test."""
    started: list[Served] = []

    def start(policy: Callable[[Request], Any], **options: Any) -> Served:
        started.append(Served(options.pop("address", address), policy, **options))
        return started[-1]

    yield start
    for each in started:
        each.close()
    for each in started:
        if each.error is not None:
            raise each.error


@pytest.fixture
def echo(served: Callable[..., Served], address: str) -> Callable[..., Any]:
    """`echo(spec, value)` is what a peer received for the value, and sent back."""
    peers: list[Served] = []

    def ask(spec: TensorSpec, *values: Any, serdes: str = "bitstream") -> Any:
        if not peers:
            peers.append(served(lambda request: request["x"]))
        inputs = TensorSpec("x", spec.dtype, spec.shape)
        outputs = TensorSpec("y", spec.dtype, spec.shape)
        with Runner(f"{address}?on_error=fail&serdes={serdes}", [inputs], outputs) as runner:
            for value in values:
                result = runner.evaluate({"x": value})["y"]
        return result

    return ask


class Asking:
    """A compiler in a thread, for tests whose own thread is the peer."""

    def __init__(self, runner: str, inputs: Any, outputs: Any, questions: Any) -> None:
        self._arguments = (runner, inputs, outputs)
        self._questions = questions
        self._answers: list[Any] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        try:
            with Runner(*self._arguments) as runner:
                assert runner.why_not is None, runner.why_not
                for question in self._questions:
                    try:
                        self._answers.append(runner.evaluate(question))
                    except BridgeError as error:
                        self._answers.append(error)
        except BaseException as error:
            self._error = error

    def result(self) -> list[Any]:
        """Its decisions, or the errors instead of them."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the compiler does not end"
        if self._error is not None:
            raise self._error
        return self._answers


@pytest.fixture
def asking(address: str) -> Iterator[Callable[..., Asking]]:
    """`asking(inputs, outputs, questions)` starts a compiler beside the test."""
    started: list[Asking] = []

    def start(
        inputs: Any, outputs: Any, questions: Any, options: str = "", address: str = address
    ) -> Asking:
        started.append(Asking(address + options, inputs, outputs, questions))
        return started[-1]

    yield start
    for each in started:
        each.result()


# Background jobs of a shell inherit that Ctrl-C is ignored.
INTERRUPTIBLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


class Process:
    """A Python program; its standard output is read line by line."""

    def __init__(self, script: str, *arguments: str, **environment: str) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-c", INTERRUPTIBLE + script, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )
        self.pid = self._popen.pid
        self._pending = b""

    def line(self) -> str:
        """The next line that it prints."""
        out = self._popen.stdout
        assert out is not None
        end = time.monotonic() + PATIENCE
        while b"\n" not in self._pending:
            ready, _, _ = select.select([out], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the process prints nothing"
            more = os.read(out.fileno(), 4096)
            assert more, f"the process ended: {self.finish()}"
            self._pending += more
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode()

    def tell(self, line: str) -> None:
        """Writes a line to its standard input."""
        assert self._popen.stdin is not None
        self._popen.stdin.write(f"{line}\n".encode())
        self._popen.stdin.flush()

    def interrupt(self) -> None:
        self._popen.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """SIGKILL; when this returns, the process is gone."""
        self._popen.kill()
        self._popen.wait(PATIENCE)

    def finish(self) -> tuple[int, str, str]:
        """Exit status, the rest of standard output, standard error."""
        out, err = self._popen.communicate(timeout=PATIENCE)
        return self._popen.returncode, (self._pending + out).decode(), err.decode()

    def is_waiting(self) -> bool:
        """Its main thread sleeps in the kernel."""
        return process_state(self.pid) == "S"

    def end(self) -> None:
        if self._popen.poll() is None:
            self._popen.kill()
        self._popen.communicate(timeout=PATIENCE)


def process_state(pid: int) -> str | None:
    """The state letter of a process; None if there is no such process, or only its remains."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state in "ZX" else state


@pytest.fixture(name="process_state")
def process_state_fixture() -> Callable[[int], str | None]:
    return process_state


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    """`start(script, *arguments)` runs a Python program that does not outlive the test."""
    started: list[Process] = []

    def start_one(script: str, *arguments: str, **environment: str) -> Process:
        started.append(Process(script, *arguments, **environment))
        return started[-1]

    yield start_one
    for each in started:
        each.end()


COMPILER = """
import sys
from compiler_bridge import Runner, TensorSpec
runner = Runner(sys.argv[1], [TensorSpec("x", "int64", [-1])], TensorSpec("y", "int64"))
assert runner.why_not is None, runner.why_not
print("open", flush=True)
for line in sys.stdin:
    count, value = map(int, line.split())
    print(runner.evaluate({"x": [value] * count})["y"].item(), flush=True)
"""


class CompilerProcess(Process):
    """A compiler in its own process, which asks when it is told to."""

    def __init__(self, address: str) -> None:
        super().__init__(COMPILER, address)

    def ask(self, value: int, count: int = 1) -> None:
        """Starts a decision about so many times this value."""
        self.tell(f"{count} {value}")


@pytest.fixture
def compiler_process() -> Iterator[Callable[[str], CompilerProcess]]:
    started: list[CompilerProcess] = []

    def start_one(address: str) -> CompilerProcess:
        started.append(CompilerProcess(address))
        return started[-1]

    yield start_one
    for each in started:
        each.end()


class Header(NamedTuple):
    magic: bytes
    version: int
    kind: int
    flags: int
    runner: int
    session: int
    sequence: int
    length: int
    reward: float


class Wire:
    """Frames as they lie on the wire: 64 bytes, little-endian, then the payload."""

    HEADER = struct.Struct("<4sHHIIQQQd16x")
    HELLO, WELCOME, REQUEST, REPLY, FAILURE, CONTEXT, END, BYE = range(1, 9)
    HAS_REWARD, ENDS_SESSION = 1, 2

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write

    @classmethod
    def header(
        cls,
        kind: int,
        length: int = 0,
        *,
        flags: int = 0,
        runner: int = 0,
        session: int = 4711,
        sequence: int = 0,
        reward: float = 0.0,
        version: int = 1,
    ) -> bytes:
        fields = (version, kind, flags, runner, session, sequence, length, reward)
        return cls.HEADER.pack(b"CBRG", *fields)

    @classmethod
    def frame(cls, kind: int, payload: bytes = b"", **fields: Any) -> bytes:
        return cls.header(kind, len(payload), **fields) + payload

    @staticmethod
    def padded(data: bytes) -> bytes:
        """The bitstream aligns every tensor to 64 bytes."""
        return data + bytes(-len(data) % 64)

    def send(self, data: bytes) -> None:
        while data:
            _, ready, _ = select.select([], [self._write], [], PATIENCE)
            assert ready, "nobody reads"
            data = data[os.write(self._write, data) :]

    def receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            assert ready, f"only {len(data)} of {size} bytes arrive"
            more = os.read(self._read, size - len(data))
            assert more, f"the other end closed after {len(data)} of {size} bytes"
            data += more
        return data

    def receive_frame(self) -> tuple[Header, bytes]:
        """Header and payload."""
        header = Header(*self.HEADER.unpack(self.receive(self.HEADER.size)))
        return header, self.receive(header.length)

    def close(self) -> None:
        for end in (self._read, self._write):
            if end >= 0:
                os.close(end)
        self._read = self._write = -1


def lock_byte(file: int, byte: int) -> None:
    """An open-file-description lock, which also this process respects."""
    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, wanted)


class RawCompiler(Wire):
    """A compiler's end of the pipes, written and read by hand."""

    def __init__(self, base: str) -> None:
        self._lock = os.open(f"{base}.lock", os.O_RDWR)
        lock_byte(self._lock, 1)  # the session
        until(lambda: os.pread(self._lock, 1, 2) == b"R", "the FIFOs are never clean")
        super().__init__(
            os.open(f"{base}.in", os.O_RDONLY | os.O_NONBLOCK),
            os.open(f"{base}.out", os.O_WRONLY | os.O_NONBLOCK),
        )
        os.pwrite(self._lock, b"B", 2)  # we may leave something in the FIFOs

    def close(self) -> None:
        super().close()
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1


class RawPeer(Wire):
    """A peer's end of the pipes: the FIFOs, and the lock file that says they are served."""

    def __init__(self, base: str) -> None:
        self._lock = os.open(f"{base}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        lock_byte(self._lock, 0)  # while we live
        for name in (f"{base}.out", f"{base}.in"):
            os.mkfifo(name)
        super().__init__(
            os.open(f"{base}.out", os.O_RDONLY | os.O_NONBLOCK),
            os.open(f"{base}.in", os.O_RDWR | os.O_NONBLOCK),
        )
        os.pwrite(self._lock, b"R", 2)  # the FIFOs are clean

    def close(self) -> None:
        super().close()
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1


@pytest.fixture
def wire() -> type[Wire]:
    return Wire


@pytest.fixture
def raw_compiler(base: str) -> Iterator[Callable[[], RawCompiler]]:
    """Connects to the peer at `address`, at once."""
    made: list[RawCompiler] = []

    def connect() -> RawCompiler:
        made.append(RawCompiler(base))
        return made[-1]

    yield connect
    for each in made:
        each.close()


@pytest.fixture
def raw_peer(base: str) -> Iterator[RawPeer]:
    peer = RawPeer(base)
    yield peer
    peer.close()


class Member:
    """A compiler in a thread, which opens its model, and asks when it is told to."""

    def __init__(self, address: str, inputs: Any, outputs: Any, questions: Any) -> None:
        options = ("&" if "?" in address else "?") + "on_error=fail&timeout=20s&connect=20s"
        self._arguments = (address + options, inputs, outputs)
        self._questions = questions
        self.opened = threading.Event()
        self.go = threading.Event()
        self.answers: list[Any] = []
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            with Runner(*self._arguments) as runner:
                self.opened.set()
                assert self.go.wait(PATIENCE)
                for question in self._questions:
                    try:
                        self.answers.append(
                            question(runner) if callable(question) else runner.evaluate(question)
                        )
                    except BridgeError as error:
                        self.answers.append(error)
        except BaseException as error:
            self.error = error
            self.opened.set()


class Crew:
    """The compilers of a pool."""

    def __init__(self) -> None:
        self._members: list[Member] = []

    def open(self, pool: CompilerPool, *jobs: tuple[str, Any, Any, Any]) -> None:
        """Starts a compiler for each (address, inputs, outputs, questions); all are connected."""
        came = [Member(*job) for job in jobs]
        self._members += came
        while not all(member.opened.is_set() for member in came):
            with contextlib.suppress(BridgeTimeout):
                assert pool.next(timeout=0.02) is None, "a question too early"
        for member in came:
            if member.error is not None:
                raise member.error

    def go(self, *which: int) -> None:
        """Lets all of them ask, or these."""
        for i, member in enumerate(self._members):
            if not which or i in which:
                member.go.set()

    def results(self) -> list[list[Any]]:
        """The decisions of each, or the errors instead of them."""
        self.go()
        for member in self._members:
            member.thread.join(PATIENCE)
            assert not member.thread.is_alive(), "a compiler does not end"
            if member.error is not None:
                raise member.error
        return [member.answers for member in self._members]


@pytest.fixture
def crew() -> Iterator[Crew]:
    made = Crew()
    yield made
    made.results()


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where pools make their directories. The name has characters that runner strings escape."""
    folder = tmp_path / "tmp %41&?"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder
