//===- ServingEngine.cpp - grpc: with the compiler as the server ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/SocketPlace.h"
#include "modules/grpc/Announcement.h"
#include "modules/grpc/method/Methods.h"
#include "modules/grpc/method/Rendezvous.h"
#include "os/File.h"

namespace cbridge {

namespace {

/// How long the last answer has to get to its trainer when the model closes.
constexpr std::chrono::milliseconds Grace(500);

/// The server of one model. In a forked child it is left alone: neither its
/// threads nor those that wait are there.
class Served {
public:
  Served(Method M, const Signature &Sig, const std::string &Name,
         std::chrono::nanoseconds Timeout)
      : Sig(Sig), Timeout(Timeout), Name(Name), Path(M.Path),
        With(std::move(M), Sig, Name) {}
  static std::shared_ptr<Served> make(Method M, const Signature &Sig,
                                      const std::string &Name,
                                      std::chrono::nanoseconds Timeout) {
    return {new Served(std::move(M), Sig, Name, Timeout), [](Served *Made) {
              if (!Made->isOurs())
                return;
              Made->close();
              if (!Made->Server) { // nothing that takes time
                delete Made;
                return;
              }
              endInTime([Made] { delete Made; }, 2 * Grace);
            }};
  }
  ~Served();
  /// Before it ends: nobody waits here any more.
  void close();
  Status open(const RunnerString &R, const GrpcAddress &Where, Security By,
              size_t MaxMessage);
  bool isOurs() const { return Process == os::processMark(); }
  Rendezvous &meeting() { return With; }

  const Signature Sig;
  const std::chrono::nanoseconds Timeout;

private:
  const uint64_t Process = os::processMark();
  std::string Name;
  const std::string Path;
  Rendezvous With;
  std::unique_ptr<MethodServer> Server;
  SocketPlace Place;
  Announcement Announced;
};

void Served::close() {
  Announced.remove();
  With.close(Status::error(StatusCode::PeerClosed,
                           "the compiler at " + Name + " is done"));
}

Served::~Served() {
  bool Ours = Place.isOurs();
  if (Server)
    Server->stop(Grace);
  if (Ours)
    Place.remove();
}

Status Served::open(const RunnerString &R, const GrpcAddress &Where,
                    Security By, size_t MaxMessage) {
  if (Status S = checkSupplies("cannot serve " + Name); !S)
    return S;
  bool IsSocket = !Where.Path.empty();
  if (IsSocket)
    if (Status S = Place.take(Where.Path, Name); !S)
      return S;
  int Port = 0;
  std::string Address = IsSocket ? "unix:" + Where.Path : Where.Host + ":";
  NoInterruptions During; // which gRPC's threads inherit
  Server = std::make_unique<MethodServer>(Path, With);
  if (Status S = Server->start(Name, Where, std::move(By),
                               grpcLimit(MaxMessage), Port);
      !S) {
    Server.reset();
    return S;
  }
  if (IsSocket)
    Place.shutOut();
  else
    Name = "grpc:" + (Address += std::to_string(Port));
  With.rename(Name);
  if (R.has("announce"))
    return Announced.write(R.option("announce"),
                           "grpc:" + RunnerString::escape(Address));
  return Status();
}

class ServingEngine : public BufferedEngine {
public:
  explicit ServingEngine(std::shared_ptr<Served> By)
      : BufferedEngine(By->Sig), Of(std::move(By)),
        Who(Of->meeting().newSpeaker()) {}
  ~ServingEngine() override {
    if (Of->isOurs())
      (void)Of->meeting().endEpisode(Who, Call());
  }

  Status run(const Call &C) override {
    if (!Of->isOurs())
      return forked();
    return Of->meeting().decide(Who, Inputs, C, Of->Timeout, Outputs);
  }
  Status endEpisode(const Call &C) override {
    if (!Of->isOurs())
      return forked();
    return Of->meeting().endEpisode(Who, C);
  }

private:
  static Status forked() {
    return Status::error(StatusCode::Forked,
                         "this model was opened before the process forked; "
                         "open it again");
  }

  std::shared_ptr<Served> Of;
  Rendezvous::Speaker Who;
};

Status checkOptions(const RunnerString &R) {
  for (std::string_view Key :
       {"spawn", "connect", "serdes", "mode", "tls_name"})
    if (R.has(Key))
      return R.errorAt(Key, std::string(Key) +
                                " is not for role=server, where the trainer "
                                "connects and the method fixes the messages");
  if (R.has("announce") && R.option("announce").empty())
    return R.errorAt("announce", "expected a file");
  return Status();
}

} // namespace

Expected<EngineSource> serveMethod(const RunnerString &R, const Signature &Sig,
                                   Method M) {
  if (M.Streams)
    return R.errorAt("role", "role=server needs a unary method; " + M.Path +
                                 " streams");
  if (Status S = checkOptions(R); !S)
    return S;
  Expected<DecisionLimits> Limits = DecisionLimits::parse(R);
  if (!Limits)
    return Limits.status();
  Expected<GrpcAddress> Where = GrpcAddress::parse(R, R.target());
  if (!Where)
    return Where.status();
  Expected<Security> By = Security::ofServer(R, *Where);
  if (!By)
    return By.status();
  if (Where->Port == "0" && !R.has("announce"))
    return R.errorAtTarget("port 0 needs announce=FILE, which tells the port "
                           "that was chosen");
  std::shared_ptr<Served> Made =
      Served::make(std::move(M), Sig, "grpc:" + R.target(), Limits->Timeout);
  if (Status S = Made->open(R, *Where, std::move(*By), Limits->MaxMessage); !S)
    return S;
  return EngineSource([Made] { return makeEngine<ServingEngine>(Made); });
}

} // namespace cbridge
