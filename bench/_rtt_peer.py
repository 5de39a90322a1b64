"""The model of the round-trip benchmark: one fully connected layer in NumPy.

_rtt_peer.py bridge ADDRESS: over CompilerBridge.
_rtt_peer.py floor FLOOR: the least that Python can do; see Floor.h.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

LARGEST = 50_000
WEIGHTS = (np.arange(LARGEST, dtype=np.uint64) * 2654435761 % 2**32 / 2**32 - 0.5).astype(
    np.float32
)


def serve(address: str) -> None:
    from compiler_bridge import CompilerInterface

    with CompilerInterface(address, copy=False) as compiler:
        print("ready", flush=True)
        for request in compiler:
            x = request["x"]
            compiler.reply({"y": WEIGHTS[: x.size] @ x})


def serve_fifo_floor(base: str) -> None:
    requests = os.open(base + ".out", os.O_RDONLY)
    replies = os.open(base + ".in", os.O_WRONLY)
    fcntl.fcntl(requests, fcntl.F_SETPIPE_SZ, 1 << 20)
    sizes = [*range(500, LARGEST + 1, 500)] * 2 + [64] * 2000
    while True:
        for size in sizes:
            wanted = size * 4
            data = os.read(requests, wanted)
            while len(data) < wanted:
                more = os.read(requests, wanted - len(data))
                if not more:
                    sys.exit()
                data += more
            x = np.frombuffer(data, np.float32)
            os.write(replies, WEIGHTS[:size] @ x)


def serve_segment_floor(path: str, yields: bool) -> None:
    with open(path, "r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    words = memoryview(memory).cast("Q")  # 0 requests, 1 size, 8 replies, 24 rest
    reply = memoryview(memory).cast("f")
    floats = np.frombuffer(memory, np.float32, LARGEST, 256)
    last = 0
    while True:
        while words[0] == last:
            if yields:
                os.sched_yield()
            if words[24]:
                time.sleep(0.001)
        last += 1
        size = words[1]
        reply[32] = WEIGHTS[:size] @ floats[:size]
        words[8] = last


def serve_grpc_floor(where: str) -> None:
    import grpc

    def answer(data: bytes, _: object = None) -> bytes:
        x = np.frombuffer(data, np.float32)
        return (WEIGHTS[: x.size] @ x).tobytes()

    def answers(stream: Iterator[bytes], _: object) -> Iterator[bytes]:
        return map(answer, stream)

    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    methods = {
        "unary": grpc.unary_unary_rpc_method_handler(answer),
        "stream": grpc.stream_stream_rpc_method_handler(answers),
    }
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("floor", methods)])
    server.add_insecure_port(where)
    server.start()
    print("ready", flush=True)
    server.wait_for_termination()


def serve_floor(spec: str) -> None:
    kind, where = spec.split(":", 1)
    if kind.startswith("grpc"):
        serve_grpc_floor(where)
    print("ready", flush=True)
    if kind == "fifo":
        serve_fifo_floor(where)
    else:
        serve_segment_floor(where, kind == "segment-yield")


if __name__ == "__main__":
    if sys.argv[1:2] == ["bridge"] and len(sys.argv) == 3:
        serve(sys.argv[2])
    elif sys.argv[1:2] == ["floor"] and len(sys.argv) == 3:
        serve_floor(sys.argv[2])
    else:
        sys.exit(__doc__)
