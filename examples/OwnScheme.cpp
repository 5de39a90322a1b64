//===- OwnScheme.cpp - A runner of one's own in a few lines ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scheme `budget:N` that unrolls as far as N instructions allow. See
// docs/guide/add-a-runner.md.
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>

#include <cstdio>

using namespace cbridge;

namespace {

/// Evaluates; the base class has the memory for features and decision.
class BudgetEngine : public BufferedEngine {
public:
  BudgetEngine(const Signature &Sig, int64_t Budget)
      : BufferedEngine(Sig), Budget(Budget) {}

  Status run(const Call &) override {
    int64_t Body = Inputs.view(0).as<int64_t>()[0];
    if (Body <= 0)
      return Status::error(StatusCode::Abstained, "the loop has no body");
    int64_t Factor = std::max<int64_t>(1, Budget / Body);
    std::memcpy(Outputs.bytes(0).data(), &Factor, sizeof(Factor));
    return Status();
  }

private:
  int64_t Budget;
};

Scheme budgetScheme() {
  return {"budget",
          "budget:N unrolls up to N instructions",
          {},
          [](const RunnerString &R,
             const Signature &Sig) -> Expected<EngineSource> {
            int64_t Budget = std::atoll(R.target().c_str());
            if (Budget <= 0)
              return R.errorAtTarget("expected a number of instructions");
            return EngineSource(
                [=] { return makeEngine<BudgetEngine>(Sig, Budget); });
          }};
}

} // namespace

int main(int Count, char **Arguments) {
  Registry Schemes = Registry::builtin();
  Schemes.add(budgetScheme());
  Signature Sig({TensorSpec::create<int64_t>("body")},
                TensorSpec::create<int64_t>("unroll"));
  auto Model =
      Model::open(Count > 1 ? Arguments[1] : "budget:32", Sig, Schemes);
  if (!Model) {
    std::fprintf(stderr, "%s\n", Model.status().message().c_str());
    return 1;
  }
  MLModelRunner Runner = Model->runner();
  for (int Body : {0, 5, 12, 40}) {
    Runner.populateFeatures(std::pair{"body", Body});
    auto Unroll = Runner.evaluateOr<int64_t>([] { return 1; });
    std::printf("body of %2d: unroll by %d%s%s\n", Body, int(Unroll),
                Runner.lastError().ok() ? "" : ", the heuristic: ",
                Runner.lastError().message().c_str());
  }
}
