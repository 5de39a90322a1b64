//===- KindsServer.cpp - A server of kinds.proto that misbehaves ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// KindsServer unix:PATH. Answers y = x + 1 and the step; a negative x asks for
// something else. As others write servers: it knows nothing of CompilerBridge.
//
//===----------------------------------------------------------------------===//
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <kinds.grpc.pb.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <unistd.h>

using namespace cbridge::test;

namespace {

std::atomic<int64_t> Ends{0}, Streams{0}, Calls{0};
std::atomic<double> Reward{0};

enum : int64_t {
  Raise = -1,
  Die = -2,
  Hang = -3,
  WrongStep = -4,
  Twice = -5,
  LastOfStream = -6,
  CountEnds = -10,
  LastReward = -11,
  CountStreams = -12,
  HaveContext = -13,
  CountCalls = -14,
};

grpc::Status answer(grpc::ServerContext &Of, const Asked &From, Advised &To) {
  ++Calls;
  if (From.has_reward())
    Reward = From.reward();
  if (From.terminated() || From.truncated()) {
    Ends += From.truncated() ? 100 : 1;
    return grpc::Status::OK;
  }
  To.set_step(From.step());
  To.set_y(From.x() + 1);
  switch (From.x()) {
  case Raise:
    return {grpc::StatusCode::UNKNOWN, "no such loop"};
  case Die:
    ::_exit(3);
  case Hang:
    while (!Of.IsCancelled())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    break;
  case WrongStep:
    To.set_step(From.step() + 1);
    break;
  case CountEnds:
    To.set_y(Ends);
    break;
  case LastReward:
    To.set_y(int64_t(Reward * 100));
    break;
  case CountStreams:
    To.set_y(Streams);
    break;
  case HaveContext:
    To.set_y(From.context() == "main" && From.runner() == 1);
    break;
  case CountCalls:
    To.set_y(Calls);
    break;
  default:
    break;
  }
  return grpc::Status::OK;
}

class Server : public Kinds::Service {
  grpc::Status ask(grpc::ServerContext *Of, const Asked *From,
                   Advised *To) override {
    return answer(*Of, *From, *To);
  }
  grpc::Status echo(grpc::ServerContext *, const Everything *From,
                    Everything *To) override {
    *To = *From;
    return grpc::Status::OK;
  }
  grpc::Status talk(grpc::ServerContext *Of,
                    grpc::ServerReaderWriter<Advised, Asked> *Stream) override {
    ++Streams;
    Asked From;
    while (Stream->Read(&From)) {
      Advised To;
      grpc::Status S = answer(*Of, From, To);
      if (!S.ok())
        return S;
      Stream->Write(To);
      if (From.x() == Twice)
        Stream->Write(To);
      if (From.x() == LastOfStream)
        return grpc::Status::OK;
    }
    return grpc::Status::OK;
  }
};

} // namespace

int main(int Count, char **Arguments) {
  // "grpc:/PATH", as spawn= says it, or as gRPC does.
  std::string Address = Count > 1 ? Arguments[1] : "";
  if (Address.rfind("grpc:/", 0) == 0)
    Address = "unix:" + Address.substr(std::strlen("grpc:"));
  Server Kinds;
  grpc::ServerBuilder Builder;
  Builder.AddListeningPort(Address, grpc::InsecureServerCredentials());
  Builder.RegisterService(&Kinds);
  std::unique_ptr<grpc::Server> Running = Builder.BuildAndStart();
  if (!Running)
    return 1;
  // Until whoever has started us closes our standard input.
  char Byte;
  while (::read(0, &Byte, 1) > 0) {
  }
  ::_exit(0);
}
