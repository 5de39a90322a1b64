//===- RemoteEngine.cpp - Models in another process -----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/remote/Remote.h"
#include "engine/remote/RemoteSession.h"

namespace cbridge {

namespace {

class RemoteEngine : public BufferedEngine {
public:
  RemoteEngine(const Signature &Sig, std::shared_ptr<RemoteSession> With,
               uint32_t Runner)
      : BufferedEngine(Sig, With->takeFeatures(Sig)), Session(std::move(With)),
        Runner(Runner) {}

  Status run(const Call &C) override {
    return Session->decide(Runner, Inputs, C, Outputs);
  }
  Status endEpisode(const Call &C) override {
    return Session->endEpisode(Runner, C);
  }

private:
  std::shared_ptr<RemoteSession> Session;
  uint32_t Runner;
};

/// How the runners of one model get to their peer.
struct Route {
  ChannelScheme Over;
  RunnerString Address;
  Signature Sig;
  std::string Serdes;
  std::chrono::nanoseconds Timeout;
  ChannelOptions Options;

  Expected<std::shared_ptr<RemoteSession>> connect() const {
    ChannelOptions Now = Options;
    Now.Until = Deadline::in(Timeout);
    Expected<std::unique_ptr<Channel>> Connected = Over.Connect(Address, Now);
    if (!Connected)
      return Connected.status();
    // Who grants time for connecting does not mean to take it from the hello.
    Deadline Until = Address.has("connect") ? Deadline::in(Timeout) : Now.Until;
    return RemoteSession::open(std::move(*Connected), Serdes, Sig, Timeout,
                               Until);
  }
};

/// The sessions of one model: one for all its runners, or one for each.
class Sessions {
public:
  Sessions(Route Way, std::shared_ptr<RemoteSession> First)
      : Way(std::move(Way)), First(std::move(First)) {}

  Expected<std::unique_ptr<Engine>> newRunner() {
    // A peer that the model has started serves one session.
    bool Share = !Way.Over.ManySessions || Way.Address.has("spawn");
    std::shared_ptr<RemoteSession> With;
    uint32_t Runner;
    {
      std::lock_guard<std::mutex> Lock(Using);
      Runner = ++Runners;
      With = Share ? First : std::exchange(First, nullptr);
    }
    if (!With) {
      Expected<std::shared_ptr<RemoteSession>> Another = Way.connect();
      if (!Another)
        return Another.status();
      With = std::move(*Another);
    }
    return makeEngine<RemoteEngine>(Way.Sig, std::move(With), Runner);
  }

private:
  const Route Way;
  std::mutex Using;
  std::shared_ptr<RemoteSession> First;
  uint32_t Runners = 0;
};

Expected<EngineSource> open(const ChannelScheme &Over, const RunnerString &R,
                            const Signature &Sig) {
  std::string Serdes = R.option(
      "serdes", Over.Serdes.empty() ? serializerNames()[0] : Over.Serdes);
  if (auto With = makeSerializer(Serdes); !With)
    return With.status().code() == StatusCode::InvalidArgument
               ? R.errorAt("serdes", With.status().message())
               : With.status();
  Expected<DecisionLimits> Limits = DecisionLimits::parse(R);
  if (!Limits)
    return Limits.status();
  ChannelOptions Options;
  Options.MaxMessage = Limits->MaxMessage;

  Route Way{Over, R, Sig, Serdes, Limits->Timeout, Options};
  // At once, so that the model knows whether there is a peer.
  Expected<std::shared_ptr<RemoteSession>> First = Way.connect();
  if (!First)
    return First.status();
  auto Each = std::make_shared<Sessions>(std::move(Way), std::move(*First));
  return EngineSource([Each] { return Each->newRunner(); });
}

} // namespace

Scheme remoteScheme(const ChannelScheme &Over) {
  std::vector<std::string_view> Keys = {"timeout", "serdes", "max_message"};
  Keys.insert(Keys.end(), Over.Keys.begin(), Over.Keys.end());
  return {std::string(Over.Name), std::string(Over.Help), std::move(Keys),
          [Over](const RunnerString &R, const Signature &Sig) {
            return open(Over, R, Sig);
          }};
}

} // namespace cbridge
