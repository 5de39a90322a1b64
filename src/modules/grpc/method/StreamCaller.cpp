//===- StreamCaller.cpp - One stream for many messages --------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/ClientCall.h"
#include "modules/grpc/method/MethodCaller.h"

namespace cbridge {

namespace {

using std::chrono::milliseconds;

/// How long a server has to end a stream when the runner goes away.
constexpr milliseconds GoodbyeTime(200);

class StreamCaller : public MethodCaller {
public:
  StreamCaller(const MethodRoute &Route, std::shared_ptr<grpc::Channel> Channel)
      : Route(Route), Over(std::move(Channel)) {}
  ~StreamCaller() override { finish(Deadline::in(GoodbyeTime)); }

  Expected<Bytes> ask(const Message &Sent, Deadline Until) override;
  Status tell(const Message &Sent, Deadline Until) override;

private:
  Status open(Deadline Until);
  Status write(const Message &Sent, Deadline Until);
  void read() { C->Stream->Read(&C->In, C->begin(StreamCall::Reading)); }
  /// Whether something has come that nobody has asked for.
  Status checkIdle();
  /// After a step that did not work; the stream is gone then.
  Status whyEnded(Deadline Until);
  Status tooLate() {
    C.reset();
    return Route.tooLate();
  }
  /// Lets the server end the stream.
  void finish(Deadline Until);

  GrpcLibrary Library; // first, so that it ends last
  const MethodRoute &Route;
  std::shared_ptr<grpc::Channel> Over;
  StreamCallPointer C;
  ReceivedMessage Received;
};

Status StreamCaller::whyEnded(Deadline Until) {
  C->Stream->Finish(&C->End, C->begin(StreamCall::Ending));
  bool Known =
      C->await(StreamCall::Ending, Until & Deadline::in(milliseconds(1000)));
  grpc::Status End = C->End;
  C.reset();
  // Another connection for the next stream: this one would pause first.
  Over.reset();
  auto Ended = [&](const std::string &Why) {
    return Status::error(StatusCode::PeerError,
                         Route.Name + " ended the stream" +
                             (Why.empty() ? "" : ": ") + Why);
  };
  if (!Known)
    return Ended("");
  // A stream that is dead is begun again, so this is about one decision.
  switch (End.error_code()) {
  case grpc::StatusCode::OK:
  case grpc::StatusCode::UNAVAILABLE:
  case grpc::StatusCode::CANCELLED:
    return Ended(End.error_message().substr(0, 500));
  default:
    return Route.failed(End);
  }
}

Status StreamCaller::checkIdle() {
  if (!C || !C->await(StreamCall::Reading, Deadline::past()))
    return Status();
  bool Unasked = C->Worked[StreamCall::Reading];
  C.reset();
  if (!Unasked) {
    Over.reset();
    return Status();
  }
  return Status::error(StatusCode::Protocol,
                       Route.Name + " sends what nobody has asked for");
}

Status StreamCaller::open(Deadline Until) {
  NoInterruptions During; // which gRPC's threads inherit
  if (!Over)
    Over = Route.channel();
  C.reset(new StreamCall);
  C->Channel = Over;
  Route.By.sign(C->Context);
  C->Stream =
      grpc::GenericStub(Over).PrepareCall(&C->Context, Route.Path, &C->Queue);
  C->Stream->StartCall(C->begin(StreamCall::Starting));
  if (!C->await(StreamCall::Starting, Until))
    return tooLate();
  if (!C->Worked[StreamCall::Starting]) {
    Status Why = whyEnded(Until);
    // There was no stream that could be begun again.
    return Why.code() == StatusCode::PeerError
               ? Status::error(StatusCode::Unavailable, Why.message())
               : Why;
  }
  read();
  return Status();
}

Status StreamCaller::write(const Message &Sent, Deadline Until) {
  if (Status S = checkIdle(); !S)
    return S;
  if (!C)
    if (Status S = open(Until); !S)
      return S;
  grpc::ByteBuffer Out = copied(Sent);
  C->Stream->Write(Out, C->begin(StreamCall::Writing));
  if (!C->await(StreamCall::Writing, Until))
    return tooLate();
  // One that did not work shows in what is read.
  return Status();
}

Expected<Bytes> StreamCaller::ask(const Message &Sent, Deadline Until) {
  if (Status S = write(Sent, Until); !S)
    return S;
  if (!C->await(StreamCall::Reading, Until))
    return tooLate();
  if (!C->Worked[StreamCall::Reading])
    return whyEnded(Until);
  Expected<Bytes> Reply = Received.take(C->In);
  read();
  return Reply;
}

Status StreamCaller::tell(const Message &Sent, Deadline Until) {
  if (Status S = write(Sent, Until); !S)
    return S;
  finish(Until);
  return Status();
}

void StreamCaller::finish(Deadline Until) {
  if (!C)
    return;
  C->Stream->WritesDone(C->begin(StreamCall::Closing));
  if (C->await(StreamCall::Closing, Until))
    while (C->await(StreamCall::Reading, Until) &&
           C->Worked[StreamCall::Reading])
      read();
  C.reset();
}

} // namespace

std::unique_ptr<MethodCaller>
callByStream(const MethodRoute &Route, std::shared_ptr<grpc::Channel> Channel) {
  return std::make_unique<StreamCaller>(Route, std::move(Channel));
}

} // namespace cbridge
