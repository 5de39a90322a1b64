//===- CallMethod.cpp - Models that a method asks -------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/ClientCall.h"
#include "modules/grpc/method/MethodCaller.h"
#include "modules/grpc/method/Methods.h"
#include "os/File.h"

#include <mutex>

namespace cbridge {

namespace {

/// Never destroys it.
template <typename T> void leave(std::unique_ptr<T> &Owned) {
  [[maybe_unused]] T *Left = Owned.release();
}

/// What the runners of a model share.
struct CalledModel {
  CalledModel(Signature Sig, Method M, std::unique_ptr<PeerProcess> Peer)
      : Sig(std::move(Sig)), M(std::move(M)), Peer(std::move(Peer)) {}
  ~CalledModel() {
    // A forked child leaves gRPC alone: its threads are not there.
    if (Process != os::processMark())
      leave(Line);
  }

  const Signature Sig;
  const Method M;
  MethodRoute Route;
  std::chrono::nanoseconds Timeout{};
  const uint64_t Process = os::processMark();
  std::unique_ptr<PeerProcess> Peer;
  struct Connection {
    std::unique_ptr<GrpcLibrary> Library; // before all channels
    std::shared_ptr<grpc::Channel> First; // for the first runner
  };
  std::unique_ptr<Connection> Line = std::make_unique<Connection>();
  std::mutex Using;
  uint32_t Runners = 0;
};

class CallingEngine : public BufferedEngine {
public:
  CallingEngine(std::shared_ptr<CalledModel> Model, uint32_t Runner,
                std::shared_ptr<grpc::Channel> Channel)
      : BufferedEngine(Model->Sig), Of(std::move(Model)), Runner(Runner),
        Messages(Of->M.NewMessages()),
        Caller(Of->M.Streams
                   ? callByStream(Of->Route, std::move(Channel))
                   : callOncePerMessage(Of->Route, std::move(Channel))),
        Incoming(std::make_shared<std::vector<TensorSpec>>(Of->Sig.outputs())) {
  }
  ~CallingEngine() override {
    if (!ours().ok())
      leave(Caller);
  }

  Status run(const Call &C) override;
  Status endEpisode(const Call &C) override;

private:
  Status ours() const {
    if (Of->Process == os::processMark())
      return Status();
    return Status::error(StatusCode::Forked,
                         "this model was opened before the process forked; "
                         "open it again");
  }
  Told beside(const Call &C) {
    Told T;
    T.Step = ++Step;
    T.Runner = Runner;
    T.Context = C.Context;
    T.Reward = C.Reward;
    return T;
  }
  /// Says how long it took, if it took too long.
  Status timed(Status S) const {
    if (S.code() != StatusCode::Timeout)
      return S;
    auto Most =
        std::chrono::duration_cast<std::chrono::milliseconds>(Of->Timeout);
    return Status::error(StatusCode::Timeout, S.message() + " within " +
                                                  std::to_string(Most.count()) +
                                                  " ms");
  }

  std::shared_ptr<CalledModel> Of;
  const uint32_t Runner;
  uint64_t Step = 0;
  std::unique_ptr<MethodMessages> Messages;
  std::unique_ptr<MethodCaller> Caller;
  Message Outgoing;
  DecodedTensors Incoming;
};

Status CallingEngine::run(const Call &C) {
  if (Status S = ours(); !S)
    return S;
  Deadline Until = C.Until & Deadline::in(Of->Timeout);
  Told T = beside(C);
  if (Status S = Messages->encode(Inputs.views(), T, Outgoing); !S)
    return S;
  Expected<Bytes> Reply = Caller->ask(Outgoing, Until);
  if (!Reply)
    return timed(Reply.status());
  Expected<Answered> A = Messages->decode(*Reply, Incoming);
  if (!A)
    return A.status().withContext(Of->Route.Name);
  // 0: it does not say.
  if (A->Step && *A->Step && *A->Step != T.Step)
    return Status::error(StatusCode::Protocol,
                         Of->Route.Name + " answers step " +
                             std::to_string(*A->Step) + " instead of " +
                             std::to_string(T.Step));
  if (A->Failure)
    return Status::error(StatusCode::PeerError,
                         Of->Route.Name + ": " + A->Failure->substr(0, 2000));
  for (size_t I = 0; I < Outputs.size(); ++I)
    if (Status S = Outputs.assign(I, Incoming.Views[I]); !S)
      return S;
  return Status();
}

Status CallingEngine::endEpisode(const Call &C) {
  // It could not tell this from a question.
  if (!Messages->tellsEnds())
    return Status();
  if (Status S = ours(); !S)
    return S;
  Told T = beside(C);
  T.Truncated = C.Truncated;
  T.Terminated = !C.Truncated;
  if (Status S = Messages->encode({}, T, Outgoing); !S)
    return S;
  return timed(Caller->tell(Outgoing, C.Until & Deadline::in(Of->Timeout)));
}

Expected<std::unique_ptr<Engine>>
newRunner(const std::shared_ptr<CalledModel> &Of) {
  if (Of->Process != os::processMark())
    return Status::error(StatusCode::Forked,
                         "this model was opened before the process forked; "
                         "open it again");
  if (Status S = checkSupplies(Of->Route.Name); !S)
    return S;
  std::shared_ptr<grpc::Channel> Channel;
  uint32_t Runner;
  {
    std::lock_guard<std::mutex> Lock(Of->Using);
    Channel = std::exchange(Of->Line->First, nullptr);
    Runner = ++Of->Runners;
  }
  return makeEngine<CallingEngine>(Of, Runner, std::move(Channel));
}

/// Options that belong to the channel.
Status checkOptions(const RunnerString &R) {
  if (R.has("serdes"))
    return R.errorAt("serdes", "the messages of proto= need no serializer");
  if (R.has("mode"))
    return R.errorAt("mode", "the method of proto= says whether it streams");
  return Status();
}

} // namespace

Expected<EngineSource> callMethod(const RunnerString &R, const Signature &Sig,
                                  Method M) {
  if (Status S = checkOptions(R); !S)
    return S;
  Expected<DecisionLimits> Limits = DecisionLimits::parse(R);
  if (!Limits)
    return Limits.status();
  Expected<std::chrono::nanoseconds> Wait =
      R.duration("connect", Limits->Timeout);
  if (!Wait)
    return Wait.status();
  Expected<Security> By = Security::ofClient(R);
  if (!By)
    return By.status();
  Expected<PeerProcess> Started = PeerProcess::start(R);
  if (!Started)
    return Started.status();
  auto Model = std::make_shared<CalledModel>(
      Sig, std::move(M), std::make_unique<PeerProcess>(std::move(*Started)));
  auto Failed = [&](Status Why) {
    Model->Peer->abandon(Deadline::in(std::chrono::seconds(0)));
    return Why;
  };
  Expected<GrpcAddress> To = GrpcAddress::parse(R, Model->Peer->target());
  if (!To)
    return Failed(To.status());
  if (To->Port == "0")
    return Failed(R.errorAtTarget(
        "a compiler needs the port that the server has chosen"));
  Model->Route = {Model->Peer->name(), Model->M.Path, *To, *By,
                  Limits->MaxMessage};
  Model->Timeout = Limits->Timeout;
  ChannelOptions Options;
  Options.Until = Deadline::in(Limits->Timeout);
  Deadline Until = Deadline::in(*Wait);
  if (Status S = checkSupplies(Model->Route.Name); !S)
    return Failed(S);
  Status S = Model->Peer->connect(R, Options, [&](Status &Why) {
    return tryChannel(*To, *By, Limits->MaxMessage, Until, Model->Route.Name,
                      Model->Line->Library, Model->Line->First, Why);
  });
  if (!S.ok())
    return Failed(S);
  return EngineSource([Model] { return newRunner(Model); });
}

} // namespace cbridge
