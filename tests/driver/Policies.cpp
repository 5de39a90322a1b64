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
// And for inlining:
//   variants       answers by chance, for each variant and seed= others; in the
//                  variant bad= it does what how= says: fail, crash, exit or
//                  block
//   same           the same without variants
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
      return misbehave(What);
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

protected:
  Status misbehave(const std::string &How) const {
    if (How == "crash")
      std::abort();
    if (How == "exit")
      ::_exit(0);
    if (How == "block") {
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

bool inlines(const RunnerString &R) {
  return R.target() == "variants" || R.target() == "same";
}

class InlineEngine : public PolicyEngine {
public:
  InlineEngine(const Signature &Sig, const RunnerString &R)
      : PolicyEngine(Sig, R), Bad(std::atoll(R.option("bad", "-1").c_str())),
        Seed(std::atoll(R.option("seed", "0").c_str())),
        How(R.option("how", "fail")) {}

  Status run(const Call &) override {
    int64_t Variant = 0;
    for (const TensorView &V : Inputs.views())
      if (V.Spec->name() == "inlining_variant")
        Variant = V.as<int64_t>()[0];
    if (Count++ == 0)
      Random.seed(unsigned(1000 + 100 * Seed + Variant));
    if (Variant == Bad)
      return misbehave(How);
    int64_t Inlines = Random() / 64 % 2;
    std::memcpy(Outputs.bytes(0).data(), &Inlines, sizeof(Inlines));
    return Status();
  }

private:
  int64_t Bad, Seed;
  std::string How;
};

Expected<EngineSource> openPolicy(const RunnerString &R, const Signature &Sig) {
  if (inlines(R))
    return EngineSource([=] { return makeEngine<InlineEngine>(Sig, R); });
  return EngineSource([=] { return makeEngine<PolicyEngine>(Sig, R); });
}

cbridge_code describePolicy(cbridge_address *Address,
                            void (*Tell)(void *, const cbridge_signature *),
                            void *To, cbridge_error *Error) {
  return exported::guarded(Error, [&]() -> Status {
    Expected<RunnerString> R = exported::parse(Address);
    if (!R)
      return R.status();
    if (!inlines(*R))
      return Status::error(StatusCode::Unsupported, "takes what it gets");
    std::vector<TensorSpec> Inputs = {TensorSpec::create<int64_t>(
        R->target() == "variants" ? "inlining_variant" : "inlining_default")};
    std::vector<TensorSpec> Outputs = {
        TensorSpec::create<int64_t>("inlining_decision")};
    cbridge_spec In = c::spec(Inputs[0]), Out = c::spec(Outputs[0]);
    cbridge_signature Sig = {sizeof(Sig), &In, &Out, 1, 1};
    Tell(To, &Sig);
    return Status();
  });
}

constexpr const char *Keys[] = {"after", "bad", "how", "seed", "tell", nullptr};
constexpr cbridge_runner_type policy() {
  cbridge_runner_type T = exported::exportRunner<openPolicy>(
      "testpolicy", "testpolicy:WHAT decides as a test wants it", Keys);
  T.describe = describePolicy;
  return T;
}
constexpr cbridge_runner_type Policy = policy();
constexpr const cbridge_runner_type *Runners[] = {&Policy, nullptr};
constexpr cbridge_module Module = {sizeof(Module), CBRIDGE_MODULE_VERSION,
                                   "testpolicy",   Runners,
                                   nullptr,        nullptr,
                                   nullptr};

} // namespace

CBRIDGE_EXPORT_MODULE(Module)
