//===- GrpcConnection.cpp - The compiler's end of grpc: -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/ClientCall.h"
#include "modules/grpc/channel/UnaryConnection.h"
#include "os/File.h"

namespace cbridge {

namespace {

using std::chrono::milliseconds;

/// How long a peer has to take our goodbye.
constexpr milliseconds GoodbyeTime(200);

using Call = StreamCall;

class GrpcConnection : public Channel {
public:
  GrpcConnection(std::unique_ptr<PeerProcess> Owned, StreamCallPointer With,
                 const Security &By, size_t MaxMessage)
      : Peer(std::move(Owned)), C(std::move(With)), MaxMessage(MaxMessage),
        Process(os::processMark()), Name(Peer->name()) {
    By.sign(C->Context);
  }
  ~GrpcConnection() override;

  Status open(Deadline Until);
  Status send(FrameHeader Header, const Message &Payload,
              Deadline Until) override;
  Expected<Frame> receive(Deadline Until) override;
  std::shared_ptr<const void> keepPayload() override { return Came.keep(); }
  const std::string &name() const override { return Name; }
  // A compiler asks one peer and waits for it alone.
  bool ready() override { return false; }
  bool beginWait(os::FileSet &) override { return true; }
  void abandon(Deadline Until) override {
    Abandoned = true;
    Peer->abandon(Until);
  }

private:
  Status whyEnded(Deadline Until);
  Status tooLate(const std::string &Why) {
    return Status::error(StatusCode::Timeout, Why);
  }

  std::unique_ptr<PeerProcess> Peer;
  StreamCallPointer C;
  const size_t MaxMessage;
  const uint64_t Process;
  const std::string Name;
  FrameMessage Format;
  Inbox Came;
  bool Abandoned = false, Heard = false, Ended = false;
};

GrpcConnection::~GrpcConnection() {
  if (Process != os::processMark()) {
    leaveAlone(C);
    return;
  }
  // A peer that has our goodbye ends the call; one that does not is hung up on.
  Deadline Until = Abandoned ? Deadline::past() : Deadline::in(GoodbyeTime);
  if (!Abandoned && !Ended && C->await(Call::Writing, Until)) {
    C->Stream->WritesDone(C->begin(Call::Closing));
    // To cancel the call now would take from the peer what it has not read yet.
    while (C->await(Call::Reading, Until) && C->Worked[Call::Reading])
      C->Stream->Read(&C->In, C->begin(Call::Reading));
  }
  C.reset();
}

Status GrpcConnection::open(Deadline Until) {
  grpc::GenericStub Stub(C->Channel);
  C->Stream = Stub.PrepareCall(&C->Context, ConverseMethod, &C->Queue);
  C->Stream->StartCall(C->begin(Call::Starting));
  if (!C->await(Call::Starting, Until))
    return tooLate(Name + " does not take the call");
  C->Stream->Read(&C->In, C->begin(Call::Reading));
  return Status();
}

/// After a read or write that did not work.
Status GrpcConnection::whyEnded(Deadline Until) {
  if (Ended)
    return Status::error(StatusCode::PeerClosed,
                         Name + " closed the connection");
  Ended = true;
  C->Stream->Finish(&C->End, C->begin(Call::Ending));
  if (!C->await(Call::Ending, Until & Deadline::in(milliseconds(1000))))
    return Status::error(StatusCode::PeerClosed,
                         Name + " closed the connection");
  if (!Heard && C->End.error_code() == grpc::StatusCode::UNIMPLEMENTED)
    return Status::error(StatusCode::Unsupported,
                         Name + ": " + C->End.error_message().substr(0, 500) +
                             "; if it has getAdvice, use mode=unary; if it has "
                             "a method of its own, name that with proto=");
  Status Why = failedCall(Name, C->End);
  // A server that raised, in another language.
  if (Why.code() == StatusCode::PeerError)
    return Status::error(StatusCode::PeerClosed,
                         Name + " ended the session: " + Why.message());
  return Why;
}

Status GrpcConnection::send(FrameHeader Header, const Message &Payload,
                            Deadline Until) {
  if (!C->await(Call::Writing, Until))
    return tooLate(Name + " does not take the message");
  grpc::ByteBuffer Out = makeMessage(Format, Header, Payload);
  // If it does not work, that shows in the answer.
  C->Stream->Write(Out, C->begin(Call::Writing));
  return Status();
}

Expected<Frame> GrpcConnection::receive(Deadline Until) {
  if (!C->Pending[Call::Reading] && C->Worked[Call::Reading])
    C->Stream->Read(&C->In, C->begin(Call::Reading));
  if (!C->await(Call::Reading, Until))
    return tooLate("no answer from " + Name);
  if (!C->Worked[Call::Reading])
    return whyEnded(Until);
  Heard = true;
  Expected<Frame> F = Came.take(Format, C->In, MaxMessage);
  C->In.Clear();
  if (!F)
    return F.status().withContext(Name);
  return F;
}

/// One try: whether somebody takes our connection by then.
PeerProcess::Attempt tryConnect(const GrpcAddress &To, const Security &By,
                                const ChannelOptions &Options, Deadline Until,
                                const std::string &Name, StreamCallPointer &For,
                                Status &Why) {
  std::unique_ptr<GrpcLibrary> During;
  std::shared_ptr<grpc::Channel> Made;
  auto How =
      tryChannel(To, By, Options.MaxMessage, Until, Name, During, Made, Why);
  if (How == PeerProcess::Attempt::Connected) {
    For.reset(new Call);
    For->Channel = std::move(Made);
  }
  return How;
}

} // namespace

Expected<std::unique_ptr<Channel>> connectGrpc(const RunnerString &Address,
                                               const ChannelOptions &Options) {
  Expected<std::chrono::nanoseconds> Wait =
      Address.duration("connect", Options.Until.remaining());
  if (!Wait)
    return Wait.status();
  Deadline Until = Deadline::in(*Wait);
  static constexpr std::string_view Modes[] = {"stream", "unary"};
  Expected<std::string> Mode = Address.choice("mode", Modes);
  if (!Mode)
    return Mode.status();
  Expected<Security> By = Security::ofClient(Address);
  if (!By)
    return By.status();
  Expected<PeerProcess> Started = PeerProcess::start(Address);
  if (!Started)
    return Started.status();
  auto Peer = std::make_unique<PeerProcess>(std::move(*Started));
  auto Failed = [&](Status Why) {
    Peer->abandon(Deadline::in(std::chrono::seconds(0)));
    return Why;
  };
  Expected<GrpcAddress> To = GrpcAddress::parse(Address, Peer->target());
  if (!To)
    return Failed(To.status());
  if (To->Port == "0")
    return Failed(Address.errorAtTarget(
        "a compiler needs the port that the peer has chosen"));
  StreamCallPointer C;
  std::string Name = Address.scheme() + ":" + Peer->target();
  if (Status S = checkSupplies(Name); !S)
    return Failed(S);
  Status S = Peer->connect(Address, Options, [&](Status &Why) {
    return tryConnect(*To, *By, Options, Until, Name, C, Why);
  });
  if (!S.ok())
    return Failed(S);
  std::shared_ptr<grpc::Channel> Over = C->Channel;
  auto Made = std::make_unique<GrpcConnection>(std::move(Peer), std::move(C),
                                               *By, Options.MaxMessage);
  if (S = Made->open(Until); !S.ok()) {
    Made->abandon(Deadline::in(std::chrono::seconds(0)));
    return S;
  }
  if (*Mode == "stream")
    return Made;
  return askByCalls(std::move(Made), std::move(Over),
                    {*To, *By, Options.MaxMessage});
}

} // namespace cbridge
