//===- GrpcListener.cpp - The peer's end of grpc: -------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/PeerProcess.h"
#include "modules/grpc/Grpc.h"
#include "modules/grpc/GrpcServer.h"
#include "modules/grpc/SocketPlace.h"

namespace cbridge {

namespace {

/// The peer's end of one session.
class GrpcSession : public Channel {
public:
  GrpcSession(std::shared_ptr<ServedCall> Call, std::string Name,
              size_t MaxMessage)
      : Of(std::move(Call)), Name(std::move(Name)), MaxMessage(MaxMessage),
        Process(os::processMark()) {}
  ~GrpcSession() override {
    if (Process == os::processMark())
      Of->finish();
    else
      new std::shared_ptr<ServedCall>(std::move(Of)); // leave it alone
  }

  Status send(FrameHeader Header, const Message &Payload,
              Deadline Until) override {
    bool Lent;
    // The thread that writes is another one: to wait for it costs more than a
    // copy.
    grpc::ByteBuffer Out =
        makeMessage(Format, Header, Payload, /*LendFrom=*/SIZE_MAX, Lent);
    return Of->write(Out, Until, Name);
  }

  Expected<Frame> receive(Deadline Until) override {
    std::optional<grpc::ByteBuffer> Next = Of->take();
    while (!Next && !Of->ended()) {
      Files.clear();
      Files.add(Of->file());
      if (!Files.wait(Until))
        return Status::error(StatusCode::Timeout, "no answer from " + Name);
      Next = Of->take();
    }
    if (!Next)
      Next = Of->take(); // it may have come just before the end
    if (!Next)
      return Status::error(StatusCode::PeerClosed,
                           Name + " closed the connection");
    Expected<Frame> F = Came.take(Format, *Next, MaxMessage);
    if (!F)
      return F.status().withContext(Name);
    return F;
  }

  std::shared_ptr<const void> keepPayload() override { return Came.keep(); }
  const std::string &name() const override { return Name; }
  bool ready() override { return Of->readable(); }
  bool beginWait(os::FileSet &To) override {
    To.add(Of->file());
    return !Of->readable();
  }

private:
  std::shared_ptr<ServedCall> Of;
  const std::string Name;
  const size_t MaxMessage;
  const uint64_t Process;
  FrameMessage Format;
  Inbox Came;
  os::FileSet Files;
};

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
    new std::shared_ptr<GrpcServer>(std::move(Server)); // leave it alone
    return;
  }
  bool Ours = Place.isOurs();
  if (Server)
    Server->stop();
  if (Ours)
    Place.remove();
  if (Place.isTaken() && Options.Lifeline >= 0)
    removeOwnDirectory(Where.Path);
}

Status GrpcListener::open(const RunnerString &Address, Security By) {
  Name = "grpc:" + Address.target();
  if (!Where.Path.empty())
    if (Status S = Place.take(Where.Path, Name); !S)
      return S;
  Server = std::make_shared<GrpcServer>();
  int Port = 0;
  std::string Target =
      Where.Path.empty() ? Where.Host + ":" + Where.Port : "unix:" + Where.Path;
  bool Tls = By.usesTls();
  if (!Server->start(Target, std::move(By), grpcLimit(Options.MaxMessage),
                     Port)) {
    Server.reset();
    return Status::error(
        StatusCode::Unavailable,
        "cannot serve " + Name +
            ": another peer serves it, or it is not an "
            "address of this machine" +
            (Tls ? ", or tls_key= is not the key of tls_cert=" : ""));
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
