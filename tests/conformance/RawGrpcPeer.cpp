//===- RawGrpcPeer.cpp - The raw peer of grpc: ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RawGrpc.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <list>

namespace cbridge::conformance {

namespace {

class RawGrpcPeer : public RawGrpc {
public:
  explicit RawGrpcPeer(const std::string &Address) {
    grpc::ServerBuilder Builder;
    Builder.SetMaxReceiveMessageSize(-1);
    Builder.SetMaxSendMessageSize(-1);
    Builder.AddListeningPort(serverOf(Address),
                             grpc::InsecureServerCredentials());
    Builder.RegisterAsyncGenericService(&Service);
    Queue = Builder.AddCompletionQueue();
    Server = Builder.BuildAndStart();
    if (Server)
      accept();
  }
  ~RawGrpcPeer() override {
    // A connection that breaks takes with it what was sent and not read.
    Deadline Until = Deadline::in(std::chrono::seconds(10));
    while (Unheard && !Ended && step(Until)) {
    }
    if (Server)
      Server->Shutdown(gpr_time_0(GPR_CLOCK_MONOTONIC));
    Queue->Shutdown();
    void *Tag;
    bool Ok;
    while (Queue->Next(&Tag, &Ok)) {
    }
  }
  bool serves() const { return Server != nullptr; }

private:
  struct Call;
  struct Step {
    Call *Of;
    void (RawGrpcPeer::*Done)(Call &, bool Ok);
  };
  struct Call {
    grpc::GenericServerContext Context;
    grpc::GenericServerAsyncReaderWriter Stream{&Context};
    grpc::ByteBuffer In;
    bool Unary = false;
    Step Accepting{this, &RawGrpcPeer::accepted};
    Step Reading{this, &RawGrpcPeer::read};
    Step Writing{this, &RawGrpcPeer::written};
  };

  void accept() {
    Call &Next = Calls.emplace_back();
    Service.RequestCall(&Next.Context, &Next.Stream, Queue.get(), Queue.get(),
                        &Next.Accepting);
  }
  void accepted(Call &C, bool Ok) {
    if (!Ok)
      return;
    C.Unary = C.Context.method() == GetAdvice;
    // One session; others are left waiting.
    if (!C.Unary && std::exchange(Session, &C))
      Session = nullptr;
    C.Stream.Read(&C.In, &C.Reading);
    accept();
  }
  void read(Call &C, bool Ok) {
    if (!Ok) {
      Ended |= !C.Unary;
      return;
    }
    came(C.In);
    Came = true;
    Unheard = false;
    Answering = &C;
    if (!C.Unary)
      C.Stream.Read(&C.In, &C.Reading);
  }
  void written(Call &, bool Ok) {
    Wrote = true;
    Works = Ok;
  }
  bool step(Deadline Until) {
    void *Tag;
    bool Ok;
    if (Queue->AsyncNext(&Tag, &Ok, timeOf(Until)) !=
        grpc::CompletionQueue::GOT_EVENT)
      return false;
    auto *S = static_cast<Step *>(Tag);
    (this->*S->Done)(*S->Of, Ok);
    return true;
  }

  bool sendMessage(const std::string &Message, FrameKind,
                   Deadline Until) override {
    if (!Answering)
      return false;
    Wrote = false;
    Unheard = true;
    Call &C = *Answering;
    if (C.Unary) {
      C.Stream.WriteAndFinish(bufferOf(Message), grpc::WriteOptions(),
                              grpc::Status::OK, &C.Writing);
      Answering = nullptr;
    } else {
      C.Stream.Write(bufferOf(Message), &C.Writing);
    }
    while (!Wrote)
      if (!step(Until))
        return false;
    return Works;
  }
  bool receiveMessage(Deadline Until) override {
    for (Came = false; !Came && !Ended;)
      if (!step(Until))
        return false;
    return Came;
  }

  grpc::AsyncGenericService Service;
  std::unique_ptr<grpc::ServerCompletionQueue> Queue;
  std::unique_ptr<grpc::Server> Server;
  std::list<Call> Calls;
  Call *Session = nullptr, *Answering = nullptr;
  bool Came = false, Ended = false, Wrote = false, Works = false;
  bool Unheard = false; // something was sent since the last message
};

} // namespace

std::unique_ptr<RawEnd> makeGrpcPeer(const std::string &Address) {
  auto End = std::make_unique<RawGrpcPeer>(Address);
  if (!End->serves())
    return nullptr;
  return End;
}

} // namespace cbridge::conformance
