//===- EngineFixture.h - What the engine suites share -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_CONFORMANCE_ENGINEFIXTURE_H
#define CBRIDGE_TESTS_CONFORMANCE_ENGINEFIXTURE_H

#include "EnginesUnderTest.h"
#include "ModelsUnderTest.h"

#include <cbridge/MLModelRunner.h>

#include <gtest/gtest.h>

#include <array>

namespace cbridge::conformance {

/// A suite's base for engines.
class EveryEngine : public ::testing::TestWithParam<const EngineUnderTest *> {
protected:
  const EngineUnderTest &engine() const { return *GetParam(); }
  bool has(const std::string &Name) const {
    return engine().Runner(Name).has_value();
  }
  /// Options: "on_error=fail".
  std::string runnerString(const std::string &Name,
                           const std::string &Options = "") const;
  /// The model, as a pass of ModelsUnderTest.h or another one sees it. Fails
  /// the test if it does not decide.
  Model open(const std::string &Name, const std::string &Options = "") const {
    return open(Name, passOf(Name), Options);
  }
  Model open(const std::string &Name, Signature Pass,
             const std::string &Options = "") const;
};

/// Leaves a test to engines that have the model.
#define CBRIDGE_NEEDS_MODEL(Needed)                                            \
  if (!has(Needed))                                                            \
  GTEST_SKIP() << engine().Name << " cannot do " << (Needed)

std::vector<const EngineUnderTest *> everyEngine();

struct EngineNamer {
  template <typename Info> std::string operator()(const Info &I) const {
    return std::string(I.param->Name);
  }
};

#define CBRIDGE_FOR_EVERY_ENGINE(Suite)                                        \
  INSTANTIATE_TEST_SUITE_P(Engines, Suite, ::testing::ValuesIn(everyEngine()), \
                           EngineNamer())

using Four = std::array<float, 4>;
using Floats = std::vector<float>;
/// The answer of "affine" and of "batched".
Floats affine(const Four &X);
/// Sets feature x.
void setX(MLModelRunner &R, const Four &X);
/// Asks "affine"; nothing, and a failed test, if it does not decide.
Floats ask(MLModelRunner &R, const Four &X);
/// One of a long row of different features.
Four nth(size_t I);

template <typename T> std::vector<T> listed(Span<const T> Of) {
  return {Of.begin(), Of.end()};
}

/// A test fails unless Why is an error that says all of these.
void expectSays(const Status &Why, const std::vector<std::string> &Says);

} // namespace cbridge::conformance

#endif // CBRIDGE_TESTS_CONFORMANCE_ENGINEFIXTURE_H
