//===- EngineRefusalsTest.cpp - What engines and runners refuse -----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EngineFixture.h"

#include <cmath>

using namespace cbridge;
using namespace cbridge::conformance;

namespace {

class EngineRefusalsTest : public EveryEngine {
protected:
  /// "affine" abstains for this pass, and says so.
  void expectRefused(const Signature &Pass, std::vector<std::string> Says) {
    Says.push_back(engine().Culprit("affine"));
    Expected<Model> M = Model::open(runnerString("affine"), Pass);
    ASSERT_TRUE(M) << M.status().toString();
    expectSays(M->whyNot(), Says);
    MLModelRunner R = M->runner();
    // Features can be filled all the same.
    for (size_t I = 0; I < Pass.inputs().size(); ++I)
      EXPECT_GT(R.getTensorUntyped(I).size(), 0u);
    EXPECT_EQ(R.evaluate().status().toString(), M->whyNot().toString());
    EXPECT_EQ(R.evaluateOr<Floats>([] { return Floats{1, 2}; }),
              (Floats{1, 2}));
    EXPECT_EQ(R.lastError().toString(), M->whyNot().toString());
    EXPECT_EQ(R.stats().Fallbacks, 1u);

    Expected<Model> Failed =
        Model::open(runnerString("affine", "on_error=fail"), Pass);
    EXPECT_EQ(Failed.status().toString(), M->whyNot().toString());
  }
};
CBRIDGE_FOR_EVERY_ENGINE(EngineRefusalsTest);

template <typename T>
Signature passWith(const char *In, std::vector<int64_t> InShape,
                   TensorSpec Out = TensorSpec::create<float>("y", {3})) {
  return {{TensorSpec::create<T>(In, std::move(InShape))}, std::move(Out)};
}

TEST_P(EngineRefusalsTest, AFeatureThatThePassLacks) {
  expectRefused(passWith<float>("z", {4}), {"'x'", "float[4]"});
  expectRefused({{}, TensorSpec::create<float>("y", {3})}, {"'x'", "float[4]"});
}

TEST_P(EngineRefusalsTest, AFeatureOfAnotherType) {
  expectRefused(passWith<int64_t>("x", {4}), {"'x'", "float[4]", "int64_t[4]"});
  expectRefused(passWith<double>("x", {4}), {"'x'", "float[4]", "double[4]"});
}

TEST_P(EngineRefusalsTest, AFeatureOfAnotherShape) {
  expectRefused(passWith<float>("x", {5}), {"'x'", "float[4]", "float[5]"});
  expectRefused(passWith<float>("x", {2, 2}),
                {"'x'", "float[4]", "float[2,2]"});
  expectRefused(passWith<float>("x", {}), {"'x'", "float[4]"});
}

TEST_P(EngineRefusalsTest, AnOutputThatTheModelLacks) {
  expectRefused(
      passWith<float>("x", {4}, TensorSpec::create<float>("why", {3})),
      {"'why'", "'y'"});
}

TEST_P(EngineRefusalsTest, AnOutputOfAnotherTypeOrShape) {
  expectRefused(passWith<float>("x", {4}, TensorSpec::create<double>("y", {3})),
                {"'y'", "float[3]", "double[3]"});
  expectRefused(passWith<float>("x", {4}, TensorSpec::create<float>("y", {2})),
                {"'y'", "float[3]", "float[2]"});
}

TEST_P(EngineRefusalsTest, EverythingThatIsWrong) {
  expectRefused(passWith<int8_t>("x", {4}, TensorSpec::create<float>("why")),
                {"'x'", "int8_t[4]", "'why'"});
}

TEST_P(EngineRefusalsTest, AModelThatIsNotThere) {
  // In a place that is not there, of which there may be nothing to say.
  std::string Runner = runnerString("affine");
  Runner = Runner.substr(0, Runner.find(':') + 1) + "/nowhere/at.all";
  Expected<Model> M = Model::open(Runner, passOf("affine"));
  ASSERT_TRUE(M) << M.status().toString();
  expectSays(M->whyNot(), {"/nowhere/at.all"});
  MLModelRunner R = M->runner();
  EXPECT_EQ(R.evaluateOr<float>([] { return 3.0f; }), 3.0f);
  EXPECT_FALSE(Model::open(Runner + "?on_error=fail", passOf("affine")));
}

TEST_P(EngineRefusalsTest, AMistakeOfThePassFailsOneDecision) {
  MLModelRunner R = open("affine").runner();
  R.populateFeatures(std::pair{"x", Floats{1, 2}});
  expectSays(R.evaluate().status(), {"'x'"});
  EXPECT_EQ(ask(R, nth(1)), affine(nth(1)));
  R.populateFeatures(std::pair{"unknown", 1});
  expectSays(R.evaluate().status(), {"'unknown'"});
  EXPECT_EQ(ask(R, nth(2)), affine(nth(2)));
}

TEST_P(EngineRefusalsTest, NotANumber) {
  CBRIDGE_NEEDS_MODEL("not_a_number");
  Model M = open("not_a_number");
  {
    MLModelRunner R = M.runner();
    for (int Round = 0; Round < 3; ++Round) {
      R.populateFeatures(std::pair{"x", -1.0f});
      Expected<float> Y = R.evaluate<float>();
      EXPECT_EQ(Y.status().code(), StatusCode::IllegalDecision);
      expectSays(Y.status(), {"'y'", "not a number"});
      EXPECT_EQ(R.evaluateOr<float>([] { return 5.0f; }), 5.0f);
      R.populateFeatures(std::pair{"x", 1.0f});
      Y = R.evaluate<float>();
      ASSERT_TRUE(Y) << Y.status().toString();
      EXPECT_EQ(*Y, 0.0f);
    }
    EXPECT_TRUE(M.whyNot().ok());
  }
  EXPECT_EQ(M.stats().Illegal, 6u);
  EXPECT_EQ(M.stats().Fallbacks, 3u);
  EXPECT_EQ(M.stats().Decisions, 3u);
}

TEST_P(EngineRefusalsTest, AMaskedDecision) {
  CBRIDGE_NEEDS_MODEL("argmax");
  MLModelRunner R = open("argmax").runner();
  auto Choose = [&](size_t Action) {
    Floats Scores(8, -1);
    Scores[Action] = 4;
    R.populateFeatures(std::pair{"scores", Scores});
    return R.evaluate<int64_t>();
  };
  for (size_t A = 0; A < 8; ++A)
    EXPECT_EQ(Choose(A).valueOr(-1), int64_t(A));
  R.setMask(
      std::vector<bool>{false, false, true, false, true, true, true, true});
  for (size_t A = 0; A < 8; ++A) {
    Expected<int64_t> Chosen = Choose(A);
    if (A == 2 || A >= 4) {
      EXPECT_EQ(Chosen.valueOr(-1), int64_t(A));
    } else {
      EXPECT_EQ(Chosen.status().code(), StatusCode::IllegalDecision);
      expectSays(Chosen.status(), {"'action'", std::to_string(A)});
    }
  }
  R.setMask(Span<const bool>());
  EXPECT_EQ(Choose(0).valueOr(-1), 0);
  EXPECT_EQ(R.stats().Illegal, 3u);
}

TEST_P(EngineRefusalsTest, ADecisionOutOfRange) {
  MLModelRunner R = open("affine").runner();
  R.setRange(-100, 100);
  EXPECT_EQ(ask(R, {1, 2, 3, 4}), (Floats{40, 22, -37}));
  setX(R, {0, 0, 0, 1000});
  Status Why = R.evaluate().status();
  EXPECT_EQ(Why.code(), StatusCode::IllegalDecision);
  expectSays(Why, {"'y'", "4010"});
  EXPECT_EQ(ask(R, {1, 2, 3, 4}), (Floats{40, 22, -37}));
  R.clearRange();
  EXPECT_EQ(ask(R, {0, 0, 0, 1000}), affine({0, 0, 0, 1000}));
}

} // namespace
