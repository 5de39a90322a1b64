//===- GrpcConnection.cpp - The compiler's end of grpc: -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/PeerProcess.h"
#include "modules/grpc/Grpc.h"
#include "modules/grpc/UnaryConnection.h"
#include "os/Socket.h"

#include <grpcpp/generic/generic_stub.h>

#include <cerrno>

namespace cbridge {

namespace {

using std::chrono::milliseconds;

/// Smaller payloads are copied, which is cheaper than to wait until they have
/// been written.
constexpr size_t LendFrom = size_t(16) << 10;
/// How long a peer has to take our goodbye.
constexpr milliseconds GoodbyeTime(200);

/// What gRPC has for one session. In a forked child it is left alone: its
/// threads are not there.
struct Call {
  /// What is under way.
  enum Step : unsigned { Starting, Writing, Reading, Closing, Ending, Steps };

  GrpcLibrary Library; // first, so that it ends last
  std::shared_ptr<grpc::Channel> Channel;
  grpc::CompletionQueue Queue;
  grpc::ClientContext Context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> Stream;
  grpc::ByteBuffer In;
  grpc::Status End;
  bool Pending[Steps] = {}, Worked[Steps] = {};

  ~Call() {
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

  void *begin(Step S) {
    Pending[S] = true;
    return &Pending[S];
  }
  /// Waits until S is over; false if it is not by then.
  bool await(Step S, Deadline Until) {
    // What is there already is found even if the deadline has passed.
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
};

class GrpcConnection : public Channel {
public:
  GrpcConnection(std::unique_ptr<PeerProcess> Owned, std::unique_ptr<Call> With,
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
  std::unique_ptr<Call> C;
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
                             "; if it has getAdvice, use mode=unary");
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
  bool Lent;
  grpc::ByteBuffer Out = makeMessage(Format, Header, Payload, LendFrom, Lent);
  C->Stream->Write(Out, C->begin(Call::Writing));
  if (!Lent)
    return Status();
  bool Taken = C->await(Call::Writing, Until);
  if (!Taken) {
    // The payload is the caller's again.
    C->Context.TryCancel();
    (void)C->await(Call::Writing, Deadline::never());
    return tooLate(Name + " does not take the message");
  }
  // One that did not work shows in the answer.
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

/// What a channel that does not connect says: only a call gets to know it.
std::string whyNotConnected(const std::shared_ptr<grpc::Channel> &Made,
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

/// One try: whether somebody takes our connection by then.
PeerProcess::Attempt tryConnect(const GrpcAddress &To, const Security &By,
                                const ChannelOptions &Options, Deadline Until,
                                const std::string &Name,
                                std::unique_ptr<Call> &For, Status &Why) {
  // A peer that is not there must not cost the threads of gRPC.
  int Errno = 0;
  if (!To.Path.empty() && !os::connectUnix(To.Path, &Errno)) {
    Why = nobodyServes(Name, Errno == ENOENT ? "its socket is not there"
                                             : "its peer is gone");
    return PeerProcess::Attempt::Absent;
  }
  NoInterruptions During; // which gRPC's threads inherit
  For = std::make_unique<Call>();
  std::shared_ptr<grpc::Channel> &Made = For->Channel;
  Made = makeChannel(To, By, Options.MaxMessage);
  for (;;) {
    grpc_connectivity_state State = Made->GetState(/*try_to_connect=*/true);
    if (State == GRPC_CHANNEL_READY)
      return PeerProcess::Attempt::Connected;
    if (State == GRPC_CHANNEL_TRANSIENT_FAILURE ||
        State == GRPC_CHANNEL_SHUTDOWN) {
      std::string Said = By.usesTls() ? whyNotConnected(Made, Until) : "";
      bool Refused = Said.find("andshake") != Said.npos ||
                     Said.find("certificate") != Said.npos;
      Why = Refused ? Status::error(StatusCode::Unavailable,
                                    Name + ": no TLS with it: " += Said)
                    : nobodyServes(Name, "it takes no connection");
      For.reset();
      return Refused ? PeerProcess::Attempt::Failed
                     : PeerProcess::Attempt::Absent;
    }
    if (!Made->WaitForStateChange(State, grpcTime(Until))) {
      Why = Status::error(StatusCode::Timeout,
                          Name + " does not speak gRPC, or is too slow");
      For.reset();
      return PeerProcess::Attempt::Failed;
    }
  }
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
  std::unique_ptr<Call> C;
  std::string Name = Address.scheme() + ":" + Peer->target();
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
