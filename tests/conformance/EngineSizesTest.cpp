//===- EngineSizesTest.cpp - Engines and tensors of changing size ---------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EngineFixture.h"

using namespace cbridge;
using namespace cbridge::conformance;

namespace {

/// Fills rows of "dynamic" in place and checks what comes back.
void expectRows(MLModelRunner &R, size_t Count) {
  SCOPED_TRACE(std::to_string(Count) + " rows");
  R.resize("rows", {int64_t(Count), 3});
  Span<float> Rows = R.getTensor<float>("rows");
  ASSERT_EQ(Rows.size(), Count * 3);
  Floats Sum(3, 0), Doubled;
  for (size_t I = 0; I < Rows.size(); ++I) {
    Rows[I] = float((I * 7 + Count) % 16);
    Sum[I % 3] += Rows[I];
    Doubled.push_back(2 * Rows[I]);
  }
  Expected<Decision> D = R.evaluate();
  ASSERT_TRUE(D) << D.status().toString();
  EXPECT_EQ(*D->get<Floats>("sum"), Sum);
  EXPECT_TRUE(*D->get<Floats>("doubled") == Doubled);
  size_t Second = *R.signature().outputIndex("doubled");
  EXPECT_EQ(listed(D->tensor(Second).Extents),
            (std::vector<int64_t>{int64_t(Count), 3}));
  EXPECT_EQ(R.getTensor<float>("rows").data(), Rows.data());
}

class EngineSizesTest : public EveryEngine {};
CBRIDGE_FOR_EVERY_ENGINE(EngineSizesTest);

TEST_P(EngineSizesTest, GrowAndShrink) {
  CBRIDGE_NEEDS_MODEL("dynamic");
  MLModelRunner R = open("dynamic").runner();
  for (size_t Count : {1, 5, 2, 0, 3, 300, 7, 100'000, 0, 1, 4096, 3})
    expectRows(R, Count);
}

TEST_P(EngineSizesTest, ByName) {
  CBRIDGE_NEEDS_MODEL("dynamic");
  MLModelRunner R = open("dynamic").runner();
  for (size_t Count : {2, 40, 0, 1}) {
    R.populateFeatures(std::pair{"rows", Floats(Count * 3, 0.5f)});
    Expected<Decision> D = R.evaluate();
    ASSERT_TRUE(D) << D.status().toString();
    EXPECT_EQ(*D->get<Floats>("sum"), Floats(3, float(Count) / 2));
    EXPECT_EQ(*D->get<Floats>("doubled"), Floats(Count * 3, 1));
  }
}

TEST_P(EngineSizesTest, NothingYet) {
  CBRIDGE_NEEDS_MODEL("dynamic");
  MLModelRunner R = open("dynamic").runner(); // as if of no rows
  Expected<Decision> D = R.evaluate();
  ASSERT_TRUE(D) << D.status().toString();
  EXPECT_EQ(*D->get<Floats>("sum"), Floats(3, 0));
  EXPECT_EQ(*D->get<Floats>("doubled"), Floats());
}

TEST_P(EngineSizesTest, OutputsInEveryOrder) {
  CBRIDGE_NEEDS_MODEL("dynamic");
  // Fixed ones and dynamic ones, also of what has a fixed size in the model.
  for (int64_t OfSum : {int64_t(3), Dynamic})
    for (bool SumFirst : {true, false}) {
      std::vector<TensorSpec> Out = {
          TensorSpec::create<float>("sum", {OfSum}),
          TensorSpec::create<float>("doubled", {Dynamic, 3})};
      if (!SumFirst)
        std::swap(Out[0], Out[1]);
      Model M = open("dynamic", {passOf("dynamic").inputs(), Out});
      MLModelRunner R = M.runner();
      for (size_t Count : {2, 5, 0, 1})
        expectRows(R, Count);
    }
}

TEST_P(EngineSizesTest, AFixedPassAndADynamicModel) {
  CBRIDGE_NEEDS_MODEL("dynamic");
  using Specs = std::vector<TensorSpec>;
  Signature Pass({TensorSpec::create<float>("rows", {2, 3})},
                 Specs{TensorSpec::create<float>("doubled", {2, 3}),
                       TensorSpec::create<float>("sum", {3})});
  MLModelRunner R = open("dynamic", Pass).runner();
  float *Place = R.getTensor<float>(0).data();
  for (float Add : {0.0f, 10.0f}) {
    for (size_t I = 0; I < 6; ++I)
      Place[I] = float(I) + Add;
    Expected<Decision> D = R.evaluate();
    ASSERT_TRUE(D) << D.status().toString();
    EXPECT_EQ(*D->get<Floats>("sum"),
              (Floats{3 + 2 * Add, 5 + 2 * Add, 7 + 2 * Add}));
    EXPECT_EQ((*D->get<Floats>("doubled"))[5], 2 * (5 + Add));
    EXPECT_EQ(R.getTensor<float>(0).data(), Place);
  }
}

TEST_P(EngineSizesTest, ADynamicPassAndAFixedModel) {
  Model M = open("affine", {{TensorSpec::create<float>("x", {Dynamic})},
                            TensorSpec::create<float>("y", {Dynamic})});
  MLModelRunner R = M.runner();
  for (size_t I = 0; I < 3; ++I) {
    // Of these, four elements are what the model takes.
    for (size_t Count : {5, 3, 0}) {
      R.populateFeatures(std::pair{"x", Floats(Count, 1)});
      expectSays(R.evaluate().status(), {"'x'"});
    }
    EXPECT_EQ(R.evaluateOr<float>([] { return 99.0f; }), 99.0f);
    EXPECT_TRUE(M.whyNot().ok()) << M.whyNot().toString();
    EXPECT_EQ(ask(R, nth(I)), affine(nth(I)));
  }
  EXPECT_EQ(R.stats().Decisions, 3u);
  EXPECT_EQ(R.stats().Fallbacks, 3u);
}

TEST_P(EngineSizesTest, WrongExtentsFailOneDecision) {
  CBRIDGE_NEEDS_MODEL("dynamic");
  Signature Pass({TensorSpec::create<float>("rows", {Dynamic, Dynamic})},
                 passOf("dynamic").outputs());
  Model M = open("dynamic", Pass);
  MLModelRunner R = M.runner();
  for (int64_t Columns : {4, 2, 0}) {
    R.resize("rows", {2, Columns});
    for (int Round = 0; Round < 2; ++Round)
      expectSays(R.evaluate().status(), {"'rows'"});
    EXPECT_TRUE(M.whyNot().ok()) << M.whyNot().toString();
    expectRows(R, size_t(Columns));
  }
}

TEST_P(EngineSizesTest, AnOutputOfAnotherSizeFailsOneDecision) {
  CBRIDGE_NEEDS_MODEL("dynamic");
  Model M = open("dynamic", {passOf("dynamic").inputs(),
                             TensorSpec::create<float>("doubled", {2, 3})});
  MLModelRunner R = M.runner();
  for (size_t Wrong : {3, 1, 0, 1000}) {
    R.populateFeatures(std::pair{"rows", Floats(Wrong * 3, 1)});
    expectSays(R.evaluate().status(), {"'doubled'"});
    EXPECT_TRUE(M.whyNot().ok()) << M.whyNot().toString();
    R.populateFeatures(std::pair{"rows", Floats(6, float(Wrong))});
    auto Y = R.evaluate<Floats>();
    ASSERT_TRUE(Y) << Y.status().toString();
    EXPECT_EQ(*Y, Floats(6, 2 * float(Wrong)));
  }
}

TEST_P(EngineSizesTest, FeaturesOfDifferentSize) {
  CBRIDGE_NEEDS_MODEL("symbolic");
  Model M = open("symbolic");
  MLModelRunner R = M.runner();
  using Ints = std::vector<int64_t>;
  for (size_t Count : {3, 2, 5}) {
    R.populateFeatures(std::pair{"a", Ints(Count, 4)},
                       std::pair{"b", Ints(Count + 4, 5)});
    EXPECT_FALSE(R.evaluate());
    EXPECT_TRUE(M.whyNot().ok()) << M.whyNot().toString();
    R.populateFeatures(std::pair{"b", Ints(Count, 5)});
    auto Y = R.evaluate<Ints>();
    ASSERT_TRUE(Y) << Y.status().toString();
    EXPECT_EQ(*Y, Ints(Count, 9));
  }
}

} // namespace
