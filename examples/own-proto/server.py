"""A model behind inline.proto, without CompilerBridge: `server.py HOST:PORT` or `unix:PATH`.

With spawn= the address is grpc:/PATH, and standard input ends with the compiler.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
import inline_pb2
import inline_pb2_grpc


class Inliner(inline_pb2_grpc.InlinerServicer):
    def advise(self, site, context):
        constants = sum(argument.is_constant for argument in site.arguments)
        bonus = 30 * constants if site.loop_depth else 0
        return inline_pb2.Advice(should_inline=site.callee.instructions < 20 + bonus)


server = grpc.server(ThreadPoolExecutor())
inline_pb2_grpc.add_InlinerServicer_to_server(Inliner(), server)
print(server.add_insecure_port(sys.argv[1].replace("grpc:/", "unix:/", 1)), flush=True)
server.start()
sys.stdin.read()
server.stop(0.5).wait()
