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
// And for inlining, from the decision after= on as how= says: fail, crash, exit
// or block; until then the same for the same features and seed=:
//   chance         by numbers of LLVM's
//   scores         by the names of both functions, with a score
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
  return R.target() == "chance" || R.target() == "scores";
}

/// FNV-1a, which is the same everywhere.
class Hash {
public:
  explicit Hash(int64_t Seed) { add(&Seed, sizeof(Seed)); }
  void add(const void *Data, size_t Size) {
    for (size_t I = 0; I < Size; ++I)
      Value = (Value ^ static_cast<const unsigned char *>(Data)[I]) *
              0x100000001b3u;
  }
  uint64_t get() const { return Value >> 24; }

private:
  uint64_t Value = 0xcbf29ce484222325u;
};

/// What an inlining policy takes and gives.
Signature interfaceOf(const RunnerString &R) {
  std::vector<TensorSpec> Outputs = {
      TensorSpec::create<int64_t>("inlining_decision")};
  if (R.target() == "chance")
    return {{TensorSpec::create<int64_t>("callee_users"),
             TensorSpec::create<int64_t>("callee_basic_block_count"),
             TensorSpec::create<int64_t>("cost_estimate")},
            Outputs};
  Outputs.push_back(TensorSpec::create<float>("inlining_score"));
  return {{TensorSpec("caller_name", ElementType::String, {1}),
           TensorSpec("callee_name", ElementType::String, {1})},
          Outputs};
}

class InlineEngine : public PolicyEngine {
public:
  InlineEngine(const Signature &Sig, const RunnerString &R)
      : PolicyEngine(Sig, R), Seed(std::atoll(R.option("seed", "0").c_str())),
        How(R.option("how")) {
    Signature Own = interfaceOf(R);
    for (const TensorSpec &Each : Own.inputs())
      Taken.push_back(Sig.inputIndex(Each.name()).value());
  }

  Status run(const Call &) override {
    if (!How.empty() && Count++ >= After)
      return misbehave(How);
    Hash Of(Seed);
    for (size_t I : Taken) {
      Bytes Data = Inputs.views()[I].Data;
      Of.add(Data.data(), Data.size());
    }
    // -2 to 2
    float Score = float(int64_t(Of.get() % 4001) - 2000) / 1000;
    int64_t Inlines = Score > 0;
    std::memcpy(Outputs.bytes(0).data(), &Inlines, sizeof(Inlines));
    if (What == "scores")
      std::memcpy(Outputs.bytes(1).data(), &Score, sizeof(Score));
    return Status();
  }

private:
  int64_t Seed;
  std::string How;
  std::vector<size_t> Taken; // it is told more
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
    Signature Takes = interfaceOf(*R);
    std::vector<cbridge_spec> In, Out;
    for (const TensorSpec &Each : Takes.inputs())
      In.push_back(c::spec(Each));
    for (const TensorSpec &Each : Takes.outputs())
      Out.push_back(c::spec(Each));
    cbridge_signature Sig = {sizeof(Sig), In.data(), Out.data(), In.size(),
                             Out.size()};
    Tell(To, &Sig);
    return Status();
  });
}

constexpr const char *Keys[] = {"after", "how", "seed", "tell", nullptr};
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
