//===- EngineAnswersTest.cpp - Engines give the right answers -------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EngineFixture.h"

#include <algorithm>
#include <limits>

using namespace cbridge;
using namespace cbridge::conformance;

namespace {

class EngineAnswersTest : public EveryEngine {
protected:
  /// y = x[2], x[0], x[1].
  template <typename T> void expectElements(std::array<T, 3> X) {
    std::string Name = "elements_" + std::string(toString(elementTypeOf<T>()));
    if (!has(Name))
      return;
    SCOPED_TRACE(Name);
    MLModelRunner R = open(Name).runner();
    for (int Round = 0; Round < 3; ++Round) {
      R.populateFeatures(std::pair{"x", Span<const T>(X)});
      auto Y = R.evaluate<Span<const T>>();
      ASSERT_TRUE(Y) << Y.status().toString();
      ASSERT_EQ(Y->size(), 3u);
      // As bits: -0.0 is not 0.0.
      auto Bits = [](const T &Of) {
        return std::string(reinterpret_cast<const char *>(&Of), sizeof(T));
      };
      for (size_t I : {0, 1, 2})
        EXPECT_EQ(Bits((*Y)[I]), Bits(X[(I + 2) % 3]))
            << "element " << I << " is " << (*Y)[I];
      std::rotate(X.begin(), X.begin() + 1, X.end());
    }
  }
  template <typename T> void expectExtremes() {
    using Limits = std::numeric_limits<T>;
    expectElements<T>({Limits::lowest(), T(1), Limits::max()});
  }
};
CBRIDGE_FOR_EVERY_ENGINE(EngineAnswersTest);

TEST_P(EngineAnswersTest, ByName) {
  Model M = open("affine");
  {
    MLModelRunner R = M.runner();
    EXPECT_EQ(ask(R, {1, 2, 3, 4}), (Floats{40, 22, -37}));
    EXPECT_EQ(ask(R, {0, 0, 0, 0}), (Floats{10, 20, -30}));
    EXPECT_EQ(ask(R, {-1, 0.5, 2, -3}), (Floats{4, 23, -27.5}));
    for (size_t I = 0; I < 200; ++I)
      ASSERT_EQ(ask(R, nth(I)), affine(nth(I))) << I;
    R.populateFeatures(std::pair{"x", Floats{4, 3, 2, 1}});
    EXPECT_EQ(R.evaluateOr<Floats>([] { return Floats(); }),
              affine({4, 3, 2, 1}));
    EXPECT_TRUE(R.lastError().ok());
  }
  EXPECT_EQ(M.stats().Decisions, 204u);
  EXPECT_EQ(M.stats().Fallbacks, 0u);
}

TEST_P(EngineAnswersTest, AsTheModelDescribesItself) {
  if (!engine().Describes)
    GTEST_SKIP() << engine().Name << ": only the user knows what a model takes";
  for (const ModelUnderTest &Each : modelsUnderTest()) {
    if (!has(Each.Name))
      continue;
    SCOPED_TRACE(Each.Name);
    Expected<Signature> Own = Model::describe(runnerString(Each.Name));
    ASSERT_TRUE(Own) << Own.status().toString();
    EXPECT_EQ(Own->inputs().size(), Each.Pass.inputs().size());
    EXPECT_EQ(Own->outputs().size(), Each.Pass.outputs().size());
    for (const TensorSpec &Feature : Each.Pass.inputs()) {
      std::optional<size_t> I = Own->inputIndex(Feature.name());
      ASSERT_TRUE(I) << Feature.name();
      EXPECT_EQ(Own->inputs()[*I].type(), Feature.type());
      if (Each.Name != "batched") {
        EXPECT_EQ(Own->inputs()[*I].typeAndShape(), Feature.typeAndShape());
      }
    }
    MLModelRunner R = open(Each.Name, *Own).runner();
    if (Each.Name == "affine") {
      EXPECT_EQ(ask(R, nth(1)), affine(nth(1)));
    }
  }
}

TEST_P(EngineAnswersTest, InPlace) {
  MLModelRunner R = open("affine").runner();
  Span<float> X = R.getTensor<float>(0);
  ASSERT_EQ(X.size(), 4u);
  EXPECT_EQ(R.getTensor<float>("x").data(), X.data());
  for (size_t I = 0; I < 50; ++I) {
    Four Values = nth(I);
    std::copy(Values.begin(), Values.end(), X.begin());
    Expected<Decision> D = R.evaluate();
    ASSERT_TRUE(D) << D.status().toString();
    ASSERT_EQ(*D->get<Floats>("y"), affine(Values)) << I;
  }
}

TEST_P(EngineAnswersTest, EveryElementType) {
  expectElements<bool>({true, false, false});
  expectExtremes<int8_t>();
  expectExtremes<int16_t>();
  expectExtremes<int32_t>();
  expectExtremes<int64_t>();
  expectExtremes<uint8_t>();
  expectExtremes<uint16_t>();
  expectExtremes<uint32_t>();
  expectExtremes<uint64_t>();
  expectExtremes<float>();
  expectExtremes<double>();
  expectElements<float>({-0.0f, std::numeric_limits<float>::denorm_min(),
                         std::numeric_limits<float>::infinity()});
  expectElements<double>({-0.0, std::numeric_limits<double>::denorm_min(),
                          -std::numeric_limits<double>::infinity()});
}

TEST_P(EngineAnswersTest, Strings) {
  CBRIDGE_NEEDS_MODEL("elements_string");
  MLModelRunner R = open("elements_string").runner();
  using Strings = std::vector<std::string>;
  auto Ask = [&R](const Strings &X) {
    R.populateFeatures(std::pair{"x", X});
    return R.evaluate<Strings>();
  };
  EXPECT_EQ(R.evaluate<Strings>().valueOr(Strings()), Strings(3, ""));
  // Whoever cannot take a NUL must say so, not cut the string off.
  const Strings Nul = {"a", std::string("b\0c", 3), "d"};
  if (auto Y = Ask(Nul); Y)
    EXPECT_EQ(*Y, (Strings{Nul[2], Nul[0], Nul[1]}));
  else
    expectSays(Y.status(), {"'x'", "NUL"});
  for (const Strings &X : {Strings{"one", "two", "three"},
                           Strings{"", std::string(100'000, 'x'), ""},
                           Strings{"\u00fc\u4e2d", "a\nb", "\xff"}}) {
    auto Y = Ask(X);
    ASSERT_TRUE(Y) << Y.status().toString();
    EXPECT_TRUE((*Y == Strings{X[2], X[0], X[1]})) << X[0];
  }
}

/// Features of "multi" and its decisions.
struct Multi {
  bool Flag;
  Four Reals;
  std::array<int64_t, 3> Ints;

  void fill(MLModelRunner &R) const {
    R.populateFeatures(std::pair{"ints", Ints},
                       std::pair{"reals", Span<const float>(Reals)},
                       std::pair{"flag", Flag});
  }
  int64_t total() const { return Ints[0] + Ints[1] + Ints[2]; }
  Floats scaled() const {
    Floats To(Reals.begin(), Reals.end());
    for (float &F : To)
      F *= Flag ? 2.0f : 1.0f;
    return To;
  }
  /// Whatever of them the pass wants.
  void expect(const Decision &D, const Signature &Pass) const {
    for (const TensorSpec &Each : Pass.outputs())
      if (Each.name() == "total")
        EXPECT_EQ(*D.get<int64_t>("total"), total());
      else if (Each.name() == "not_flag")
        EXPECT_EQ(*D.get<bool>("not_flag"), !Flag);
      else
        EXPECT_EQ(listed(*D.get<Span<const float>>("scaled")), scaled());
  }
};

const Multi Multis[] = {{true, {1, 2, 3, 4}, {5, 6, 7}},
                        {false, {0.5, -2, 0, 9}, {-1, int64_t(1) << 60, 0}},
                        {true, {-1, -1, 8, 0}, {0, 0, -9}}};

TEST_P(EngineAnswersTest, TensorsInEveryOrder) {
  CBRIDGE_NEEDS_MODEL("multi");
  Signature Pass = passOf("multi");
  std::vector<TensorSpec> In = Pass.inputs(), Out = Pass.outputs();
  for (int Round = 0; Round < 6; ++Round) {
    std::rotate(In.begin(), In.begin() + 1, In.end());
    std::swap(Out[0], Out[1 + size_t(Round) % 2]);
    Model M = open("multi", {In, Out});
    MLModelRunner R = M.runner();
    for (const Multi &Each : Multis) {
      Each.fill(R);
      Expected<Decision> D = R.evaluate();
      ASSERT_TRUE(D) << D.status().toString();
      EXPECT_EQ(D->size(), 3u);
      Each.expect(*D, M.signature());
      for (size_t I = 0; I < 3; ++I)
        EXPECT_EQ(D->tensor(I).Spec->name(), Out[I].name());
    }
  }
}

TEST_P(EngineAnswersTest, OnlySomeOutputs) {
  CBRIDGE_NEEDS_MODEL("multi");
  Signature Pass = passOf("multi");
  for (size_t Left = 0; Left < 3; ++Left) {
    std::vector<TensorSpec> Out = Pass.outputs();
    Out.erase(Out.begin() + std::ptrdiff_t(Left));
    for (; !Out.empty(); Out.pop_back()) {
      Model M = open("multi", {Pass.inputs(), Out});
      MLModelRunner R = M.runner();
      for (const Multi &Each : Multis) {
        Each.fill(R);
        Expected<Decision> D = R.evaluate();
        ASSERT_TRUE(D) << D.status().toString();
        Each.expect(*D, M.signature());
      }
    }
  }
}

TEST_P(EngineAnswersTest, LeadingExtentsOfOne) {
  auto Spec = [](const char *Name, std::vector<int64_t> Shape) {
    return TensorSpec::create<float>(Name, std::move(Shape));
  };
  for (const char *Name : {"batched", "affine"})
    for (const Signature &Pass :
         {Signature({Spec("x", {4})}, Spec("y", {3})),
          Signature({Spec("x", {1, 4})}, Spec("y", {1, 3})),
          Signature({Spec("x", {1, 1, 4})}, Spec("y", {3}))}) {
      if (!has(Name))
        continue;
      SCOPED_TRACE(Name + Pass.inputs()[0].typeAndShape());
      MLModelRunner R = open(Name, Pass).runner();
      for (size_t I = 0; I < 5; ++I) {
        Four X = nth(I);
        std::copy(X.begin(), X.end(), R.getTensor<float>(0).begin());
        Expected<Decision> D = R.evaluate();
        ASSERT_TRUE(D) << D.status().toString();
        EXPECT_EQ(*D->get<Floats>(), affine(X));
        EXPECT_EQ(listed(D->tensor(0).Extents),
                  listed(Pass.outputs()[0].shape()));
      }
    }
}

TEST_P(EngineAnswersTest, Scalars) {
  CBRIDGE_NEEDS_MODEL("scalar");
  MLModelRunner R = open("scalar").runner();
  for (float X : {0.0f, 1.5f, -8.0f}) {
    R.populateFeatures(std::pair{"x", X});
    Expected<float> Y = R.evaluate<float>();
    ASSERT_TRUE(Y) << Y.status().toString();
    EXPECT_EQ(*Y, 2 * X + 1);
  }
}

TEST_P(EngineAnswersTest, EightExtents) {
  CBRIDGE_NEEDS_MODEL("rank8");
  MLModelRunner R = open("rank8").runner();
  Span<int32_t> X = R.getTensor<int32_t>(0);
  ASSERT_EQ(X.size(), 48u);
  for (size_t I = 0; I < 48; ++I)
    X[I] = int32_t(I) * 1001;
  auto Y = R.evaluate<Span<const int32_t>>();
  ASSERT_TRUE(Y) << Y.status().toString();
  ASSERT_EQ(Y->size(), 48u);
  // x[a,_,b,_,c,_,d,e] is y[e,d,_,c,_,b,_,a].
  for (size_t A : {0, 1})
    for (size_t B : {0, 1})
      for (size_t C : {0, 1})
        for (size_t D : {0, 1})
          for (size_t E : {0, 1, 2})
            EXPECT_EQ((*Y)[E * 16 + D * 8 + C * 4 + B * 2 + A],
                      X[A * 24 + B * 12 + C * 6 + D * 3 + E]);
}

TEST_P(EngineAnswersTest, WithoutInputs) {
  CBRIDGE_NEEDS_MODEL("no_inputs");
  Signature Pass = passOf("no_inputs");
  for (const Signature &Sig :
       {Pass, Signature({TensorSpec::create<float>("x")}, Pass.outputs())}) {
    MLModelRunner R = open("no_inputs", Sig).runner();
    for (int Round = 0; Round < 3; ++Round) {
      auto Y = R.evaluate<std::vector<int64_t>>();
      ASSERT_TRUE(Y) << Y.status().toString();
      EXPECT_EQ(*Y, (std::vector<int64_t>{7, -7}));
    }
  }
}

TEST_P(EngineAnswersTest, FeaturesKeepTheirValues) {
  CBRIDGE_NEEDS_MODEL("multi");
  MLModelRunner R = open("multi").runner();
  Multi Now = Multis[0];
  auto Expect = [&] {
    Expected<Decision> D = R.evaluate();
    ASSERT_TRUE(D) << D.status().toString();
    Now.expect(*D, R.signature());
  };
  Now.fill(R);
  Expect();
  Expect();
  Now.Flag = false;
  R.populateFeatures(std::pair{"flag", false});
  Expect();
  Now.Ints[1] = R.getTensor<int64_t>("ints")[1] = 1000;
  Expect();
}

TEST_P(EngineAnswersTest, FeaturesThatTheModelDoesNotKnow) {
  Signature Pass({TensorSpec::create<int64_t>("more", {5}),
                  TensorSpec::create<float>("x", {4}),
                  TensorSpec::create<double>("rows", {Dynamic, 2}),
                  TensorSpec::create<std::string>("names", {Dynamic})},
                 TensorSpec::create<float>("y", {3}));
  MLModelRunner R = open("affine", Pass).runner();
  Span<int64_t> More = R.getTensor<int64_t>("more");
  ASSERT_EQ(More.size(), 5u);
  for (size_t I = 0; I < 20; ++I) {
    std::fill(More.begin(), More.end(), int64_t(I) - 7);
    std::vector<double> Rows(I % 5 * 2, double(I));
    std::vector<std::string> Names(I % 3, "name");
    R.populateFeatures(std::pair{"rows", Rows}, std::pair{"names", Names});
    ASSERT_EQ(ask(R, nth(I)), affine(nth(I)));
    EXPECT_EQ(R.getTensor<int64_t>("more").data(), More.data());
    EXPECT_EQ(More[4], int64_t(I) - 7);
    EXPECT_EQ(R.getTensor<double>("rows").size(), Rows.size());
  }
}

TEST_P(EngineAnswersTest, InputsStayWhereAndAsTheyAre) {
  CBRIDGE_NEEDS_MODEL("multi");
  MLModelRunner R = open("multi").runner();
  std::vector<MutableBytes> Places;
  for (size_t I = 0; I < 3; ++I)
    Places.push_back(R.getTensorUntyped(I));
  for (const Multi &Each : Multis) {
    Each.fill(R);
    std::vector<std::vector<unsigned char>> Before;
    for (MutableBytes Place : Places)
      Before.emplace_back(Place.begin(), Place.end());
    for (int Round = 0; Round < 3; ++Round) {
      Expected<Decision> D = R.evaluate();
      ASSERT_TRUE(D) << D.status().toString();
      for (size_t I = 0; I < 3; ++I) {
        EXPECT_EQ(R.getTensorUntyped(I).data(), Places[I].data());
        EXPECT_TRUE(
            std::equal(Before[I].begin(), Before[I].end(), Places[I].begin()));
      }
      Each.expect(*D, R.signature());
    }
  }
}

TEST_P(EngineAnswersTest, OutputsStayUntilTheNextDecision) {
  CBRIDGE_NEEDS_MODEL("identity"); // whose output could be its input
  Model M = open("identity");
  MLModelRunner R = M.runner(), Other = M.runner();
  setX(R, {1, 2, 3, 4});
  auto Y = R.evaluate<Span<const float>>();
  ASSERT_TRUE(Y) << Y.status().toString();
  setX(R, {5, 6, 7, 8});
  setX(Other, {9, 9, 9, 9});
  EXPECT_EQ(Other.evaluate<Floats>().valueOr(Floats()), Floats(4, 9));
  EXPECT_EQ(listed(*Y), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(R.evaluate<Floats>().valueOr(Floats()), (Floats{5, 6, 7, 8}));
}

} // namespace
