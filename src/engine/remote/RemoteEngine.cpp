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

constexpr std::chrono::seconds DefaultTimeout(10);

class RemoteEngine : public BufferedEngine {
public:
  RemoteEngine(const Signature &Sig, std::shared_ptr<RemoteSession> With)
      : BufferedEngine(Sig), Session(std::move(With)),
        Runner(Session->newRunner()) {}

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

Expected<EngineSource> open(const ChannelScheme &Over, const RunnerString &R,
                            const Signature &Sig) {
  Expected<std::string> Serdes = R.choice("serdes", serializerNames());
  if (!Serdes)
    return Serdes.status();
  Expected<std::chrono::nanoseconds> Timeout =
      R.duration("timeout", DefaultTimeout);
  if (!Timeout)
    return Timeout.status();
  if (*Timeout <= std::chrono::nanoseconds::zero())
    return R.errorAt("timeout", "a decision needs more than no time");
  ChannelOptions Options;
  Expected<size_t> MaxMessage = R.byteSize("max_message", Options.MaxMessage);
  if (!MaxMessage)
    return MaxMessage.status();
  Options.MaxMessage = *MaxMessage;
  Options.Until = Deadline::in(*Timeout);

  Expected<std::unique_ptr<Channel>> Connected = Over.Connect(R, Options);
  if (!Connected)
    return Connected.status();
  // Who grants time for connecting does not mean to take it from the hello.
  Deadline Until = R.has("connect") ? Deadline::in(*Timeout) : Options.Until;
  Expected<std::shared_ptr<RemoteSession>> Session =
      RemoteSession::open(std::move(*Connected), *Serdes, Sig, *Timeout, Until);
  if (!Session)
    return Session.status();
  return EngineSource([Session = *Session, Sig] {
    return makeEngine<RemoteEngine>(Sig, Session);
  });
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
