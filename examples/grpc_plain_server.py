#!/usr/bin/env python3
"""A model behind plain gRPC, without this library: y = x + 1 for each compiler that asks.

Needs grpcio and grpcio-tools. Start it with an address, `127.0.0.1:4711` or `unix:/tmp/socket`, and
open the runner `grpc:127.0.0.1:4711?mode=unary`. Prints the port that it has.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

sys.path.insert(0, str(Path(__file__).parent.parent / "proto"))
protos, services = grpc.protos_and_services("compiler_bridge.proto")


class Advisor(services.CompilerBridgeServicer):
    def getAdvice(self, observation, context):  # noqa: N802 - as the .proto names it
        x = observation.tensors.tensor[0]
        value = int.from_bytes(x.data, "little", signed=True)
        advice = protos.Advice()
        data = (value + 1).to_bytes(8, "little", signed=True)
        advice.tensors.tensor.add(name="y", type=protos.INT64, shape=[1], data=data)
        return advice


def serve(address, advisor):
    server = grpc.server(ThreadPoolExecutor())
    services.add_CompilerBridgeServicer_to_server(advisor, server)
    print(server.add_insecure_port(address), flush=True)
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    serve(sys.argv[1], Advisor())
