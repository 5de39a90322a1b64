//===- UnaryConnection.cpp - grpc: with mode=unary ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/channel/UnaryConnection.h"

#include "channel/Handshake.h"
#include "modules/grpc/ClientCall.h"
#include "os/File.h"

#include <algorithm>
#include <thread>

namespace cbridge {

namespace {

using std::chrono::milliseconds;

/// Between the tries to reach a server that restarts.
constexpr milliseconds FirstPause(10), LongestPause(1000);
/// How long a peer that has ended a session has to say why.
constexpr milliseconds LastWordTime(200);

std::string textOf(const Message &Payload) {
  std::string Text(asText(Payload.own()));
  for (Bytes Piece : Payload.lent())
    Text += asText(Piece);
  return Text;
}

class UnaryConnection : public Channel {
public:
  UnaryConnection(std::unique_ptr<Channel> Session,
                  std::shared_ptr<grpc::Channel> First, CallRoute Given)
      : Stream(std::move(Session)), Over(std::move(First)),
        Route(std::move(Given)), Process(os::processMark()),
        Calls(new UnaryCalls) {}
  ~UnaryConnection() override;

  Status send(FrameHeader Header, const Message &Payload,
              Deadline Until) override;
  Expected<Frame> receive(Deadline Until) override;
  std::shared_ptr<const void> keepPayload() override { return Came.keep(); }
  const std::string &name() const override { return Stream->name(); }
  bool ready() override { return false; }
  bool beginWait(os::FileSet &) override { return true; }
  void abandon(Deadline Until) override { Stream->abandon(Until); }

private:
  Status greet(const FrameHeader &Header, const Message &Payload,
               Deadline Until);
  Status checkSession();
  void call(const FrameHeader &Header, const Message &Payload, Deadline Until);
  Expected<Frame> welcome(Deadline Until);
  Expected<Frame> insteadOfServer(FrameKind Kind, const std::string &Text);
  Expected<Frame> whyEnded();
  Status untilAnswered(Deadline Until);
  Status tooLate(const std::string &Why = "") const {
    return Status::error(StatusCode::Timeout, "no answer from " + name() +
                                                  (Why.empty() ? "" : ": ") +
                                                  Why);
  }

  std::unique_ptr<Channel> Stream;
  std::shared_ptr<grpc::Channel> Over;
  const CallRoute Route;
  const uint64_t Process;
  UnaryCallsPointer Calls;
  FrameMessage Format;
  Inbox Came;
  std::string Context;
  std::optional<Frame> Early; // that the peer has said without being asked
  FrameHeader Latest;         // that we sent and that waits for its answer
  grpc::ByteBuffer Asked;
  std::string OwnWelcome;
  AlignedBuffer OwnText;
  bool Greeted = false;
  bool Plain = false; // the server knows no sessions
};

UnaryConnection::~UnaryConnection() {
  if (Process == os::processMark())
    return;
  leaveAlone(Calls);
  leaveAlone(Over);
}

Status UnaryConnection::greet(const FrameHeader &Header, const Message &Payload,
                              Deadline Until) {
  (void)makeMessage(Format, Header, Payload); // to learn
  std::string Said = textOf(Payload);
  Expected<Hello> Ours = Hello::decode(
      {reinterpret_cast<const unsigned char *>(Said.data()), Said.size()});
  if (!Ours)
    return Ours.status();
  OwnWelcome = encodeWelcome(Ours->Sig.outputs());
  return Stream->send(Header, Payload, Until);
}

void UnaryConnection::call(const FrameHeader &Header, const Message &Payload,
                           Deadline Until) {
  Asked = makeMessage(Format, Header, Payload, Context);
  if (Calls->pending()) // that one was given up
    Calls.reset(new UnaryCalls);
  Calls->begin(Over, Route.By, AdviceMethod, Asked, Until);
}

/// A call would connect again to a peer that is gone, or to another one in its
/// place, which do not know the session.
Status UnaryConnection::checkSession() {
  if (Plain || Early)
    return Status();
  Expected<Frame> Said = Stream->receive(Deadline::past());
  if (Said)
    Early = *Said;
  else if (Said.status().code() != StatusCode::Timeout)
    return Said.status();
  return Status();
}

Status UnaryConnection::send(FrameHeader Header, const Message &Payload,
                             Deadline Until) {
  Latest = Header;
  switch (Header.Kind) {
  case FrameKind::Hello:
    return greet(Header, Payload, Until);
  case FrameKind::Context: // each request tells it
    Context = textOf(Payload);
    return Status();
  case FrameKind::Request:
    if (Status S = checkSession(); !S || Early)
      return S;
    call(Header, Payload, Until);
    return Status();
  case FrameKind::End: {
    if (Plain) // it could not tell this from a question
      return Status();
    if (Status S = checkSession(); !S || Early)
      return S;
    call(Header, Payload, Until);
    // What follows must not overtake it.
    if (!Calls->await(Until))
      return tooLate();
    if (Calls->End.ok())
      return Status();
    Expected<Frame> Why = whyEnded();
    return !Why ? Why.status()
                : Status::error(StatusCode::PeerClosed,
                                name() + " ended the session: " +
                                    std::string(asText(Why->Payload)));
  }
  default:
    return Plain ? Status() : Stream->send(Header, Payload, Until);
  }
}

Expected<Frame> UnaryConnection::welcome(Deadline Until) {
  Expected<Frame> F = Stream->receive(Until);
  Greeted = true;
  Plain = !F && F.status().code() == StatusCode::Unsupported;
  if (!Plain)
    return F;
  return insteadOfServer(FrameKind::Welcome, OwnWelcome);
}

/// What a server that has no sessions would answer if it had.
Expected<Frame> UnaryConnection::insteadOfServer(FrameKind Kind,
                                                 const std::string &Text) {
  if (!OwnText.reserve(Text.size() + 1, 0))
    return Status::error(StatusCode::OutOfMemory, "no memory for a message");
  std::memcpy(OwnText.data(), Text.data(), Text.size());
  Frame Own;
  Own.Header = Latest;
  Own.Header.Kind = Kind;
  Own.Header.Flags = 0;
  Own.Header.Length = Text.size();
  Own.Payload = {OwnText.data(), Text.size()};
  return Own;
}

/// After a call that failed in a session: what the peer has said last.
Expected<Frame> UnaryConnection::whyEnded() {
  Status Why = failedCall(name(), Calls->End);
  if (Why.code() == StatusCode::Timeout)
    return Why;
  Expected<Frame> Said = Stream->receive(Deadline::in(LastWordTime));
  if (Said || Said.status().code() != StatusCode::Timeout)
    return Said;
  if (Why.code() == StatusCode::PeerError)
    return Status::error(StatusCode::PeerClosed,
                         name() + " ended the session: " + Why.message());
  return Why;
}

/// Tries a plain server again that is not there. It knows no sessions, so a
/// request that comes twice does no harm.
Status UnaryConnection::untilAnswered(Deadline Until) {
  for (milliseconds Pause = FirstPause;;
       Pause = std::min(2 * Pause, LongestPause)) {
    if (!Calls->await(Until))
      return tooLate();
    if (!Plain || Calls->End.error_code() != grpc::StatusCode::UNAVAILABLE)
      return Status();
    auto Left = Until.remaining();
    std::this_thread::sleep_for(
        std::min<std::chrono::nanoseconds>(Pause, Left));
    if (Until.passed())
      return tooLate(Calls->End.error_message().substr(0, 500));
    NoInterruptions During; // which gRPC's threads inherit
    // It would not connect again so soon by itself.
    Over = makeChannel(Route.To, Route.By, Route.MaxMessage);
    Calls->begin(Over, Route.By, AdviceMethod, Asked, Until);
  }
}

Expected<Frame> UnaryConnection::receive(Deadline Until) {
  if (!Greeted)
    return welcome(Until);
  if (Early) {
    Frame Last = *Early;
    Early.reset();
    return Last;
  }
  if (Status S = untilAnswered(Until); !S)
    return S;
  if (!Calls->End.ok() && !Plain)
    return whyEnded();
  if (!Calls->End.ok()) {
    Status Why = failedCall("the server", Calls->End);
    if (Why.code() == StatusCode::PeerError) // of this decision only
      return insteadOfServer(FrameKind::Failure, Why.message());
    return failedCall(name(), Calls->End);
  }
  FrameMessage::Unary Advice;
  Advice.Unsaid = FrameKind::Reply;
  Expected<Frame> F =
      Came.take(Format, Calls->Answer, Route.MaxMessage, &Advice);
  Calls->Answer.Clear();
  if (!F && Plain) // the next one may be right
    return insteadOfServer(FrameKind::Failure,
                           "a wrong Advice: " + F.status().message());
  if (!F)
    return F.status().withContext(name());
  // The call itself tells what is answered; it may say so.
  if (Plain && !F->Header.Session)
    F->Header.Session = Latest.Session;
  if (Plain && !F->Header.Sequence)
    F->Header.Sequence = Latest.Sequence;
  return F;
}

} // namespace

std::unique_ptr<Channel> askByCalls(std::unique_ptr<Channel> Stream,
                                    std::shared_ptr<grpc::Channel> First,
                                    CallRoute Route) {
  return std::make_unique<UnaryConnection>(std::move(Stream), std::move(First),
                                           std::move(Route));
}

} // namespace cbridge
