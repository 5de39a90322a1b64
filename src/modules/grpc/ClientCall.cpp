//===- ClientCall.cpp - What clients of gRPC share ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/ClientCall.h"

#include "os/Socket.h"

#include <cassert>
#include <cerrno>

namespace cbridge {

StreamCall::~StreamCall() {
  if (Stream)
    Context.TryCancel();
  Queue.Shutdown();
  void *Tag;
  bool Ok;
  NoInterruptions During;
  while (Queue.Next(&Tag, &Ok)) {
  }
  Stream.reset();
  Channel.reset();
}

bool StreamCall::await(Step S, Deadline Until) {
  if (!Pending[S])
    return true;
  NoInterruptions During;
  auto Time = grpcTime(Until);
  while (Pending[S]) {
    void *Tag;
    bool Ok;
    if (Queue.AsyncNext(&Tag, &Ok, Time) != grpc::CompletionQueue::GOT_EVENT)
      return false;
    size_t Which = size_t(static_cast<bool *>(Tag) - Pending);
    Pending[Which] = false;
    Worked[Which] = Ok;
  }
  return true;
}

UnaryCalls::~UnaryCalls() {
  if (Pending)
    Context->TryCancel();
  Queue.Shutdown();
  void *Tag;
  bool Ok;
  NoInterruptions During;
  while (Queue.Next(&Tag, &Ok)) {
  }
}

void UnaryCalls::begin(const std::shared_ptr<grpc::Channel> &Over,
                       const Security &By, const std::string &Path,
                       const grpc::ByteBuffer &Asked, Deadline Until) {
  assert(!Pending && "one at a time");
  Answer.Clear();
  Reader.reset();
  Context.emplace();
  if (!Until.isNever())
    Context->set_deadline(grpcTime(Until));
  By.sign(*Context);
  Reader =
      grpc::GenericStub(Over).PrepareUnaryCall(&*Context, Path, Asked, &Queue);
  Reader->StartCall();
  Reader->Finish(&Answer, &End, this);
  Pending = true;
}

bool UnaryCalls::await(Deadline Until) {
  NoInterruptions During;
  void *Tag;
  bool Ok;
  if (Pending && Queue.AsyncNext(&Tag, &Ok, grpcTime(Until)) ==
                     grpc::CompletionQueue::GOT_EVENT)
    Pending = false;
  return !Pending;
}

/// What a channel that does not connect says: only a call gets to know it.
static std::string whyNotConnected(const std::shared_ptr<grpc::Channel> &Made,
                                   Deadline Until) {
  grpc::CompletionQueue Queue;
  grpc::ClientContext Context;
  grpc::Status Why;
  Context.set_deadline(grpcTime(Until));
  grpc::ByteBuffer Nothing, Answer;
  auto Call = grpc::GenericStub(Made).PrepareUnaryCall(&Context, ConverseMethod,
                                                       Nothing, &Queue);
  Call->StartCall();
  Call->Finish(&Answer, &Why, &Answer);
  void *Tag;
  bool Ok;
  Queue.Next(&Tag, &Ok);
  Queue.Shutdown();
  while (Queue.Next(&Tag, &Ok)) {
  }
  return Why.error_message().substr(0, 500);
}

PeerProcess::Attempt tryChannel(const GrpcAddress &To, const Security &By,
                                size_t MaxMessage, Deadline Until,
                                const std::string &Name,
                                std::unique_ptr<GrpcLibrary> &Library,
                                std::shared_ptr<grpc::Channel> &Made,
                                Status &Why) {
  using Attempt = PeerProcess::Attempt;
  // A peer that is not there must not cost the threads of gRPC.
  int Errno = 0;
  if (!To.Path.empty() && !os::connectUnix(To.Path, &Errno)) {
    Why = nobodyServes(Name, Errno == ENOENT ? "its socket is not there"
                                             : "its peer is gone");
    return Attempt::Absent;
  }
  auto Failed = [&](Attempt How, Status Because) {
    Why = std::move(Because);
    Made.reset();
    Library.reset();
    return How;
  };
  NoInterruptions During; // which gRPC's threads inherit
  Library = std::make_unique<GrpcLibrary>();
  Made = makeChannel(To, By, MaxMessage);
  for (;;) {
    grpc_connectivity_state State = Made->GetState(/*try_to_connect=*/true);
    if (State == GRPC_CHANNEL_READY)
      return Attempt::Connected;
    if (State == GRPC_CHANNEL_TRANSIENT_FAILURE ||
        State == GRPC_CHANNEL_SHUTDOWN) {
      const std::string Said = whyNotConnected(Made, Until);
      auto Says = [&](const char *What) {
        return Said.find(What) != Said.npos;
      };
      auto Unusable = [&](const char *Text) {
        std::string Whole = Name;
        Whole.append(Text).append(Said);
        return Status::error(StatusCode::Unavailable, Whole);
      };
      if (By.usesTls() && (Says("andshake") || Says("certificate")))
        return Failed(Attempt::Failed, Unusable(": no TLS with it: "));
      if (Says("DNS") || Says("esolution"))
        return Failed(Attempt::Failed, Unusable(": no such host: "));
      if (Says("onnection refused") || Says("No such file"))
        return Failed(Attempt::Absent,
                      nobodyServes(Name, "it takes no connection"));
      return Failed(Attempt::Absent,
                    Unusable(By.hasCertificate()
                                 ? ": no gRPC with it; tls_key= may not be the "
                                   "key of tls_cert=: "
                             : By.usesTls()
                                 ? ": no gRPC with it; it may want tls_cert=: "
                                 : ": no gRPC with it; it may want tls_ca=: "));
    }
    if (!Made->WaitForStateChange(State, grpcTime(Until)))
      return Failed(Attempt::Failed,
                    Status::error(StatusCode::Timeout,
                                  Name + " does not speak gRPC, or is too "
                                         "slow"));
  }
}

} // namespace cbridge
