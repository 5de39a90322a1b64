//===- AdviceRulesTest.cpp - Tests of what LLVM takes ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AdviceRules.h"

#include "FakeCompiler.h"

#include <cmath>
#include <limits>

using namespace cbridge;

namespace {

/// A question: its tensors filled from raw bytes.
class Question {
public:
  Question(const Signature &Sig, const std::string &Raw)
      : Rules(Sig), Tensors(Sig.inputs()) {
    const char *From = Raw.data();
    for (size_t I = 0; I < Tensors.size(); ++I) {
      std::memcpy(Tensors.bytes(I).data(), From, Tensors.bytes(I).size());
      From += Tensors.bytes(I).size();
    }
  }
  template <typename T> bool allows(T Value) const {
    unsigned char Advice[sizeof(T)];
    std::memcpy(Advice, &Value, sizeof(T));
    return Rules.isLegal(Tensors.views(), Advice);
  }
  /// Checked to be legal.
  template <typename T> T byDefault() const {
    unsigned char Advice[sizeof(T)];
    Rules.writeDefault(Tensors.views(), Advice);
    EXPECT_TRUE(Rules.isLegal(Tensors.views(), Advice));
    T Value;
    std::memcpy(&Value, Advice, sizeof(T));
    return Value;
  }
  AdviceRules Rules;
  TensorStorage Tensors;
};

Question eviction(const std::vector<int64_t> &Mask,
                  const std::vector<float> &Weights,
                  const std::vector<float> &Hints = {0, 0, 0}) {
  return {evictionSignature(), evictionTensors(Mask, Weights, Hints)};
}

Question priority(int64_t Size, int64_t Stage) {
  return {prioritySignature(), priorityTensors(Size, Stage, 1)};
}

TEST(AdviceRules, AnEvictionIsInTheMask) {
  Question Q = eviction({0, 1, 0}, {1, 1, 1});
  EXPECT_EQ(Q.Rules.kind(), AdviceRules::Kind::Eviction);
  EXPECT_TRUE(Q.allows<int64_t>(1));
  for (int64_t Wrong : {int64_t(0), int64_t(2), int64_t(3), int64_t(-1),
                        std::numeric_limits<int64_t>::max(),
                        std::numeric_limits<int64_t>::min()})
    EXPECT_FALSE(Q.allows(Wrong)) << Wrong;
}

TEST(AdviceRules, EvictsWhatIsLighterThanTheAskingRange) {
  EXPECT_EQ(eviction({1, 1, 1}, {0.3F, 0.2F, 0.5F}).byDefault<int64_t>(), 1);
  // Nothing is: it waits, or is spilled.
  EXPECT_EQ(eviction({1, 1, 1}, {0.6F, 0.7F, 0.5F}).byDefault<int64_t>(), 2);
  // Or hints would be broken.
  EXPECT_EQ(
      eviction({1, 1, 1}, {0.3F, 0.2F, 0.5F}, {1, 1, 0}).byDefault<int64_t>(),
      2);
  EXPECT_EQ(
      eviction({1, 1, 1}, {0.3F, 0.2F, 0.5F}, {0, 1, 0}).byDefault<int64_t>(),
      0);
}

TEST(AdviceRules, EvictsTheCheapestWhenSomethingMustGo) {
  EXPECT_EQ(eviction({1, 1, 0}, {0.9F, 0.8F, 0}).byDefault<int64_t>(), 1);
  EXPECT_EQ(
      eviction({1, 1, 0}, {0.9F, 0.8F, 0}, {1, 2, 0}).byDefault<int64_t>(), 0);
  EXPECT_EQ(eviction({0, 1, 0}, {0, 0.8F, 0}).byDefault<int64_t>(), 1);
}

TEST(AdviceRules, AMaskWithoutAnythingHasADefaultNevertheless) {
  Question Q = eviction({0, 0, 0}, {0, 0, 0});
  unsigned char Advice[8] = {};
  Q.Rules.writeDefault(Q.Tensors.views(), Advice);
  EXPECT_EQ(Advice[0], 2);
}

TEST(AdviceRules, APriorityFitsAnUnsigned) {
  Question Q = priority(100, 0);
  for (float Right : {0.0F, 0.5F, 1e6F, 4294967040.0F})
    EXPECT_TRUE(Q.allows(Right)) << Right;
  for (float Wrong : {-1.0F, -0.001F, 4294967296.0F, 1e30F, std::nanf(""),
                      std::numeric_limits<float>::infinity(),
                      -std::numeric_limits<float>::infinity()})
    EXPECT_FALSE(Q.allows(Wrong)) << Wrong;
}

TEST(AdviceRules, LongRangesComeFirstAndSplitOnesLast) {
  auto Default = [](int64_t Size, int64_t Stage) {
    return priority(Size, Stage).byDefault<float>();
  };
  EXPECT_GT(Default(200, 0), Default(100, 0));
  EXPECT_GT(Default(1, 1), Default(1'000'000, 2));
  EXPECT_GT(Default(2, 2), Default(1, 2));
  EXPECT_GE(Default(std::numeric_limits<int64_t>::max(), 0), Default(1, 0));
  EXPECT_GE(Default(-5, 2), 0);
}

TEST(AdviceRules, InliningIsYesOrNo) {
  Question Q(Signature({TensorSpec::create<int64_t>("a")},
                       TensorSpec::create<int64_t>("inlining_decision")),
             raw<int64_t>({1}));
  EXPECT_TRUE(Q.allows<int64_t>(0));
  EXPECT_TRUE(Q.allows<int64_t>(1));
  EXPECT_FALSE(Q.allows<int64_t>(2));
  EXPECT_FALSE(Q.allows<int64_t>(-1));
  EXPECT_EQ(Q.byDefault<int64_t>(), 0);
}

TEST(AdviceRules, ANameAloneDoesNotMakeARule) {
  Signature NoMask({TensorSpec::create<int64_t>("a")},
                   TensorSpec::create<int64_t>("index_to_evict"));
  EXPECT_EQ(AdviceRules(NoMask).kind(), AdviceRules::Kind::Unknown);
  Signature Double({TensorSpec::create<int64_t>("a")},
                   TensorSpec::create<double>("priority"));
  Question Q(Double, raw<int64_t>({1}));
  EXPECT_EQ(Q.Rules.kind(), AdviceRules::Kind::Unknown);
  EXPECT_TRUE(Q.allows(std::nan("")));
  EXPECT_EQ(Q.byDefault<double>(), 0);
}

} // namespace
