//===- Policies.cpp - Models that decide as tests want it -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// testpolicy:WHAT, for advice of LLVM's register allocator:
//   random?seed=N  legal answers by chance
//   fail           fails, from the decision after= on
//   crash          ends its process by a signal, likewise
//   exit           ends its process as if nothing were wrong
//   block          never answers; opens and closes the FIFO tell= before
// Until then the answers are legal ones of seed 0.
//
//===----------------------------------------------------------------------===//
#include "module/Export.h"

#include <cstdlib>
#include <random>

#include <fcntl.h>
#include <unistd.h>

using namespace cbridge;

namespace {

class PolicyEngine : public BufferedEngine {
public:
  PolicyEngine(const Signature &Sig, const RunnerString &R)
      : BufferedEngine(Sig), What(R.target()), Tell(R.option("tell")),
        After(std::atoll(R.option("after", "0").c_str())),
        Random(unsigned(std::atoll(R.option("seed", "0").c_str()))) {}

  Status run(const Call &) override {
    if (What != "random" && Count++ >= After)
      return misbehave();
    if (Outputs.spec(0).type() == ElementType::Float)
      answer(float(Random() % 1000));
    else
      answer(legalIndex());
    return Status();
  }

private:
  template <typename T> void answer(T Value) {
    std::memcpy(Outputs.bytes(0).data(), &Value, sizeof(T));
  }
  int64_t legalIndex() {
    for (const TensorView &V : Inputs.views()) {
      if (V.Spec->name() != "mask")
        continue;
      std::vector<int64_t> Legal;
      for (size_t I = 0; I < V.elementCount(); ++I)
        if (V.as<int64_t>()[I])
          Legal.push_back(int64_t(I));
      if (!Legal.empty())
        return Legal[Random() % Legal.size()];
    }
    return 0;
  }
  Status misbehave() const {
    if (What == "crash")
      std::abort();
    if (What == "exit")
      ::_exit(0);
    if (What == "block") {
      ::close(::open(Tell.c_str(), O_WRONLY | O_CLOEXEC));
      for (;;)
        ::pause();
    }
    return Status::error(StatusCode::ModelError, "the policy gave up");
  }

  std::string What, Tell;
  int64_t After, Count = 0;
  std::minstd_rand Random;
};

Expected<EngineSource> openPolicy(const RunnerString &R, const Signature &Sig) {
  return EngineSource([=] { return makeEngine<PolicyEngine>(Sig, R); });
}

constexpr const char *Keys[] = {"after", "seed", "tell", nullptr};
constexpr cbridge_runner_type Policy = exported::exportRunner<openPolicy>(
    "testpolicy", "testpolicy:WHAT decides as a test wants it", Keys);
constexpr const cbridge_runner_type *Runners[] = {&Policy, nullptr};
constexpr cbridge_module Module = {sizeof(Module), CBRIDGE_MODULE_VERSION,
                                   "testpolicy",   Runners,
                                   nullptr,        nullptr,
                                   nullptr};

} // namespace

CBRIDGE_EXPORT_MODULE(Module)
