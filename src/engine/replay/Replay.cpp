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
    if (Log->hasKeys())
      return Log->decideByKey(C.Context, Inputs, Outputs);
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

std::vector<std::string> namesIn(std::string_view List) {
  std::vector<std::string> Names;
  for (;;) {
    size_t End = std::min(List.find(','), List.size());
    Names.emplace_back(List.substr(0, End));
    if (End == List.size())
      return Names;
    List.remove_prefix(End + 1);
  }
}

} // namespace

Scheme replayScheme() {
  return {"replay",
          "replay:FILE or replay:DIR/ decides as recorded there",
          {"match", "key"},
          [](const RunnerString &R,
             const Signature &Sig) -> Expected<EngineSource> {
            if (R.target().empty())
              return R.errorAtTarget("expected a log or a directory of logs");
            Expected<std::string> Match =
                R.choice("match", {"features", "ordinal"});
            if (!Match)
              return Match.status();
            if (R.has("key") && R.has("match"))
              return R.errorAt("match", "key= says how decisions are found");
            Expected<std::shared_ptr<RecordedDecisions>> Log =
                R.has("key") ? RecordedDecisions::loadByKey(
                                   R.target(), Sig, namesIn(R.option("key")))
                             : RecordedDecisions::load(R.target(), Sig,
                                                       *Match == "features");
            if (!Log)
              return Log.status();
            return EngineSource([Log = *Log, Sig] {
              return makeEngine<ReplayEngine>(Sig, Log);
            });
          }};
}

} // namespace cbridge
