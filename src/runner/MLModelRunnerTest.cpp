//===- MLModelRunnerTest.cpp - Tests of runners ---------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runner/TestEngine.h"

#include <algorithm>
#include <array>
#include <limits>

using namespace cbridge;

using Values = std::vector<std::optional<double>>;

static Signature countToIndex() {
  return {{TensorSpec::create<int64_t>("count")},
          TensorSpec::create<int64_t>("index")};
}

/// Decides what 'count' is.
static Status echo(const TensorStorage &In, TensorStorage &Out, const Call &) {
  put(Out, 0, In.view(0).as<int64_t>()[0]);
  return Status();
}

static MLModelRunner runnerOf(const char *Text, Signature Sig) {
  Expected<Model> M = Model::open(Text, std::move(Sig));
  EXPECT_TRUE(M) << M.status().toString();
  return M->runner();
}

/// Decides whatever next() said last.
class ScriptedRunner {
public:
  explicit ScriptedRunner(TensorSpec Decision)
      : R(openTest({{}, std::move(Decision)}, [this](const TensorStorage &,
                                                     TensorStorage &Out,
                                                     const Call &) {
            unsigned char *To = Out.bytes(0).data();
            EXPECT_TRUE(Next.store(Out.spec(0).type(), To));
            return Status();
          }).runner()) {}
  std::string decide(Number Value) {
    Next = Value;
    return R.evaluate().status().toString();
  }

private:
  Number Next = 0;

public:
  MLModelRunner R;
};

TEST(MLModelRunnerTest, DecidesFromItsFeatures) {
  Model M =
      openTest({{TensorSpec::create<int64_t>("a"),
                 TensorSpec::create<float>("b", {Dynamic})},
                TensorSpec::create<double>("sum")},
               [](const TensorStorage &In, TensorStorage &Out, const Call &) {
                 auto Sum = double(In.view(0).as<int64_t>()[0]);
                 for (float F : In.view(1).as<float>())
                   Sum += double(F);
                 put(Out, 0, Sum);
                 return Status();
               });
  MLModelRunner R = M.runner();
  R.populateFeatures(std::pair{"b", std::vector<float>{0.5f, 0.25f}},
                     std::pair{"a", 3});
  EXPECT_EQ(R.evaluate<double>().valueOr(0), 3.75);
  // The others keep their values.
  R.populateFeatures(std::pair{"a", 5});
  EXPECT_EQ(R.evaluate<double>().valueOr(0), 5.75);
  R.getTensor<float>("b")[0] = 1;
  R.getTensor<int64_t>(0)[0] = -1;
  EXPECT_EQ(R.evaluate<double>().valueOr(0), 0.25);
}

TEST(MLModelRunnerTest, UnknownFeatureIsNamedOnceThenForgotten) {
  MLModelRunner R = openTest(countToIndex(), echo).runner();
  R.populateFeatures(std::pair{"count", 1}, std::pair{"cuont", 2},
                     std::pair{"other", 3});
  EXPECT_EQ(R.evaluate<int>().status().toString(),
            "invalid_argument: there is no feature 'cuont'; the signature has "
            "count");
  EXPECT_EQ(R.evaluate<int>().valueOr(0), 1);
}

TEST(MLModelRunnerTest, WrongTypeGivesScratchAndTheNextEvaluateSaysSo) {
  MLModelRunner R = openTest(countToIndex(), echo).runner();
  R.populateFeatures(std::pair{"count", 7});
  Span<float> Scratch = R.getTensor<float>(0);
  ASSERT_GE(Scratch.size(), 1u);
  std::fill(Scratch.begin(), Scratch.end(), 1.0f);
  EXPECT_EQ(R.getTensor<int64_t>(0)[0], 7);
  EXPECT_EQ(R.evaluate<int>().status().toString(),
            "type_mismatch: getTensor<float>(0): 'count' is int64_t[1]");
  EXPECT_EQ(R.evaluate<int>().valueOr(0), 7);
}

TEST(MLModelRunnerTest, ScratchIsAsLargeAsTheFeatureThatWasMeant) {
  MLModelRunner R =
      runnerOf("constant:1", {{TensorSpec::create<float>("embedding", {2000})},
                              TensorSpec::create<int64_t>("out")});
  Span<float> Misspelt = R.getTensor<float>("embeding");
  ASSERT_GE(Misspelt.size(), 2000u);
  Misspelt[1999] = 1;
  EXPECT_EQ(R.evaluate<int64_t>().status().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(R.evaluate<int64_t>().valueOr(0), 1);
}

TEST(MLModelRunnerTest, NoSuchTensorGivesScratch) {
  MLModelRunner R = openTest(countToIndex(), echo).runner();
  R.getTensor<double>(5)[0] = 1;
  EXPECT_EQ(R.evaluate<int>().status().toString(),
            "invalid_argument: getTensor<double>(5): there are 1 features");
  R.getTensor<double>("nope")[0] = 1;
  EXPECT_EQ(R.evaluate<int>().status().toString(),
            "invalid_argument: there is no feature 'nope'; the signature has "
            "count");
  R.resize(5, {1});
  EXPECT_EQ(R.evaluate<int>().status().toString(),
            "invalid_argument: resize(5): there are 1 features");
  R.resize(0, {2});
  EXPECT_EQ(R.evaluate<int>().status().toString(),
            "shape_mismatch: 'count': is int64_t[1], got shape [2]");
  EXPECT_TRUE(R.evaluate<int>());
}

TEST(MLModelRunnerTest, StringsHaveNoElementsToGet) {
  MLModelRunner R =
      openTest({{TensorSpec::create<std::string>("s")},
                TensorSpec::create<bool>("d")},
               [](const TensorStorage &In, TensorStorage &, const Call &) {
                 EXPECT_EQ(In.view(0).string(0), "text");
                 return Status();
               })
          .runner();
  R.populateFeatures(std::pair{"s", "text"});
  Span<uint8_t> Scratch = R.getTensor<uint8_t>(0);
  std::fill(Scratch.begin(), Scratch.end(), uint8_t(0xFF));
  EXPECT_EQ(R.evaluate<bool>().status().toString(),
            "type_mismatch: getTensor<uint8_t>(0): 's' is string[1]");
  EXPECT_TRUE(R.evaluate<bool>());
}

TEST(MLModelRunnerTest, FixedTensorsNeverMove) {
  Model M = openTest({{TensorSpec::create<int64_t>("fixed", {4}),
                       TensorSpec::create<float>("dynamic", {Dynamic}),
                       TensorSpec::create<double>("also")},
                      TensorSpec::create<bool>("d")},
                     [](const TensorStorage &, TensorStorage &, const Call &) {
                       return Status();
                     });
  MLModelRunner R = M.runner();
  int64_t *Fixed = R.getTensor<int64_t>(0).data();
  double *Also = R.getTensor<double>(2).data();
  float *Grown = nullptr;
  for (int64_t Size = 1; Size <= (1 << 20); Size *= 16) {
    R.resize(1, {Size});
    Span<float> Values = R.getTensor<float>(1);
    ASSERT_EQ(Values.size(), size_t(Size));
    EXPECT_TRUE(!Grown || Grown == Values.data());
    Grown = Values.data();
    Values[size_t(Size) - 1] = float(Size);
    ASSERT_TRUE(R.evaluate<bool>());
  }
  EXPECT_EQ(Grown[0], 1.0f);
  EXPECT_EQ(Grown[15], 16.0f);
  MLModelRunner Moved = std::move(R);
  EXPECT_EQ(Moved.getTensor<int64_t>("fixed").data(), Fixed);
  EXPECT_EQ(Moved.getTensor<double>("also").data(), Also);
  EXPECT_EQ(Moved.getTensor<float>("dynamic").data(), Grown);
}

TEST(MLModelRunnerTest, EvaluateConvertsScalarsWhereTheValueIsKept) {
  enum class Choice : int64_t { Seven = 7 };
  MLModelRunner R = openTest(countToIndex(), echo).runner();
  R.populateFeatures(std::pair{"count", 7});
  EXPECT_EQ(R.evaluate<int64_t>().valueOr(0), 7);
  EXPECT_EQ(R.evaluate<uint8_t>().valueOr(0), 7);
  EXPECT_EQ(R.evaluate<double>().valueOr(0), 7.0);
  EXPECT_EQ(R.evaluate<Choice>().valueOr(Choice()), Choice::Seven);
  EXPECT_EQ(R.evaluate<bool>().status().toString(),
            "type_mismatch: decision 'index' is 7, which no bool can be");
  R.populateFeatures(std::pair{"count", 300});
  EXPECT_EQ(R.evaluate<uint8_t>().status().code(), StatusCode::TypeMismatch);
  R.populateFeatures(std::pair{"count", -1});
  EXPECT_EQ(R.evaluate<uint64_t>().status().code(), StatusCode::TypeMismatch);
}

TEST(MLModelRunnerTest, EvaluateGivesRanges) {
  MLModelRunner R = runnerOf(
      "constant:2", {{}, TensorSpec::create<float>("priorities", {3})});
  Expected<Span<const float>> View = R.evaluate<Span<const float>>();
  ASSERT_TRUE(View);
  EXPECT_EQ(std::vector<float>(View->begin(), View->end()),
            (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(R.evaluate<std::vector<float>>().valueOr({}),
            (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(R.evaluate<std::vector<double>>().status().toString(),
            "type_mismatch: decision 'priorities' is float[3] and cannot be "
            "read as double");
  EXPECT_EQ(R.evaluate<float>().status().toString(),
            "shape_mismatch: decision 'priorities' has 3 elements, wanted one");
  EXPECT_EQ(R.evaluate<std::string>().status().code(),
            StatusCode::TypeMismatch);
}

TEST(MLModelRunnerTest, BooleansAreElementsLikeOthers) {
  Model M =
      openTest({{TensorSpec::create<bool>("in", {5})},
                TensorSpec::create<bool>("out", {5})},
               [](const TensorStorage &In, TensorStorage &Out, const Call &) {
                 for (size_t I = 0; I < 5; ++I)
                   put(Out, 0, !In.view(0).as<bool>()[I], I);
                 return Status();
               });
  MLModelRunner R = M.runner();
  ASSERT_EQ(R.getTensor<bool>(0).size(), 5u);
  R.getTensor<bool>(0)[3] = true;
  EXPECT_EQ(R.evaluate<std::vector<bool>>().valueOr({}),
            (std::vector<bool>{true, true, true, false, true}));
  EXPECT_EQ(R.evaluate<Span<const bool>>().valueOr({}).size(), 5u);
}

TEST(MLModelRunnerTest, EvaluateGivesStrings) {
  MLModelRunner R =
      runnerOf("constant:-O3", {{}, TensorSpec::create<std::string>("flags")});
  EXPECT_EQ(R.evaluate<std::string>().valueOr(""), "-O3");
  EXPECT_EQ(R.evaluate<std::string_view>().valueOr(""), "-O3");
  EXPECT_EQ(R.evaluate<int>().status().toString(),
            "type_mismatch: decision 'flags' is string[1] and cannot be read "
            "as a number");
  MLModelRunner Two = runnerOf(
      "constant:-g", {{}, TensorSpec::create<std::string>("flags", {2})});
  EXPECT_EQ(Two.evaluate<std::vector<std::string>>().valueOr({}),
            (std::vector<std::string>{"-g", "-g"}));
}

TEST(MLModelRunnerTest, DecisionsHaveNamedOutputs) {
  Model M =
      openTest({{},
                std::vector{TensorSpec::create<int32_t>("factor"),
                            TensorSpec::create<float>("scores", {Dynamic}),
                            TensorSpec::create<std::string>("why")}},
               [](const TensorStorage &, TensorStorage &Out, const Call &) {
                 put(Out, 0, int32_t(4));
                 EXPECT_TRUE(Out.resize(1, {2}).ok());
                 put(Out, 1, 0.5f, 1);
                 return Out.setStrings(2, {std::string_view("hot")}, {1});
               });
  MLModelRunner R = M.runner();
  Expected<Decision> D = R.evaluate();
  ASSERT_TRUE(D);
  EXPECT_EQ(D->size(), 3u);
  EXPECT_EQ(D->get<int>().valueOr(0), 4);
  EXPECT_EQ(D->get<int>("factor").valueOr(0), 4);
  EXPECT_EQ(D->get<std::vector<float>>("scores").valueOr({}),
            (std::vector<float>{0, 0.5f}));
  EXPECT_EQ(D->get<std::string_view>("why").valueOr(""), "hot");
  EXPECT_EQ(D->get<std::string>(2).valueOr(""), "hot");
  EXPECT_EQ(D->tensor(1).Extents[0], 2);
  EXPECT_EQ(D->get<int>("what").status().toString(),
            "invalid_argument: there is no output 'what'; the signature has "
            "factor, scores, why");
  EXPECT_EQ(D->get<int>(3).status().code(), StatusCode::InvalidArgument);
}

TEST(MLModelRunnerTest, MasksRefuseButDoNotStick) {
  ScriptedRunner S(TensorSpec::create<int64_t>("index"));
  S.R.setMask(std::array{true, false, true});
  EXPECT_EQ(S.decide(0), "ok");
  EXPECT_EQ(S.decide(1), "illegal_decision: decision 'index': 1 is masked out");
  EXPECT_EQ(S.decide(2), "ok");
  EXPECT_EQ(S.decide(3), "illegal_decision: decision 'index': 3 is masked out");
  EXPECT_EQ(S.decide(-1),
            "illegal_decision: decision 'index': -1 is masked out");
  S.R.setMask(std::array{false, true});
  EXPECT_EQ(S.decide(1), "ok");
  S.R.setMask({});
  EXPECT_EQ(S.decide(99), "ok");
  EXPECT_EQ(S.R.stats().Illegal, 3u);
  EXPECT_EQ(S.R.stats().Decisions, 4u);
  EXPECT_TRUE(S.R.model().whyNot().ok());
}

TEST(MLModelRunnerTest, MasksOfRealDecisionsWantWholeIndices) {
  ScriptedRunner S(TensorSpec::create<float>("index"));
  S.R.setMask(std::array{true, true});
  EXPECT_EQ(S.decide(1), "ok");
  EXPECT_EQ(S.decide(0.5),
            "illegal_decision: decision 'index': 0.5 is masked out");
}

TEST(MLModelRunnerTest, RangesIncludeTheirEnds) {
  ScriptedRunner S(TensorSpec::create<double>("factor"));
  S.R.setRange(1, 8);
  EXPECT_EQ(S.decide(1), "ok");
  EXPECT_EQ(S.decide(8), "ok");
  EXPECT_EQ(S.decide(8.5),
            "illegal_decision: decision 'factor': 8.5 is out of range");
  EXPECT_EQ(S.decide(0),
            "illegal_decision: decision 'factor': 0 is out of range");
  S.R.clearRange();
  EXPECT_EQ(S.decide(1e9), "ok");
  EXPECT_EQ(S.R.stats().Illegal, 2u);
}

TEST(MLModelRunnerTest, RangesOfIntegersAreExact) {
  Expected<Model> M = Model::open("constant:9007199254740993", // 2^53 + 1
                                  {{}, TensorSpec::create<int64_t>("y")});
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner R = M->runner();
  R.setRange(0, 9007199254740992.0);
  EXPECT_EQ(R.evaluate<int64_t>().status().code(), StatusCode::IllegalDecision);
  R.setRange(9007199254740992.0, 9007199254740994.0);
  EXPECT_EQ(*R.evaluate<int64_t>(), 9007199254740993);
}

TEST(MLModelRunnerTest, NotANumberIsAlwaysIllegal) {
  ScriptedRunner S(TensorSpec::create<float>("priority"));
  EXPECT_EQ(S.decide(std::numeric_limits<double>::quiet_NaN()),
            "illegal_decision: decision 'priority': nan is not a number");
  EXPECT_EQ(S.decide(std::numeric_limits<double>::infinity()), "ok");
  EXPECT_EQ(S.decide(0), "ok");
  EXPECT_EQ(S.R.stats().Illegal, 1u);
}

TEST(MLModelRunnerTest, RulesHoldForEveryElementAndForTheirOutputOnly) {
  float Last = 1;
  Model M = openTest(
      {{},
       std::vector{TensorSpec::create<float>("a"),
                   TensorSpec::create<float>("b", {3})}},
      [&Last](const TensorStorage &, TensorStorage &Out, const Call &) {
        put(Out, 0, 100.0f);
        put(Out, 1, Last, 2);
        return Status();
      });
  MLModelRunner R = M.runner();
  R.setRange(0, 1, 1);
  EXPECT_TRUE(R.evaluate());
  Last = 2;
  EXPECT_EQ(R.evaluate().status().toString(),
            "illegal_decision: decision 'b': 2 is out of range");
}

TEST(MLModelRunnerTest, RulesForNoOutputAreMisuse) {
  MLModelRunner R = runnerOf("constant:1", countToIndex());
  R.setMask(std::array{true}, 1);
  EXPECT_EQ(R.evaluate<int>().status().toString(),
            "invalid_argument: setMask: there is no output 1");
  R.setRange(0, 1, 1);
  EXPECT_EQ(R.evaluate<int>().status().toString(),
            "invalid_argument: setRange: there is no output 1");
  R.clearRange(1);
  EXPECT_EQ(R.evaluate<int>().valueOr(0), 1);
}

TEST(MLModelRunnerTest, EvaluateOrFallsBackAndSaysWhy) {
  MLModelRunner R = openTest(countToIndex(), echo).runner();
  R.populateFeatures(std::pair{"count", 5});
  auto Heuristic = [] { return 42; };
  EXPECT_EQ(R.evaluateOr<int>(Heuristic), 5);
  EXPECT_TRUE(R.lastError().ok());
  R.populateFeatures(std::pair{"nope", 5});
  EXPECT_EQ(R.evaluateOr<int>(Heuristic), 42);
  EXPECT_EQ(R.lastError().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(R.evaluateOr<int>(Heuristic), 5);
  EXPECT_TRUE(R.lastError().ok());
  EXPECT_EQ(R.stats().Decisions, 2u);
  EXPECT_EQ(R.stats().Fallbacks, 1u);
}

TEST(MLModelRunnerTest, EvaluateOrFallsBackFromAnUnreadableDecision) {
  MLModelRunner R = openTest(countToIndex(), echo).runner();
  R.populateFeatures(std::pair{"count", 2});
  EXPECT_EQ(R.evaluateOr<bool>([] { return true; }), true);
  EXPECT_EQ(R.lastError().code(), StatusCode::TypeMismatch);
}

TEST(MLModelRunnerTest, RewardsTravelOnceWithTheNextDecision) {
  Values Seen;
  Model M = openTest(countToIndex(), [&Seen](const TensorStorage &,
                                             TensorStorage &, const Call &C) {
    Seen.push_back(C.Reward);
    return Status();
  });
  MLModelRunner R = M.runner();
  EXPECT_EQ(R.reward(1).toString(),
            "invalid_argument: there is no decision to reward yet");
  ASSERT_TRUE(R.evaluate());
  EXPECT_TRUE(R.reward(0.5).ok());
  EXPECT_EQ(R.reward(0.75).toString(),
            "invalid_argument: the latest decision has its reward already");
  ASSERT_TRUE(R.evaluate());
  ASSERT_TRUE(R.evaluate());
  EXPECT_EQ(R.reward(std::numeric_limits<double>::infinity()).toString(),
            "invalid_argument: a reward must be finite");
  EXPECT_TRUE(R.reward(-1).ok());
  ASSERT_TRUE(R.evaluate());
  EXPECT_EQ(Seen, (Values{std::nullopt, 0.5, std::nullopt, -1.0}));
}

TEST(MLModelRunnerTest, RewardsOfTheHeuristicAreIgnored) {
  Values Seen;
  Model M = openTest(countToIndex(), [&Seen](const TensorStorage &,
                                             TensorStorage &, const Call &C) {
    Seen.push_back(C.Reward);
    return Status();
  });
  MLModelRunner R = M.runner();
  R.populateFeatures(std::pair{"nope", 1});
  EXPECT_EQ(R.evaluateOr<int>([] { return 1; }), 1);
  EXPECT_TRUE(R.reward(0.5).ok());
  EXPECT_TRUE(R.reward(0.5).ok());
  ASSERT_TRUE(R.evaluate());
  EXPECT_EQ(Seen, Values{std::nullopt});
}

TEST(MLModelRunnerTest, AMistakeDoesNotLoseTheRewardOfTheDecisionBefore) {
  Values Seen;
  Model M = openTest(countToIndex(), [&Seen](const TensorStorage &,
                                             TensorStorage &, const Call &C) {
    Seen.push_back(C.Reward);
    return Status();
  });
  MLModelRunner R = M.runner();
  ASSERT_TRUE(R.evaluate());
  ASSERT_TRUE(R.reward(0.5).ok());
  R.populateFeatures(std::pair{"nope", 1});
  EXPECT_FALSE(R.evaluate());
  ASSERT_TRUE(R.evaluate());
  EXPECT_EQ(Seen, (Values{std::nullopt, 0.5}));
}

TEST(MLModelRunnerTest, EpisodesEndOnceWithTheLastReward) {
  std::vector<std::string> Log;
  auto Note = [&Log](const char *What) {
    return [&Log, What](const TensorStorage &, TensorStorage &, const Call &C) {
      Log.push_back(What + std::string(C.Context) +
                    (C.Reward ? " " + Number(*C.Reward).toString() : ""));
      return Status();
    };
  };
  Model M = openTest(countToIndex(), Note("run "), Note("end "));
  {
    MLModelRunner R = M.runner();
    EXPECT_TRUE(R.endEpisode().ok()); // none is open
    R.switchContext("main");
    ASSERT_TRUE(R.evaluate());
    ASSERT_TRUE(R.reward(1.5).ok());
    EXPECT_TRUE(R.endEpisode().ok());
    EXPECT_TRUE(R.endEpisode().ok());
    EXPECT_FALSE(R.reward(1).ok());
    R.switchContext("f");
    ASSERT_TRUE(R.evaluate());
    MLModelRunner Moved = std::move(R);
    ASSERT_TRUE(Moved.reward(2).ok());
  } // ends the episode that is open
  EXPECT_EQ(Log, (std::vector<std::string>{"run main", "end main 1.5", "run f",
                                           "end f 2"}));
}

TEST(MLModelRunnerTest, AssigningARunnerEndsItsEpisode) {
  std::vector<double> Ended;
  Model M =
      openTest(countToIndex(), echo,
               [&Ended](const TensorStorage &, TensorStorage &, const Call &C) {
                 Ended.push_back(C.Reward.value_or(0));
                 return Status();
               });
  MLModelRunner A = M.runner(), B = M.runner();
  ASSERT_TRUE(A.evaluate());
  ASSERT_TRUE(A.reward(1).ok());
  ASSERT_TRUE(B.evaluate());
  A = std::move(B);
  EXPECT_EQ(Ended, std::vector<double>{1});
  EXPECT_EQ(M.stats().Decisions, 1u);
  ASSERT_TRUE(A.evaluate());
}
