//===- Replay.cpp - Decisions from a log ----------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/replay/Replay.h"

#include "engine/replay/RecordedDecisions.h"

namespace cbridge {

namespace {

class ReplayEngine : public BufferedEngine {
public:
  ReplayEngine(const Signature &Sig, std::shared_ptr<RecordedDecisions> From)
      : BufferedEngine(Sig), Log(std::move(From)) {}

  Status run(const Call &C) override {
    if (!Known || Name != C.Context) {
      Name = C.Context;
      Of = Log->find(Name);
      Known = true;
    }
    if (!Of)
      return Status::error(StatusCode::PeerError,
                           "context '" + Name + "' is not in the log");
    uint64_t Ordinal = Of->Asked.fetch_add(1, std::memory_order_relaxed);
    return Log->decide(Name, *Of, Ordinal, Inputs, Outputs);
  }

private:
  std::shared_ptr<RecordedDecisions> Log;
  std::string Name;
  const RecordedDecisions::Context *Of = nullptr;
  bool Known = false;
};

} // namespace

Scheme replayScheme() {
  return {"replay",
          "replay:FILE or replay:DIR/ decides as recorded there",
          {"match"},
          [](const RunnerString &R,
             const Signature &Sig) -> Expected<EngineSource> {
            if (R.target().empty())
              return R.errorAtTarget("expected a log or a directory of logs");
            Expected<std::string> Match =
                R.choice("match", {"features", "ordinal"});
            if (!Match)
              return Match.status();
            Expected<std::shared_ptr<RecordedDecisions>> Log =
                RecordedDecisions::load(R.target(), Sig, *Match == "features");
            if (!Log)
              return Log.status();
            return EngineSource([Log = *Log, Sig] {
              return makeEngine<ReplayEngine>(Sig, Log);
            });
          }};
}

} // namespace cbridge
