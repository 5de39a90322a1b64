//===- MethodServer.cpp - Serves the calls of one method ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/method/MethodServer.h"

#include <grpcpp/support/slice.h>

namespace cbridge {

/// Of why a call was refused: it travels in a header.
static constexpr size_t MaxReason = 1000;

/// How long it may take until we know that a trainer has given up a call.
static constexpr std::chrono::milliseconds Patience(20);

AskedCall::AskedCall(MethodServer &Of) : Of(Of) {
  for (int S = Accept; S < Steps; ++S)
    Tags[S] = {this, Step(S)};
}

/// A step is under way from now on. Posting is held.
void *AskedCall::begin(Step S) {
  ++UnderWay;
  handsOver(&Tags[S]);
  return &Tags[S];
}

void AskedCall::answer(const grpc::ByteBuffer &With) {
  std::lock_guard<std::mutex> Lock(Of.Posting);
  if (std::exchange(Ended, true) || Of.Stopped)
    return;
  Stream.WriteAndFinish(With, grpc::WriteOptions(), grpc::Status::OK,
                        begin(Finish));
}

void AskedCall::refuse(grpc::StatusCode Code, const std::string &Why) {
  std::lock_guard<std::mutex> Lock(Of.Posting);
  if (std::exchange(Ended, true) || Of.Stopped)
    return;
  Stream.Finish(grpc::Status(Code, Why.substr(0, MaxReason)), begin(Finish));
}

bool AskedCall::askAgain() {
  std::lock_guard<std::mutex> Lock(Of.Posting);
  if (std::exchange(Paused, true) || Of.Stopped)
    return false;
  Moment.Set(Of.Queue.get(), grpcTime(Deadline::in(Patience)), begin(Pause));
  return true;
}

/// Whose call it is, and for what.
void AskedCall::accepted() {
  if (!Of.Guard.allows(Context.client_metadata()))
    return refuse(grpc::StatusCode::UNAUTHENTICATED,
                  "the call has not the token of this compiler");
  if (Context.method() != Of.Path)
    return refuse(grpc::StatusCode::UNIMPLEMENTED,
                  "this compiler serves " + Of.Path);
  std::lock_guard<std::mutex> Lock(Of.Posting);
  if (!Of.Stopped)
    Stream.Read(&In, begin(Read));
}

void AskedCall::received() {
  std::vector<grpc::Slice> Slices;
  Size = In.Length();
  if (!In.Dump(&Slices).ok() || !Memory.reserve(Size + 1, 0))
    return refuse(grpc::StatusCode::RESOURCE_EXHAUSTED,
                  "no memory for the message");
  unsigned char *At = Memory.data();
  for (const grpc::Slice &Each : Slices) {
    std::memcpy(At, Each.begin(), Each.size());
    At += Each.size();
  }
  In.Clear();
  Of.To.asked(shared_from_this());
}

void AskedCall::done(Step S, bool Ok) {
  switch (S) {
  case Accept:
    if (!Ok) { // the server stops; nobody will leave
      std::lock_guard<std::mutex> Lock(Of.Posting);
      --UnderWay;
      return;
    }
    Of.acceptNext();
    return accepted();
  case Read:
    if (!Ok)
      return refuse(grpc::StatusCode::INVALID_ARGUMENT, "no message");
    received();
    if (Gone) // what it said counts
      Of.To.left(*this);
    return;
  case Pause:
    if (!Gone)
      Of.To.asked(shared_from_this());
    return;
  case Leave: // maybe before what it has sent
    Gone = true;
    return Of.To.left(*this);
  default:
    return;
  }
}

void MethodServer::acceptNext() {
  auto Next = std::make_shared<AskedCall>(*this);
  std::lock_guard<std::mutex> Lock(Posting);
  if (Stopped)
    return;
  Next->Self = Next;
  Next->Context.AsyncNotifyWhenDone(Next->begin(AskedCall::Leave));
  Service.RequestCall(&Next->Context, &Next->Stream, Queue.get(), Queue.get(),
                      Next->begin(AskedCall::Accept));
}

void MethodServer::done(void *Came, bool Ok) {
  auto *Tag = static_cast<AskedCall::Tag *>(Came);
  AskedCall &Call = *Tag->Of;
  Call.done(Tag->Which, Ok);
  std::shared_ptr<AskedCall> Last; // ends after the lock
  std::lock_guard<std::mutex> Lock(Posting);
  if (--Call.UnderWay == 0)
    Last = std::move(Call.Self);
}

} // namespace cbridge
