//===- RemoteSession.cpp - A compiler's conversation with a peer ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/remote/RemoteSession.h"

#include "channel/Handshake.h"
#include "os/File.h"

#include <cmath>

namespace cbridge {

RemoteSession::RemoteSession(std::unique_ptr<Channel> Over,
                             std::unique_ptr<Serializer> With,
                             const Signature &Sig,
                             std::chrono::nanoseconds Timeout)
    : Over(std::move(Over)), With(std::move(With)), Timeout(Timeout),
      Id(os::randomId()), Process(os::processMark()),
      Incoming(std::make_shared<std::vector<TensorSpec>>(Sig.outputs())) {}

Expected<std::shared_ptr<RemoteSession>>
RemoteSession::open(std::unique_ptr<Channel> Over, const std::string &Serdes,
                    const Signature &Sig, std::chrono::nanoseconds Timeout,
                    Deadline Until) {
  Expected<std::unique_ptr<Serializer>> With = makeSerializer(Serdes);
  if (!With)
    return With.status();
  auto Session = std::make_shared<RemoteSession>(
      std::move(Over), std::move(*With), Sig, Timeout);
  Status S = Session->introduce(Serdes, Sig, Until);
  if (!S.ok()) {
    Session->Over->abandon(Deadline::in(std::chrono::seconds(0)));
    Session->Over.reset(); // no goodbye
    return S;
  }
  return Session;
}

RemoteSession::~RemoteSession() {
  if (!Over || Process != os::processMark())
    return;
  Outgoing.clear();
  // A peer that does not listen any more finds out by the hang-up.
  (void)Over->send(header(FrameKind::Bye, 0, Call()), Outgoing,
                   Deadline::in(std::chrono::milliseconds(100)));
}

FrameHeader RemoteSession::header(FrameKind Kind, uint32_t Runner,
                                  const Call &C) const {
  FrameHeader H;
  H.Kind = Kind;
  H.Runner = Runner;
  H.Session = Id;
  H.Sequence = Sequence;
  if (C.Reward) {
    H.Flags |= FrameHeader::HasReward;
    H.Reward = *C.Reward;
  }
  if (C.Truncated)
    H.Flags |= FrameHeader::CutShort;
  return H;
}

TensorStorage RemoteSession::takeFeatures(const Signature &Sig) {
  std::lock_guard<std::mutex> Lock(Turn);
  if (!Features)
    return TensorStorage(Sig.inputs());
  TensorStorage Taken = std::move(*Features);
  Features.reset();
  return Taken;
}

Status RemoteSession::introduce(const std::string &Serdes, const Signature &Sig,
                                Deadline Until) {
  Expected<TensorStorage> Made = Over->makeTensors(Sig.inputs());
  if (!Made)
    return Made.status();
  Features = std::move(*Made);
  if (Status S = setText(Outgoing, Hello{Serdes, Sig}.encode()); !S)
    return S;
  if (Status S =
          Over->send(header(FrameKind::Hello, 0, Call()), Outgoing, Until);
      !S)
    return S;
  Expected<Frame> F = answer(FrameKind::Welcome, Until);
  if (!F)
    return F.status();
  Expected<std::vector<TensorSpec>> Decision = decodeWelcome(F->Payload);
  if (!Decision)
    return Decision.status().withContext(Over->name());
  if (Status S = checkSpecs(Sig.outputs(), *Decision, "decision", "pass wants",
                            "peer gives");
      !S)
    return S;
  return checkSpecs(*Decision, Sig.outputs(), "decision", "peer gives",
                    "pass wants");
}

/// Asked before taking a turn: in a forked child, the turn may be that of a
/// thread which was not copied, and never end.
Status RemoteSession::ours() const {
  if (Process == os::processMark())
    return Status();
  return Status::error(StatusCode::Forked,
                       "this model was opened before the process forked; "
                       "open it again");
}

Status RemoteSession::closeOnTransportError(Status S) {
  if (S.isTransport()) {
    WhyClosed = S;
    // One that hung up by itself may have a last word for standard error.
    bool HungUp = S.code() == StatusCode::PeerClosed;
    Over->abandon(Deadline::in(std::chrono::milliseconds(HungUp ? 500 : 0)));
    Over.reset();
  }
  return S;
}

/// The next frame, if it is the one that the peer has to send now.
Expected<Frame> RemoteSession::answer(FrameKind Wanted, Deadline Until) {
  Expected<Frame> F = Over->receive(Until);
  if (!F) {
    if (F.status().code() != StatusCode::Timeout)
      return F;
    auto Milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(Timeout);
    return Status::error(StatusCode::Timeout,
                         F.status().message() + " within " +
                             std::to_string(Milliseconds.count()) + " ms");
  }
  auto Wrong = [&](const std::string &Why) {
    return Status::error(StatusCode::Protocol, Over->name() + " " + Why);
  };
  const FrameHeader &H = F->Header;
  std::string Why;
  if (H.Kind == FrameKind::Failure)
    Why = asText(F->Payload).substr(0, 2000);
  // It may give up before it knows which session and request this is.
  bool GivesUp =
      H.Kind == FrameKind::Failure && (H.Flags & FrameHeader::EndsSession);
  if (H.Session != Id && !(GivesUp && H.Session == 0))
    return Wrong("answers another session");
  if (GivesUp)
    return Status::error(StatusCode::PeerClosed,
                         Over->name() + " ended the session: " + Why);
  if (H.Sequence != Sequence)
    return Wrong("answers request " + std::to_string(H.Sequence) +
                 " instead of " + std::to_string(Sequence));
  if (H.Kind == FrameKind::Failure)
    return Status::error(StatusCode::PeerError, Over->name() + ": " + Why);
  if (H.Kind != Wanted)
    return Wrong("sends a frame of kind " + std::to_string(int(H.Kind)) +
                 ", expected " + std::to_string(int(Wanted)));
  return F;
}

Status RemoteSession::sendContext(const Call &C, Deadline Until) {
  if (C.Context == Context)
    return Status();
  if (Status S = setText(Outgoing, C.Context); !S)
    return S;
  if (Status S =
          Over->send(header(FrameKind::Context, 0, Call()), Outgoing, Until);
      !S)
    return S;
  Context = C.Context;
  return Status();
}

Status RemoteSession::decide(uint32_t Runner, const TensorStorage &Features,
                             const Call &C, TensorStorage &Outputs) {
  if (Status S = ours(); !S)
    return S;
  std::lock_guard<std::mutex> Lock(Turn);
  if (!WhyClosed.ok())
    return WhyClosed;
  Deadline Until = C.Until & Deadline::in(Timeout);
  if (Status S = sendContext(C, Until); !S)
    return closeOnTransportError(S);
  if (Status S = With->encode(Features.views(), Outgoing); !S)
    return S;
  ++Sequence;
  if (Status S =
          Over->send(header(FrameKind::Request, Runner, C), Outgoing, Until);
      !S)
    return closeOnTransportError(S);
  Expected<Frame> F = answer(FrameKind::Reply, Until);
  if (!F)
    return closeOnTransportError(F.status());
  if (Status S = With->decode(F->Payload, Incoming); !S)
    return closeOnTransportError(S.withContext(Over->name()));
  for (size_t I = 0; I < Outputs.size(); ++I)
    if (Status S = Outputs.assign(I, Incoming.Views[I]); !S)
      return S;
  return Status();
}

Status RemoteSession::endEpisode(uint32_t Runner, const Call &C) {
  if (Status S = ours(); !S)
    return S;
  std::lock_guard<std::mutex> Lock(Turn);
  if (!WhyClosed.ok())
    return WhyClosed;
  Outgoing.clear();
  return closeOnTransportError(Over->send(header(FrameKind::End, Runner, C),
                                          Outgoing, Deadline::in(Timeout)));
}

} // namespace cbridge
