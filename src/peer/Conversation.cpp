//===- Conversation.cpp - A peer's session with one compiler --------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "peer/Conversation.h"

#include "channel/Handshake.h"

#include <cmath>

namespace cbridge {

/// A compiler has a runner per thread; more than this is a mistake or an attack
/// on our memory.
static constexpr size_t MaxRunners = 4096;

std::shared_ptr<Question> Conversation::freshQuestion() {
  std::shared_ptr<Question> Q = Questions.take();
  Q->release();
  return Q;
}

Conversation::Answer
Conversation::endOf(uint32_t Of, std::optional<double> Reward, bool Truncated) {
  auto Open = OpenEpisodes.extract(Of);
  if (!Open)
    return nullptr; // it has asked nothing
  std::shared_ptr<Question> Q = freshQuestion();
  Q->beginEnd(std::move(Open.mapped()), Reward, Truncated);
  return Q;
}

Conversation::Answer Conversation::nextEnd() {
  if (OpenEpisodes.empty())
    return nullptr;
  return endOf(OpenEpisodes.begin()->first, std::nullopt,
               /*Truncated=*/!SaidBye);
}

/// Gives the session up; open episodes end with it.
void Conversation::breakOff(const Status &Why) {
  if (Options.OnSessionError)
    Options.OnSessionError(Why);
  if (Over && Why.code() != StatusCode::PeerClosed) {
    // Let the compiler know, if it listens.
    if (setText(Outgoing, Why.message()).ok())
      (void)answer(FrameKind::Failure,
                   Deadline::in(std::chrono::milliseconds(100)),
                   FrameHeader::EndsSession);
  }
  Awaiting = false;
  Over.reset();
}

Status Conversation::answer(FrameKind Kind, Deadline Until, uint32_t Flags) {
  FrameHeader H;
  H.Kind = Kind;
  H.Flags = Flags;
  H.Session = Session;
  H.Sequence = Sequence;
  H.Runner = Runner;
  return Over->send(H, Outgoing, Until);
}

Status Conversation::reply(Deadline Until) {
  Awaiting = false;
  Status S = With->encode(Decision.views(), Outgoing);
  if (S.ok())
    S = answer(FrameKind::Reply, Until);
  if (!S.ok())
    breakOff(S);
  return S;
}

Status Conversation::fail(std::string_view Why) {
  Awaiting = false;
  if (Status Set = setText(Outgoing, Why); !Set)
    return Set;
  Status Sent =
      answer(FrameKind::Failure, Deadline::in(std::chrono::seconds(10)));
  if (!Sent.ok())
    breakOff(Sent);
  return Sent;
}

Status Conversation::greet(const Frame &F) {
  Expected<Hello> H = Hello::decode(F.Payload);
  if (!H)
    return H.status();
  auto Terms = std::make_shared<cbridge::Terms>();
  Terms->Session = F.Header.Session;
  Terms->Serial = Serial;
  Terms->Address = Address;
  Terms->Sig = std::move(H->Sig);
  Terms->Features =
      std::make_shared<std::vector<TensorSpec>>(Terms->Sig.inputs());
  Agreed = Terms;
  Expected<std::unique_ptr<Serializer>> Codec = makeSerializer(H->Serdes);
  if (!Codec)
    return Status::error(StatusCode::Unsupported, Codec.status().message());
  With = std::move(*Codec);
  if (Status S = checkSpecs(Options.Expects.inputs(), Terms->Sig.inputs(),
                            "feature", "peer wants", "compiler sends");
      !S)
    return S;
  if (!Options.Expects.outputs().empty())
    if (Status S = checkSpecs(Terms->Sig.outputs(), Options.Expects.outputs(),
                              "decision", "compiler wants", "peer gives");
        !S)
      return S;
  Expected<TensorStorage> Made = Over->makeTensors(Terms->Sig.outputs());
  if (!Made)
    return Made.status();
  Decision = std::move(*Made);
  if (Options.Lend && With->decodesLent())
    Over->lendPayloads();
  if (Status S = setText(Outgoing, encodeWelcome(Terms->Sig.outputs())); !S)
    return S;
  // Others wait meanwhile.
  return answer(FrameKind::Welcome, Deadline::in(std::chrono::seconds(2)));
}

Expected<Conversation::Answer> Conversation::question(const Frame &F) {
  if (F.Header.Sequence != Sequence + 1)
    return Status::error(StatusCode::Protocol,
                         "request " + std::to_string(F.Header.Sequence) +
                             " after " + std::to_string(Sequence));
  Sequence = F.Header.Sequence;
  Runner = F.Header.Runner;
  std::shared_ptr<Question> Q = freshQuestion();
  Q->begin(Agreed, F.Header, Context);
  Status S = F.Lent.empty() ? With->decode(F.Payload, Q->Tensors)
                            : With->decodeLent(F.Payload, F.Lent, Q->Tensors);
  if (!S.ok())
    return S;
  Q->Payload = Over->keepPayload();
  OpenEpisodes.insert_or_assign(Runner, Q);
  if (OpenEpisodes.size() > MaxRunners)
    return Status::error(StatusCode::Protocol, "more than " +
                                                   std::to_string(MaxRunners) +
                                                   " runners in one session");
  Awaiting = true;
  OpenQuestion = Q.get();
  return Answer(std::move(Q));
}

/// What a frame means: something for the policy, nothing (null), or the end of
/// this session.
Expected<Conversation::Answer> Conversation::handle(const Frame &F) {
  const FrameHeader &H = F.Header;
  if (!Agreed) {
    if (H.Kind != FrameKind::Hello)
      return Status::error(StatusCode::Protocol,
                           "the session does not start with a hello");
    Session = H.Session;
    if (Status S = greet(F); !S)
      return S;
    return Answer();
  }
  if (H.Session != Agreed->Session)
    return Status::error(StatusCode::Protocol, "a frame of another session");
  if ((H.Flags & FrameHeader::HasReward) && !std::isfinite(H.Reward))
    return Status::error(StatusCode::Protocol, "a reward that is not finite");
  switch (H.Kind) {
  case FrameKind::Request:
    return question(F);
  case FrameKind::Context:
    Context = asText(F.Payload);
    return Answer();
  case FrameKind::End: {
    std::optional<double> Reward;
    if (H.Flags & FrameHeader::HasReward)
      Reward = H.Reward;
    return endOf(H.Runner, Reward,
                 /*Truncated=*/H.Flags & FrameHeader::CutShort);
  }
  case FrameKind::Bye:
    SaidBye = true;
    return Answer();
  default:
    return Status::error(StatusCode::Protocol, "a frame of kind " +
                                                   std::to_string(int(H.Kind)) +
                                                   " from a compiler");
  }
}

Expected<Conversation::Answer> Conversation::fetch(Deadline Until) {
  Expected<Frame> F = Over->receive(Until);
  if (!F) {
    if (F.status().code() == StatusCode::Timeout)
      return F.status();
    // Compilers may end without a goodbye: plugins are not told in time.
    bool Idle = Agreed && OpenEpisodes.empty() && !Over->hasPart();
    if (F.status().code() == StatusCode::PeerClosed && (SaidBye || Idle))
      Over.reset();
    else
      breakOff(F.status());
    return Answer();
  }
  Expected<Answer> A = handle(*F);
  if (A)
    return A;
  breakOff(A.status());
  return Answer();
}

} // namespace cbridge
