//===- Echo.cpp - A runner of ours as a module ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// echo: decides what it was asked, feature by feature; a decision `context` is
// what is compiled and `reward` the reward. echo:throw throws.
//
//===----------------------------------------------------------------------===//
#include "module/Export.h"

#include <stdexcept>

using namespace cbridge;

namespace {

class EchoEngine : public BufferedEngine {
public:
  EchoEngine(const Signature &Sig, bool Throws)
      : BufferedEngine(Sig), Throws(Throws) {}

  Status run(const Call &C) override {
    if (Throws)
      throw std::runtime_error("echo threw");
    for (size_t I = 0; I < Outputs.size(); ++I) {
      Status S;
      if (Outputs.spec(I).name() == "context")
        S = Outputs.setStrings(I, Span<const std::string_view>(&C.Context, 1),
                               {1});
      else if (Outputs.spec(I).name() == "reward") {
        double Reward = C.Reward.value_or(-1);
        std::memcpy(Outputs.bytes(I).data(), &Reward, sizeof(Reward));
      } else
        S = Outputs.assign(I, Inputs.view(I));
      if (!S.ok())
        return S;
    }
    return Status();
  }

private:
  bool Throws;
};

Expected<EngineSource> openEcho(const RunnerString &R, const Signature &Sig) {
  if (!R.target().empty() && R.target() != "throw")
    return R.errorAtTarget("expected nothing, or 'throw'");
  return EngineSource([Sig, Throws = !R.target().empty()] {
    return makeEngine<EchoEngine>(Sig, Throws);
  });
}

constexpr cbridge_runner_type Echo =
    exported::exportRunner<openEcho>("echo", "echo: repeats", nullptr);
constexpr const cbridge_runner_type *Runners[] = {&Echo, nullptr};
constexpr cbridge_module Module = {
    sizeof(Module), CBRIDGE_MODULE_VERSION, "echo", Runners, nullptr, nullptr,
    nullptr};

} // namespace

CBRIDGE_EXPORT_MODULE(Module)
