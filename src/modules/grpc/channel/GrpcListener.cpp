//===- GrpcListener.cpp - The peer's end of grpc: -------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/PeerProcess.h"
#include "channel/SocketPlace.h"
#include "modules/grpc/Grpc.h"
#include "modules/grpc/channel/GrpcServer.h"

namespace cbridge {

namespace {

/// The peer's end of one session.
class GrpcSession : public Channel {
public:
  GrpcSession(std::shared_ptr<ServedCall> Call, std::string Name,
              size_t MaxMessage)
      : Of(std::move(Call)), Name(std::move(Name)), MaxMessage(MaxMessage),
        Process(os::processMark()) {}
  ~GrpcSession() override;

  Status send(FrameHeader Header, const Message &Payload,
              Deadline Until) override;
  Expected<Frame> receive(Deadline Until) override;
  std::shared_ptr<const void> keepPayload() override { return Came.keep(); }
  const std::string &name() const override { return Name; }
  bool gone() override { return Of->ended(); }
  bool ready() override { return Held || Of->readable(); }
  bool beginWait(os::FileSet &To) override {
    To.add(Of->file());
    return !ready();
  }

private:
  Expected<Said> next(Deadline Until);
  Expected<Frame> split(const Said &S);

  std::shared_ptr<ServedCall> Of;
  std::shared_ptr<ServedCall> Asking; // by getAdvice, and waits
  const std::string Name;
  const size_t MaxMessage;
  const uint64_t Process;
  FrameMessage Format;
  Inbox Came;
  os::FileSet Files;
  std::string Context;
  AlignedBuffer Aligned;     // the same
  std::optional<Frame> Held; // what follows a context
};

GrpcSession::~GrpcSession() {
  if (Process != os::processMark()) {
    leaveAlone(Of);
    leaveAlone(Asking);
    return;
  }
  if (Asking)
    Asking->refuse(grpc::StatusCode::FAILED_PRECONDITION,
                   "the session is over");
  Of->finish();
}

Status GrpcSession::send(FrameHeader Header, const Message &Payload,
                         Deadline Until) {
  grpc::ByteBuffer Out = makeMessage(Format, Header, Payload);
  if (!Asking)
    return Of->write(Out, Until, Name);
  Asking->answer(Out);
  Asking.reset();
  return Status();
}

Expected<Said> GrpcSession::next(Deadline Until) {
  for (;;) {
    bool Last = Of->ended(); // before looking: it may come just before the end
    if (std::optional<Said> Next = Of->take())
      return std::move(*Next);
    if (Last)
      return Status::error(StatusCode::PeerClosed,
                           Name + " closed the connection");
    Files.clear();
    Files.add(Of->file());
    if (!Files.wait(Until))
      return Status::error(StatusCode::Timeout, "no answer from " + Name);
  }
}

/// A message of getAdvice: perhaps two frames.
Expected<Frame> GrpcSession::split(const Said &S) {
  Asking = S.By;
  FrameMessage::Unary By;
  Expected<Frame> F = Came.take(Format, S.What, MaxMessage, &By);
  if (!F || By.Context == Context)
    return F;
  size_t Size = By.Context.size();
  if (!Aligned.reserve(Size + 1, 0))
    return Status::error(StatusCode::OutOfMemory, "no memory for a message");
  Context = std::move(By.Context);
  std::memcpy(Aligned.data(), Context.data(), Size);
  Held = *F;
  Frame About;
  About.Header = F->Header;
  About.Header.Kind = FrameKind::Context;
  About.Header.Flags = 0;
  About.Header.Length = Size;
  About.Payload = {Aligned.data(), Size};
  return About;
}

Expected<Frame> GrpcSession::receive(Deadline Until) {
  if (Held) {
    Frame F = *Held;
    Held.reset();
    return F;
  }
  Expected<Said> Next = next(Until);
  if (!Next)
    return Next.status();
  Expected<Frame> F =
      Next->Unary ? split(*Next) : Came.take(Format, Next->What, MaxMessage);
  if (!F)
    return F.status().withContext(Name);
  return F;
}

class GrpcListener : public Listener {
public:
  GrpcListener(GrpcAddress Where, const ChannelOptions &Options)
      : Where(std::move(Where)), Options(Options), Process(os::processMark()) {}
  ~GrpcListener() override;
  Status open(const RunnerString &Address, Security By);

  Expected<std::unique_ptr<Channel>> accept(Deadline Until) override;
  bool ready() override { return Server->readable(); }
  bool beginWait(os::FileSet &Files) override {
    Files.add(Server->file());
    return !Server->readable();
  }
  std::string address() const override { return Chosen; }

private:
  const GrpcAddress Where;
  const ChannelOptions Options;
  const uint64_t Process;
  SocketPlace Place;
  std::shared_ptr<GrpcServer> Server;
  std::string Chosen, Name;
};

GrpcListener::~GrpcListener() {
  if (Process != os::processMark()) {
    leaveAlone(Server);
    return;
  }
  bool Ours = Place.isOurs();
  if (Server)
    endInTime([Stopping = std::move(Server)] { Stopping->stop(); },
              std::chrono::seconds(1));
  if (Ours)
    Place.remove();
  if (Place.isTaken() && Options.Lifeline >= 0)
    removeOwnDirectory(Where.Path);
}

Status GrpcListener::open(const RunnerString &Address, Security By) {
  Name = "grpc:" + Address.target();
  if (Status S = checkSupplies("cannot serve " + Name); !S)
    return S;
  if (!Where.Path.empty())
    if (Status S = Place.take(Where.Path, Name); !S)
      return S;
  Server = std::make_shared<GrpcServer>();
  int Port = 0;
  if (Status S = Server->start(Name, Where, std::move(By),
                               grpcLimit(Options.MaxMessage), Port);
      !S) {
    Server.reset();
    return S;
  }
  if (!Where.Path.empty())
    Place.shutOut();
  else if (Where.Port == "0")
    Name = Chosen = "grpc:" + Where.Host + ":" + std::to_string(Port);
  // Options are each end's own.
  if (Chosen.empty() && Address.hasOptions())
    Chosen = "grpc:" + RunnerString::escape(Address.target());
  return Status();
}

Expected<std::unique_ptr<Channel>> GrpcListener::accept(Deadline Until) {
  os::FileSet Files;
  for (;;) {
    if (std::shared_ptr<ServedCall> Call = Server->take())
      return std::make_unique<GrpcSession>(
          std::move(Call), "the compiler at " + Name, Options.MaxMessage);
    Files.clear();
    Files.add(Server->file());
    if (Options.Lifeline >= 0)
      Files.add(Options.Lifeline);
    if (!Files.wait(Until))
      return Status::error(StatusCode::Timeout, "no compiler at " + Name);
    if (Files.woken(1, Files.size()) && !Files.woken(0, 1))
      return Status::error(StatusCode::PeerClosed,
                           "the compiler that started this peer is gone");
  }
}

} // namespace

Expected<std::unique_ptr<Listener>> listenGrpc(const RunnerString &Address,
                                               const ChannelOptions &Options) {
  static constexpr std::string_view Roles[] = {"server", "client"};
  Expected<std::string> Role = Address.choice("role", Roles);
  if (!Role)
    return Role.status();
  if (*Role == "client")
    return dialGrpc(Address, Options);
  for (std::string_view Key : {"announce", "tls_name"})
    if (Address.has(Key))
      return Address.errorAt(Key, std::string(Key) + " needs role=client");
  Expected<GrpcAddress> Where = GrpcAddress::parse(Address, Address.target());
  if (!Where)
    return Where.status();
  Expected<Security> By = Security::ofServer(Address, *Where);
  if (!By)
    return By.status();
  auto L = std::make_unique<GrpcListener>(*Where, Options);
  if (Status S = L->open(Address, std::move(*By)); !S)
    return S;
  return L;
}

} // namespace cbridge
