//===- CompilerDialer.cpp - A peer that calls its compiler ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The other end of `role=server`: calls of getObservation look like the frames
// of a session, so that a peer serves compilers of both roles in one loop.
//
//===----------------------------------------------------------------------===//
#include "channel/Handshake.h"
#include "core/Wire.h"
#include "modules/grpc/channel/CompilerLine.h"
#include "modules/grpc/wire/ObservationMessages.h"

#include <algorithm>

namespace cbridge {

namespace {

/// A line, and what is known of the compiler at its other end. In a forked
/// child it is left alone: its thread is not there.
struct Dialed {
  Dialed(CompilerPlace Where, std::string Name)
      : Line(std::move(Where)), Name(std::move(Name)) {}
  static std::shared_ptr<Dialed> make(CompilerPlace Where, std::string Name) {
    return {new Dialed(std::move(Where), std::move(Name)), [](Dialed *Made) {
              // The latest action has time to be taken.
              if (Made->isOurs())
                endInTime([Made] { delete Made; },
                          std::chrono::milliseconds(700));
            }};
  }
  bool isOurs() const { return Process == os::processMark(); }

  const uint64_t Process = os::processMark();
  CompilerLine Line;
  const std::string Name;
  bool InSession = false;
  // Told with step 0 only.
  uint64_t Session = 0;
  std::string Hello;
};

/// One compiler, from its first observation until it is gone. Goes on with the
/// compiler's next episode.
class DialedSession : public Channel {
public:
  explicit DialedSession(std::shared_ptr<Dialed> Compiler)
      : To(std::move(Compiler)) {
    To->InSession = true;
  }
  ~DialedSession() override;

  Status send(FrameHeader Header, const Message &Payload,
              Deadline Until) override;
  Expected<Frame> receive(Deadline Until) override;
  std::shared_ptr<const void> keepPayload() override { return Latest; }
  const std::string &name() const override { return To->Name; }
  bool gone() override { return !Calling && To->Line.broken(); }
  bool ready() override {
    return At < Frames.size() || SaidBye || To->Line.readable();
  }
  bool beginWait(os::FileSet &Files) override {
    Files.add(To->Line.file());
    return !ready();
  }

private:
  Status take(CompilerLine::Outcome O);
  Expected<SeenObservation> decode(const grpc::ByteBuffer &From);
  Status translate(const SeenObservation &O);
  void push(FrameKind Kind, Bytes Payload, const Told &Beside = Told());
  Status pushText(FrameKind Kind, std::string_view Text, AlignedBuffer &In);
  void act(bool Failed, const Message &Payload);

  std::shared_ptr<Dialed> To;
  Recycler<AlignedBuffer> Buffers;
  std::shared_ptr<AlignedBuffer> Latest; // the latest observation
  AlignedBuffer HelloText, ContextText;
  std::vector<Frame> Frames; // what it says
  size_t At = 0;             // of the next frame
  uint64_t Session = 0, Sequence = 0, Step = 0;
  std::string Context;
  std::vector<uint32_t> Runners; // with an open episode
  bool Open = false;             // there is a question
  bool Calling = false;          // an outcome is to come
  bool SaidBye = false;
  os::FileSet Files;
};

DialedSession::~DialedSession() {
  if (!To->isOurs())
    return;
  To->InSession = false;
  // What comes begins the next session; if nothing does, somebody else may
  // answer the open question, or we do when we have come back.
  if (!Calling)
    To->Line.beginLater();
}

/// The message in memory of ours, with its tensors aligned.
Expected<SeenObservation> DialedSession::decode(const grpc::ByteBuffer &From) {
  std::vector<grpc::Slice> Slices;
  if (!From.Dump(&Slices).ok())
    return Status::error(StatusCode::Protocol, "a message without bytes");
  size_t Size = From.Length();
  Latest.reset();
  Latest = Buffers.take();
  if (!Latest->reserve(Size + TensorAlignment, 0))
    return Status::error(StatusCode::Protocol,
                         "no memory for " + std::to_string(Size) + " bytes");
  unsigned char *Begin = Latest->data(), *Put = Begin;
  for (const grpc::Slice &Each : Slices) {
    std::memcpy(Put, Each.begin(), Each.size());
    Put += Each.size();
  }
  Expected<SeenObservation> O = SeenObservation::decode({Begin, Size});
  if (!O || O->Tensors.empty())
    return O;
  size_t Offset = size_t(O->Tensors.data() - Begin);
  size_t Place = alignUp(Offset) - Offset;
  if (!Place)
    return O;
  std::memmove(Begin + Place, Begin, Size);
  return SeenObservation::decode({Begin + Place, Size});
}

void DialedSession::push(FrameKind Kind, Bytes Payload, const Told &Beside) {
  Frame F;
  F.Header.Kind = Kind;
  F.Header.Session = Session;
  F.Header.Runner = Beside.Runner;
  F.Header.Sequence = Sequence;
  if (Beside.Reward) {
    F.Header.Flags |= FrameHeader::HasReward;
    F.Header.Reward = *Beside.Reward;
  }
  if (Beside.Truncated)
    F.Header.Flags |= FrameHeader::CutShort;
  F.Header.Length = Payload.size();
  F.Payload = Payload;
  Frames.push_back(F);
}

Status DialedSession::pushText(FrameKind Kind, std::string_view Text,
                               AlignedBuffer &In) {
  if (!In.reserve(Text.size() + 1, 0))
    return Status::error(StatusCode::Protocol, "no memory for a message");
  std::copy(Text.begin(), Text.end(), In.data());
  push(Kind, {In.data(), Text.size()});
  return Status();
}

/// The frames that say the same.
Status DialedSession::translate(const SeenObservation &O) {
  if (!Session) {
    Session = O.Session;
    if (Status S = pushText(FrameKind::Hello, To->Hello, HelloText); !S)
      return S;
  }
  Step = O.Beside.Step;
  Open = !O.hasEnded();
  auto Known = std::find(Runners.begin(), Runners.end(), O.Beside.Runner);
  if (O.hasEnded()) {
    if (Known != Runners.end())
      Runners.erase(Known);
    push(FrameKind::End, {}, O.Beside);
    To->Line.begin(/*Once=*/true);
    Calling = true;
    return Status();
  }
  if (Known == Runners.end())
    Runners.push_back(O.Beside.Runner);
  if (O.Beside.Context != Context) {
    Context = O.Beside.Context;
    if (Status S = pushText(FrameKind::Context, Context, ContextText); !S)
      return S;
  }
  ++Sequence;
  push(FrameKind::Request, O.Tensors, O.Beside);
  return Status();
}

/// What came of a call.
Status DialedSession::take(CompilerLine::Outcome O) {
  Calling = false;
  Frames.clear();
  At = 0;
  auto Bye = [&] {
    SaidBye = true;
    push(FrameKind::Bye, {});
    return Status();
  };
  if (!O.How.ok()) {
    if (Session && Runners.empty())
      return Bye();
    Status Why = failedCall(To->Name, O.How);
    return Why.isTransport()
               ? Why
               : Status::error(StatusCode::Protocol, Why.message());
  }
  Expected<SeenObservation> Seen = decode(O.Came);
  if (!Seen)
    return Seen.status().withContext(To->Name);
  if (!Seen->Hello.empty()) {
    To->Session = Seen->Session;
    To->Hello = asText(Seen->Hello);
  }
  if (Session && Seen->Session != Session) {
    // Another compiler has come to that address.
    To->Line.putBack(std::move(O));
    Calling = true;
    if (Runners.empty())
      return Bye();
    return Status::error(StatusCode::PeerClosed, To->Name + " is another one");
  }
  if (!Seen->Session || Seen->Session != To->Session)
    return Status::error(StatusCode::Protocol,
                         To->Name + " does not tell its signature");
  return translate(*Seen);
}

Expected<Frame> DialedSession::receive(Deadline Until) {
  while (At == Frames.size()) {
    if (SaidBye)
      return Status::error(StatusCode::PeerClosed, To->Name + " is done");
    if (std::optional<CompilerLine::Outcome> O = To->Line.take()) {
      if (Status S = take(std::move(*O)); !S)
        return S;
      continue;
    }
    Files.clear();
    Files.add(To->Line.file());
    if (!Files.wait(Until))
      return Status::error(StatusCode::Timeout, "no answer from " + To->Name);
  }
  return Frames[At++];
}

/// Answers the open question.
void DialedSession::act(bool Failed, const Message &Payload) {
  std::string Begin = beginAction(Step + 1, Failed, Payload.size());
  grpc_slice All = grpc_slice_malloc(Begin.size() + Payload.size());
  unsigned char *Put = GRPC_SLICE_START_PTR(All);
  auto Add = [&](const void *Data, size_t Size) {
    if (Size)
      std::memcpy(Put, Data, Size);
    Put += Size;
  };
  Add(Begin.data(), Begin.size());
  unsigned char *Content = Put;
  Add(Payload.own().data(), Payload.own().size());
  for (Bytes Piece : Payload.lent())
    Add(Piece.data(), Piece.size());
  // A string of Protocol Buffers is UTF-8.
  if (Failed && !wire::isUtf8(asText({Content, Payload.size()})))
    std::replace_if(
        Content, Put, [](unsigned char Each) { return Each >= 0x80; }, '?');
  grpc::Slice Whole(All, grpc::Slice::STEAL_REF);
  Open = false;
  Calling = true;
  To->Line.act(grpc::ByteBuffer(&Whole, 1));
}

Status DialedSession::send(FrameHeader Header, const Message &Payload,
                           Deadline) {
  switch (Header.Kind) {
  case FrameKind::Reply:
    if (!Open)
      return Status::error(StatusCode::Protocol, "a reply to no question");
    To->Line.calm();
    act(/*Failed=*/false, Payload);
    return Status();
  case FrameKind::Failure:
    if (Open)
      act(/*Failed=*/true, Payload);
    return Status();
  default: // a welcome: the compiler does not wait for one
    return Status();
  }
}

/// Where a peer gets to a compiler that is the server.
class CompilerDialer : public Listener {
public:
  explicit CompilerDialer(std::shared_ptr<Dialed> Compiler)
      : To(std::move(Compiler)) {
    To->Line.begin();
  }

  Expected<std::unique_ptr<Channel>> accept(Deadline Until) override;
  bool ready() override { return !To->InSession && To->Line.readable(); }
  bool beginWait(os::FileSet &Files) override {
    // In a session it is the session that waits.
    if (!To->InSession)
      Files.add(To->Line.file());
    return !ready();
  }

private:
  std::shared_ptr<Dialed> To;
};

/// Waiting would not help.
bool isMistake(grpc::StatusCode Code) {
  return Code == grpc::StatusCode::UNAUTHENTICATED ||
         Code == grpc::StatusCode::PERMISSION_DENIED ||
         Code == grpc::StatusCode::UNIMPLEMENTED;
}

Expected<std::unique_ptr<Channel>> CompilerDialer::accept(Deadline Until) {
  auto Nobody = [&] {
    return Status::error(StatusCode::Timeout, "no compiler at " + To->Name);
  };
  if (To->InSession)
    return Nobody();
  os::FileSet Files;
  Files.add(To->Line.file());
  if (!To->Line.readable() && !Files.wait(Until))
    return Nobody();
  std::optional<CompilerLine::Outcome> O = To->Line.take();
  if (!O)
    return Nobody();
  if (!O->How.ok()) {
    To->Line.beginLater();
    if (!O->Broken.ok())
      return O->Broken;
    return isMistake(O->How.error_code()) ? failedCall(To->Name, O->How)
                                          : Nobody();
  }
  // The session looks at it, and fails alone if it is wrong.
  To->Line.putBack(std::move(*O));
  return std::make_unique<DialedSession>(To);
}

} // namespace

Expected<std::unique_ptr<Listener>> dialGrpc(const RunnerString &Address,
                                             const ChannelOptions &Options) {
  CompilerPlace Where;
  Where.File = Address.option("announce");
  Where.MaxMessage = Options.MaxMessage;
  if (Address.has("announce")) {
    if (Where.File.empty())
      return Address.errorAt("announce", "expected a file");
    if (!Address.target().empty())
      return Address.errorAt("announce", "the file tells the address: write "
                                         "grpc:?role=client&announce=FILE");
  } else {
    Expected<GrpcAddress> To = GrpcAddress::parse(Address, Address.target());
    if (!To)
      return To.status();
    if (To->Port == "0")
      return Address.errorAtTarget("a trainer that calls needs the port that "
                                   "the compiler has chosen");
    Where.Address = *To;
  }
  Expected<Security> By = Security::ofClient(Address);
  if (!By)
    return By.status();
  Where.By = std::move(*By);
  std::string Name =
      "the compiler at " +
      (Where.File.empty() ? "grpc:" + Address.target() : Where.File);
  if (Status S = checkSupplies(Name); !S)
    return S;
  NoInterruptions During; // which gRPC's threads inherit
  return std::make_unique<CompilerDialer>(
      Dialed::make(std::move(Where), std::move(Name)));
}

} // namespace cbridge
