//===- EngineFixture.cpp - What the engine suites share -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EngineFixture.h"

namespace cbridge::conformance {

std::string EveryEngine::runnerString(const std::string &Name,
                                      const std::string &Options) const {
  std::string Runner = engine().Runner(Name).value_or("heuristic:");
  if (!Options.empty())
    Runner += (Runner.find('?') == std::string::npos ? "?" : "&") + Options;
  return Runner;
}

Model EveryEngine::open(const std::string &Name, Signature Pass,
                        const std::string &Options) const {
  Expected<Model> M = Model::open(runnerString(Name, Options), Pass);
  if (M) {
    EXPECT_TRUE(M->whyNot().ok()) << M->whyNot().toString();
    return *M;
  }
  ADD_FAILURE() << M.status().toString();
  return *Model::open("heuristic:", std::move(Pass));
}

std::vector<const EngineUnderTest *> everyEngine() {
  std::vector<const EngineUnderTest *> All;
  for (const EngineUnderTest &Each : enginesUnderTest())
    All.push_back(&Each);
  return All;
}

Floats affine(const Four &X) {
  return {X[0] + 2 * X[1] + 3 * X[2] + 4 * X[3] + 10, X[2] - X[0] + 20,
          5 * X[0] - 5 * X[1] + 2 * X[2] - 2 * X[3] - 30};
}

void setX(MLModelRunner &R, const Four &X) {
  R.populateFeatures(std::pair{"x", Span<const float>(X)});
}

Floats ask(MLModelRunner &R, const Four &X) {
  setX(R, X);
  auto Y = R.evaluate<Floats>();
  EXPECT_TRUE(Y) << Y.status().toString();
  return Y.valueOr(Floats());
}

Four nth(size_t I) {
  auto At = [&](size_t Step) {
    return float((I * Step) % 251) - 100 + float(I % 4) / 4;
  };
  return {At(1), At(7), At(31), At(101)};
}

void expectSays(const Status &Why, const std::vector<std::string> &Says) {
  EXPECT_FALSE(Why.ok());
  for (const std::string &Each : Says)
    EXPECT_NE(Why.message().find(Each), std::string::npos)
        << "expected " << Each << " in: " << Why.toString();
}

} // namespace cbridge::conformance
