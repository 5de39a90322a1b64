"""The policy in NumPy, for compilers that ask a process: _inline_peer.py ADDRESS WEIGHTS.

Ends with whoever started it, however that ends: with the end of standard input.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from pathlib import Path

import numpy as np
from _inline_policy import DECISION, Policy

from compiler_bridge import CompilerInterface


def end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


def serve(address: str, policy: Policy) -> None:
    names = policy.features
    # That a compiler ends, which never closes its model, is no news.
    logging.getLogger("compiler_bridge").setLevel(logging.ERROR)
    with CompilerInterface(address, copy=False) as compiler:
        print("ready", flush=True)
        for request in compiler:
            if not request.done:
                x = np.concatenate([request[name] for name in names])
                compiler.reply({DECISION: int(policy.logits(x) > 0)})


if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    serve(sys.argv[1], Policy.load(Path(sys.argv[2])))
