#!/usr/bin/env python3
"""A trainer in plain gRPC, without this library: y = x + 1 for a compiler that is the server.

Needs grpcio and grpcio-tools. The compiler opens the runner `grpc:127.0.0.1:4711?role=server`;
start this with `127.0.0.1:4711` and a number of episodes. Prints the sum of rewards of each.
"""

import sys
from pathlib import Path

import grpc

sys.path.insert(0, str(Path(__file__).parent.parent / "proto"))
protos, services = grpc.protos_and_services("compiler_bridge.proto")


class CompilerEnv:
    """reset and step as Gymnasium has them: observation, reward, terminated, truncated."""

    def __init__(self, address):
        self._compiler = services.CompilerBridgeStub(grpc.insecure_channel(address))
        self._step = 0

    def reset(self):
        return self._act(protos.Action())

    def step(self, y):
        action = protos.Action(step=self._step + 1)
        data = y.to_bytes(8, "little", signed=True)
        action.tensors.tensor.add(name="y", type=protos.INT64, shape=[1], data=data)
        return self._act(action)

    def _act(self, action):
        seen = self._compiler.getObservation(action, wait_for_ready=action.step == 0)
        self._step = seen.sequence
        if seen.kind == protos.END:
            return None, seen.reward, not seen.truncated, seen.truncated
        x = int.from_bytes(seen.tensors.tensor[0].data, "little", signed=True)
        return x, seen.reward, False, False


def main(address, episodes):
    env = CompilerEnv(address)
    for _ in range(episodes):
        total = 0.0
        x, _, terminated, truncated = env.reset()
        while not (terminated or truncated):
            x, reward, terminated, truncated = env.step(x + 1)
            total += reward
        print(total, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
