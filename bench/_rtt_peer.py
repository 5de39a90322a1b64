"""The model of the round-trip benchmark: one fully connected layer in NumPy.

_rtt_peer.py bridge ADDRESS: over CompilerBridge.
_rtt_peer.py floor BASE REPETITIONS: over a bare pair of FIFOs, the least that Python can do.
"""

from __future__ import annotations

import fcntl
import os
import sys

import numpy as np

LARGEST = 50_000
WEIGHTS = (np.arange(LARGEST, dtype=np.uint64) * 2654435761 % 2**32 / 2**32 - 0.5).astype(
    np.float32
)


def serve(address: str) -> None:
    from compiler_bridge import CompilerInterface

    with CompilerInterface(address) as compiler:
        print("ready", flush=True)
        for request in compiler:
            x = request["x"]
            compiler.reply({"y": WEIGHTS[: x.size] @ x})


def serve_floor(base: str, repetitions: int) -> None:
    print("ready", flush=True)
    requests = os.open(base + ".out", os.O_RDONLY)
    replies = os.open(base + ".in", os.O_WRONLY)
    fcntl.fcntl(requests, fcntl.F_SETPIPE_SZ, 1 << 20)

    def answer(size: int) -> None:
        wanted = size * 4
        data = os.read(requests, wanted)
        while len(data) < wanted:
            more = os.read(requests, wanted - len(data))
            if not more:
                sys.exit("the host is gone")
            data += more
        x = np.frombuffer(data, np.float32)
        os.write(replies, WEIGHTS[:size] @ x)

    for _ in range(repetitions + 1):
        for _ in range(2):
            for size in range(500, LARGEST + 1, 500):
                answer(size)
        for _ in range(2000):
            answer(64)


if __name__ == "__main__":
    if sys.argv[1:2] == ["bridge"] and len(sys.argv) == 3:
        serve(sys.argv[2])
    elif sys.argv[1:2] == ["floor"] and len(sys.argv) == 4:
        serve_floor(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(__doc__)
