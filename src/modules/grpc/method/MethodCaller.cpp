//===- MethodCaller.cpp - One call per message ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/method/MethodCaller.h"

#include "modules/grpc/ClientCall.h"

#include <algorithm>
#include <thread>

namespace cbridge {

using std::chrono::milliseconds;

std::shared_ptr<grpc::Channel> MethodRoute::channel() const {
  NoInterruptions During; // which gRPC's threads inherit
  return makeChannel(To, By, MaxMessage);
}

Status MethodRoute::failed(const grpc::Status &How) const {
  if (How.error_code() == grpc::StatusCode::UNIMPLEMENTED)
    return Status::error(StatusCode::Protocol,
                         Name + " does not serve " + Path + ": " +
                             How.error_message().substr(0, 500));
  // Ours would have been found out before.
  if (How.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
    return Status::error(StatusCode::PeerError,
                         Name +
                             " gave up: " + How.error_message().substr(0, 500));
  return failedCall(Name, How);
}

Status MethodRoute::tooLate(const std::string &Why) const {
  return Status::error(StatusCode::Timeout, "no answer from " + Name +
                                                (Why.empty() ? "" : ": ") +
                                                Why);
}

grpc::ByteBuffer copied(const Message &From) {
  grpc_slice Whole = grpc_slice_malloc(From.size());
  uint8_t *At = GRPC_SLICE_START_PTR(Whole);
  auto Append = [&](Bytes Piece) {
    if (!Piece.empty())
      std::memcpy(At, Piece.data(), Piece.size());
    At += Piece.size();
  };
  Append(From.own());
  for (Bytes Piece : From.lent())
    Append(Piece);
  grpc::Slice One(Whole, grpc::Slice::STEAL_REF);
  return {&One, 1};
}

Expected<Bytes> ReceivedMessage::take(grpc::ByteBuffer &From) {
  grpc::Status S = From.TrySingleSlice(&Held);
  if (!S.ok())
    S = From.DumpToSingleSlice(&Held);
  From.Clear();
  if (!S.ok())
    return Status::error(StatusCode::Protocol, "a message without bytes");
  return Bytes(Held.begin(), Held.size());
}

namespace {

/// Between the tries to reach a server that restarts.
constexpr milliseconds FirstPause(10), LongestPause(1000);

constexpr milliseconds Rounding(100);

class UnaryCaller : public MethodCaller {
public:
  UnaryCaller(const MethodRoute &Route, std::shared_ptr<grpc::Channel> Channel)
      : Route(Route), Over(std::move(Channel)) {}

  Expected<Bytes> ask(const Message &Sent, Deadline Until) override {
    if (Status S = call(Sent, Until, /*Patient=*/true); !S)
      return S;
    return Received.take(Calls->Answer);
  }
  Status tell(const Message &Sent, Deadline Until) override {
    return call(Sent, Until, /*Patient=*/false);
  }

private:
  /// Patient: a server that is not there may be restarting.
  Status call(const Message &Sent, Deadline Until, bool Patient);
  /// One call; it is over when this returns.
  grpc::Status once(const grpc::ByteBuffer &Asked, Deadline Until);

  GrpcLibrary Library; // first, so that it ends last
  const MethodRoute &Route;
  std::shared_ptr<grpc::Channel> Over;
  UnaryCallsPointer Calls;
  ReceivedMessage Received;
};

grpc::Status UnaryCaller::once(const grpc::ByteBuffer &Asked, Deadline Until) {
  if (!Calls)
    Calls.reset(new UnaryCalls);
  // The server gets to know it, too. A little later, since gRPC rounds: we do
  // not give up before our time.
  Deadline Known =
      Until.isNever() ? Until : Deadline::at(Until.end() + Rounding);
  Calls->begin(Over, Route.By, Route.Path, Asked, Known);
  if (Calls->await(Until))
    return Calls->End;
  Calls.reset();
  return {grpc::StatusCode::DEADLINE_EXCEEDED, ""};
}

Status UnaryCaller::call(const Message &Sent, Deadline Until, bool Patient) {
  grpc::ByteBuffer Asked = copied(Sent);
  std::string Why;
  for (milliseconds Pause = FirstPause;;
       Pause = std::min(2 * Pause, LongestPause)) {
    // It would not connect again so soon by itself.
    if (!Over)
      Over = Route.channel();
    grpc::Status End = once(Asked, Until);
    if (End.ok())
      return Status();
    if (Until.passed())
      return Route.tooLate(Why);
    if (!Patient || End.error_code() != grpc::StatusCode::UNAVAILABLE)
      return Route.failed(End);
    Why = End.error_message().substr(0, 500);
    Over.reset();
    std::this_thread::sleep_for(
        std::min<std::chrono::nanoseconds>(Pause, Until.remaining()));
    if (Until.passed())
      return Route.tooLate(Why);
  }
}

} // namespace

std::unique_ptr<MethodCaller>
callOncePerMessage(const MethodRoute &Route,
                   std::shared_ptr<grpc::Channel> Channel) {
  return std::make_unique<UnaryCaller>(Route, std::move(Channel));
}

} // namespace cbridge
