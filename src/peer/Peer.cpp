//===- Peer.cpp - The model's end of a channel ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Peer.h>

#include "channel/Channel.h"
#include "channel/Handshake.h"
#include "core/Recycler.h"
#include "serdes/Serializer.h"

#include <cmath>
#include <cstdlib>
#include <map>

#include <unistd.h>

namespace cbridge {

Request::~Request() = default;

namespace {

/// A compiler has a runner per thread; more than this is a mistake or an attack
/// on our memory.
constexpr size_t MaxRunners = 4096;

/// What the questions of one session have in common.
struct Terms {
  uint64_t Session = 0;
  Signature Sig;
  DecodedTensors::SpecList Features;
};

class Question : public Request {
public:
  Question() : Tensors(std::make_shared<std::vector<TensorSpec>>()) {}
  const Signature &signature() const override { return Of->Sig; }
  TensorView feature(size_t I) const override { return Tensors.Views[I]; }

  /// Makes it a question of T with no features yet.
  void begin(std::shared_ptr<const Terms> T, const FrameHeader &H,
             const std::string &About) {
    Of = std::move(T);
    Session = Of->Session;
    Runner = H.Runner;
    Context = About;
    Reward.reset();
    if (H.Flags & FrameHeader::HasReward)
      Reward = H.Reward;
    Done = Truncated = false;
    Tensors.describe(Of->Features);
  }
  /// Makes it the end of the episode whose latest question was Last.
  void beginEnd(std::shared_ptr<const Question> Last,
                std::optional<double> LastReward, bool Broken) {
    Of = Last->Of;
    Session = Last->Session;
    Runner = Last->Runner;
    Context = Last->Context;
    Reward = LastReward;
    Done = true;
    Truncated = Broken;
    Tensors.describe(Of->Features);
    Tensors.Views = Last->Tensors.Views;
    Before = std::move(Last); // which the views point into
  }
  void release() {
    Payload.reset();
    Before.reset();
  }

  DecodedTensors Tensors;
  std::shared_ptr<const AlignedBuffer> Payload;

private:
  std::shared_ptr<const Terms> Of;
  std::shared_ptr<const Question> Before;
};

/// One compiler, from its hello on.
struct Conversation {
  explicit Conversation(std::unique_ptr<Channel> Over)
      : Over(std::move(Over)), Decision({}) {}

  std::unique_ptr<Channel> Over;
  std::shared_ptr<const Terms> Agreed; // null before hello
  std::unique_ptr<Serializer> With;
  TensorStorage Decision;
  Message Outgoing;
  std::string Context;
  uint64_t Session = 0, Sequence = 0;
  uint32_t Runner = 0;   // of the open question
  bool Awaiting = false; // there is an open question
  bool SaidBye = false;
  /// The latest question of each runner whose episode is not over.
  std::map<uint32_t, std::shared_ptr<const Question>> OpenEpisodes;
};

} // namespace

class Peer::Server {
public:
  Server(std::string Address, PeerOptions Options, bool Spawned)
      : Address(std::move(Address)), Options(std::move(Options)) {
    if (Spawned && !this->Options.Sessions)
      this->Options.Sessions = 1;
  }

  Expected<std::shared_ptr<const Request>> next(Deadline Until);
  Status answer(FrameKind Kind, Deadline Until, uint32_t Flags = 0);
  Status reply(Deadline Until);

  std::string Address;
  PeerOptions Options;
  std::unique_ptr<Listener> Waiting;
  std::optional<Conversation> With;

private:
  using Answer = std::shared_ptr<const Request>;
  Expected<Answer> handle(const Frame &F);
  Status greet(const Frame &F);
  Expected<Answer> question(const Frame &F);
  Answer endOf(uint32_t Runner, std::optional<double> Reward, bool Truncated);
  void breakOff(const Status &Why);
  std::shared_ptr<Question> freshQuestion();

  Recycler<Question> Questions;
  size_t Served = 0;
};

std::shared_ptr<Question> Peer::Server::freshQuestion() {
  std::shared_ptr<Question> Q = Questions.take();
  Q->release();
  return Q;
}

Peer::Server::Answer Peer::Server::endOf(uint32_t Runner,
                                         std::optional<double> Reward,
                                         bool Truncated) {
  auto Open = With->OpenEpisodes.extract(Runner);
  if (!Open)
    return nullptr; // it has asked nothing
  std::shared_ptr<Question> Q = freshQuestion();
  Q->beginEnd(std::move(Open.mapped()), Reward, Truncated);
  return Q;
}

/// Gives the session up; open episodes end with it.
void Peer::Server::breakOff(const Status &Why) {
  if (Options.OnSessionError)
    Options.OnSessionError(Why);
  if (With->Over && Why.code() != StatusCode::PeerClosed) {
    // Let the compiler know, if it listens.
    if (setText(With->Outgoing, Why.message()).ok())
      (void)answer(FrameKind::Failure,
                   Deadline::in(std::chrono::milliseconds(100)),
                   FrameHeader::EndsSession);
  }
  With->Awaiting = false;
  With->Over.reset();
}

Status Peer::Server::answer(FrameKind Kind, Deadline Until, uint32_t Flags) {
  FrameHeader H;
  H.Kind = Kind;
  H.Flags = Flags;
  H.Session = With->Session;
  H.Sequence = With->Sequence;
  H.Runner = With->Runner;
  return With->Over->send(H, With->Outgoing, Until);
}

Status Peer::Server::reply(Deadline Until) {
  With->Awaiting = false;
  Status S = With->With->encode(With->Decision.views(), With->Outgoing);
  if (S.ok())
    S = answer(FrameKind::Reply, Until);
  if (!S.ok())
    breakOff(S);
  return S;
}

Status Peer::Server::greet(const Frame &F) {
  Expected<Hello> H = Hello::decode(F.Payload);
  if (!H)
    return H.status();
  auto Agreed = std::make_shared<Terms>();
  Agreed->Session = F.Header.Session;
  Agreed->Sig = std::move(H->Sig);
  Agreed->Features =
      std::make_shared<std::vector<TensorSpec>>(Agreed->Sig.inputs());
  With->Agreed = Agreed;
  With->With = makeSerializer(H->Serdes);
  if (!With->With)
    return Status::error(StatusCode::Unsupported,
                         "there is no serializer '" + H->Serdes + "'");
  if (Status S = checkSpecs(Options.Expects.inputs(), Agreed->Sig.inputs(),
                            "feature", "peer wants", "compiler sends");
      !S)
    return S;
  if (!Options.Expects.outputs().empty())
    if (Status S = checkSpecs(Agreed->Sig.outputs(), Options.Expects.outputs(),
                              "decision", "compiler wants", "peer gives");
        !S)
      return S;
  With->Decision = TensorStorage(Agreed->Sig.outputs());
  if (Status S = With->Decision.status(); !S)
    return S;
  if (Status S = setText(With->Outgoing, encodeWelcome(Agreed->Sig.outputs()));
      !S)
    return S;
  return answer(FrameKind::Welcome, Deadline::in(std::chrono::seconds(10)));
}

Expected<Peer::Server::Answer> Peer::Server::question(const Frame &F) {
  if (F.Header.Sequence != With->Sequence + 1)
    return Status::error(StatusCode::Protocol,
                         "request " + std::to_string(F.Header.Sequence) +
                             " after " + std::to_string(With->Sequence));
  With->Sequence = F.Header.Sequence;
  With->Runner = F.Header.Runner;
  std::shared_ptr<Question> Q = freshQuestion();
  Q->begin(With->Agreed, F.Header, With->Context);
  if (Status S = With->With->decode(F.Payload, Q->Tensors); !S)
    return S;
  Q->Payload = With->Over->keepPayload();
  With->OpenEpisodes.insert_or_assign(With->Runner, Q);
  if (With->OpenEpisodes.size() > MaxRunners)
    return Status::error(StatusCode::Protocol, "more than " +
                                                   std::to_string(MaxRunners) +
                                                   " runners in one session");
  With->Awaiting = true;
  return Answer(std::move(Q));
}

/// What a frame means for the caller of next(): something, nothing (null), or
/// the end of this session.
Expected<Peer::Server::Answer> Peer::Server::handle(const Frame &F) {
  const FrameHeader &H = F.Header;
  if (!With->Agreed) {
    if (H.Kind != FrameKind::Hello)
      return Status::error(StatusCode::Protocol,
                           "the session does not start with a hello");
    With->Session = H.Session;
    if (Status S = greet(F); !S)
      return S;
    return Answer();
  }
  if (H.Session != With->Agreed->Session)
    return Status::error(StatusCode::Protocol, "a frame of another session");
  if ((H.Flags & FrameHeader::HasReward) && !std::isfinite(H.Reward))
    return Status::error(StatusCode::Protocol, "a reward that is not finite");
  switch (H.Kind) {
  case FrameKind::Request:
    return question(F);
  case FrameKind::Context:
    With->Context = asText(F.Payload);
    return Answer();
  case FrameKind::End: {
    std::optional<double> Reward;
    if (H.Flags & FrameHeader::HasReward)
      Reward = H.Reward;
    return endOf(H.Runner, Reward,
                 /*Truncated=*/H.Flags & FrameHeader::CutShort);
  }
  case FrameKind::Bye:
    With->SaidBye = true;
    return Answer();
  default:
    return Status::error(StatusCode::Protocol, "a frame of kind " +
                                                   std::to_string(int(H.Kind)) +
                                                   " from a compiler");
  }
}

Expected<std::shared_ptr<const Request>> Peer::Server::next(Deadline Until) {
  if (With && With->Awaiting)
    return Status::error(StatusCode::InvalidArgument,
                         "reply to the latest request first");
  for (;;) {
    if (With && !With->Over) {
      // Over, one way or the other: close its episodes, then forget it.
      if (!With->OpenEpisodes.empty())
        return endOf(With->OpenEpisodes.begin()->first, std::nullopt,
                     /*Truncated=*/!With->SaidBye);
      With.reset();
      ++Served;
    }
    if (!With) {
      if (Options.Sessions && Served >= Options.Sessions)
        return Status::error(StatusCode::PeerClosed,
                             "all sessions have been served");
      Expected<std::unique_ptr<Channel>> Over = Waiting->accept(Until);
      if (!Over)
        return Over.status();
      With.emplace(std::move(*Over));
    }
    Expected<Frame> F = With->Over->receive(Until);
    if (!F) {
      if (F.status().code() == StatusCode::Timeout)
        return F.status();
      if (With->SaidBye && F.status().code() == StatusCode::PeerClosed)
        With->Over.reset();
      else
        breakOff(F.status());
      continue;
    }
    Expected<Answer> A = handle(*F);
    if (!A)
      breakOff(A.status());
    else if (*A)
      return A;
    // A compiler may send what needs no answer for longer than we have time.
    if (Until.passed())
      return Status::error(StatusCode::Timeout, "no request yet");
  }
}

Expected<Peer> Peer::open(std::string_view Address, PeerOptions Options) {
  const char *Given = ::getenv("CBRIDGE_PEER");
  if (Address.empty() && !Given)
    return Status::error(StatusCode::InvalidArgument,
                         "no address: CBRIDGE_PEER is set only in a peer that "
                         "a runner starts");
  // A runner that starts a peer keeps the other end of its standard input.
  bool Spawned = Given && (Address.empty() || Address == Given);
  std::string Text(Spawned ? std::string_view(Given) : Address);
  Expected<RunnerString> Parsed = RunnerString::parse(Text);
  if (!Parsed)
    return Parsed.status();
  if (Parsed->hasOptions())
    return Parsed->errorAtTarget(
        "an address to serve takes no options: the compiler chooses");
  for (const ChannelScheme &Scheme : channelSchemes()) {
    if (Scheme.Name != Parsed->scheme())
      continue;
    ChannelOptions Channel;
    Channel.MaxMessage = Options.MaxMessage;
    Channel.Lifeline = Spawned ? STDIN_FILENO : -1;
    auto Made = std::make_unique<Server>(Text, std::move(Options), Spawned);
    Expected<std::unique_ptr<Listener>> L = Scheme.Listen(*Parsed, Channel);
    if (!L)
      return L.status();
    Made->Waiting = std::move(*L);
    return Peer(std::move(Made));
  }
  std::string Known;
  for (const ChannelScheme &Scheme : channelSchemes())
    Known += " " + std::string(Scheme.Name) + ":";
  return Parsed->errorAtScheme("a peer cannot serve '" + Parsed->scheme() +
                               ":'; it can serve" + Known);
}

Peer::Peer(std::unique_ptr<Server> S) : S(std::move(S)) {}
Peer::Peer(Peer &&) noexcept = default;
Peer &Peer::operator=(Peer &&) noexcept = default;
Peer::~Peer() = default;

Expected<std::shared_ptr<const Request>> Peer::next(Deadline Until) {
  return S->next(Until);
}

TensorStorage &Peer::decision() {
  assert(awaitsReply() && "no question is open");
  return S->With->Decision;
}

bool Peer::awaitsReply() const { return S->With && S->With->Awaiting; }

Status Peer::reply(Deadline Until) {
  return awaitsReply() ? S->reply(Until) : Status();
}

Status Peer::fail(std::string_view Why) {
  if (!awaitsReply())
    return Status();
  S->With->Awaiting = false;
  if (Status Set = setText(S->With->Outgoing, Why); !Set)
    return Set;
  Status Sent =
      S->answer(FrameKind::Failure, Deadline::in(std::chrono::seconds(10)));
  if (!Sent.ok())
    S->With->Over.reset();
  return Sent;
}

const std::string &Peer::address() const { return S->Address; }

} // namespace cbridge
