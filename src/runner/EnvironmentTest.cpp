//===- EnvironmentTest.cpp - Tests of Environment and Agent ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Environment.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace cbridge;

namespace {

/// Gives the scores that the test has put into the input.
class EchoEngine : public BufferedEngine {
public:
  using BufferedEngine::BufferedEngine;
  Status run(const Call &C) override {
    Rewards.push_back(C.Reward.value_or(-1));
    return Outputs.assign(
        0, {&Outputs.spec(0), Outputs.view(0).Extents, Inputs.view(0).Data});
  }
  Status endEpisode(const Call &C) override {
    Rewards.push_back(C.Reward.value_or(-1));
    ++Ends;
    return Status();
  }
  static inline std::vector<double> Rewards;
  static inline int Ends = 0;
};

Registry withEcho() {
  Registry R = Registry::builtin();
  R.add({"echo", "", {}, [](const RunnerString &, const Signature &Sig) {
           return Expected<EngineSource>(
               [=] { return makeEngine<EchoEngine>(Sig); });
         }});
  return R;
}

Agent echoAgent(std::string Label, int64_t Actions, Selection How = {}) {
  Signature Sig({TensorSpec::create<float>("in", {Actions})},
                TensorSpec::create<float>("scores", {Actions}));
  EchoEngine::Rewards.clear();
  EchoEngine::Ends = 0;
  return *Agent::over(std::move(Label), *Model::open("echo:", Sig, withEcho()),
                      How);
}

Observation scores(const std::vector<float> &Values) {
  return [=](MLModelRunner &R) { R.populateFeatures(std::pair{"in", Values}); };
}

bool Mask[4] = {true, true, true, true};

/// Two agents in turn; each step earns its number.
class Turns : public Environment {
public:
  explicit Turns(int Steps) : Steps(Steps) {}
  Observation reset() override {
    Taken.clear();
    setNextAgent("a");
    return scores({1, 3, 2});
  }
  Observation step(int64_t Action) override {
    Taken.push_back(getNextAgent() + std::to_string(Action));
    setNextAgent(getNextAgent() == "a" ? "b" : "a");
    setReward(double(Taken.size()));
    if (int(Taken.size()) == MaskFrom)
      setMask({true, false, true});
    if (int(Taken.size()) == Steps)
      setDone();
    return scores({1, 3, 2});
  }
  int Steps, MaskFrom = -1;
  std::vector<std::string> Taken;
};

} // namespace

TEST(Agent, TakesTheBestScore) {
  Agent A = echoAgent("a", 4);
  EXPECT_EQ(*A.computeAction(scores({1, 5, 5, 2})), 1);
}

TEST(Agent, TakesTheBestLegalScore) {
  Agent A = echoAgent("a", 4);
  bool NotTheBest[4] = {true, false, false, true};
  EXPECT_EQ(*A.computeAction(scores({1, 5, 5, 2}), NotTheBest), 3);
  bool None[4] = {};
  EXPECT_EQ(A.computeAction(scores({1, 5, 5, 2}), None).status().code(),
            StatusCode::IllegalDecision);
}

TEST(Agent, TellsItsScores) {
  for (auto How : {Selection::ArgMax, Selection::Sample}) {
    Agent A = echoAgent("a", 3, {How});
    EXPECT_TRUE(A.scores().empty());
    bool NotTheBest[3] = {true, false, true};
    ASSERT_TRUE(A.computeAction(scores({1, 5, -2}), NotTheBest));
    EXPECT_EQ(std::vector<double>(A.scores().begin(), A.scores().end()),
              (std::vector<double>{1, 5, -2}));
    float NaN = std::numeric_limits<float>::quiet_NaN();
    ASSERT_FALSE(A.computeAction(scores({1, NaN, 2})));
    EXPECT_TRUE(A.scores().empty());
  }
}

TEST(Agent, RefusesAMaskOfAnotherSize) {
  Agent A = echoAgent("a", 3);
  EXPECT_EQ(A.computeAction(scores({1, 2, 3}), Mask).status().code(),
            StatusCode::ShapeMismatch);
}

TEST(Agent, RefusesScoresThatAreNotNumbers) {
  Agent A = echoAgent("a", 2);
  float NaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(A.computeAction(scores({1, NaN})).status().code(),
            StatusCode::IllegalDecision);
}

TEST(Agent, AnIntegerIsTheAction) {
  Signature Sig({}, TensorSpec::create<int64_t>("action"));
  Expected<Agent> A = Agent::open("a", "constant:2", Sig);
  ASSERT_TRUE(A);
  Observation Nothing = [](MLModelRunner &) {};
  EXPECT_EQ(*A->computeAction(Nothing, Mask), 2);
  bool NotTwo[4] = {true, true, false, true};
  EXPECT_EQ(A->computeAction(Nothing, NotTwo).status().code(),
            StatusCode::IllegalDecision);
}

TEST(Agent, RefusesADecisionThatIsNoAction) {
  Signature Sig({}, TensorSpec::create<int64_t>("action", {3}));
  Expected<Agent> A = Agent::open("picker", "constant:2", Sig);
  ASSERT_FALSE(A);
  EXPECT_NE(A.status().message().find("'picker'"), std::string::npos);
}

static std::vector<int64_t> samples(uint64_t Seed, const char *Context) {
  Agent A = echoAgent("a", 4, {Selection::Sample, Seed});
  A.switchContext(Context);
  std::vector<int64_t> Taken;
  Taken.reserve(4000);
  bool NoThree[4] = {true, true, true, false};
  for (int I = 0; I < 4000; ++I)
    Taken.push_back(*A.computeAction(
        scores({0, std::log(2.0f), std::log(5.0f), 9}), NoThree));
  return Taken;
}

TEST(Agent, SamplesBySoftmaxAmongLegalActions) {
  std::vector<int64_t> Taken = samples(1, "f");
  double Expected[4] = {1 / 8.0, 2 / 8.0, 5 / 8.0, 0};
  for (int64_t Action = 0; Action < 4; ++Action)
    EXPECT_NEAR(double(std::count(Taken.begin(), Taken.end(), Action)) / 4000,
                Expected[Action], 0.04)
        << Action;
}

TEST(Agent, SamplesRepeatForSeedAndContext) {
  EXPECT_EQ(samples(1, "f"), samples(1, "f"));
  EXPECT_NE(samples(1, "f"), samples(2, "f"));
  EXPECT_NE(samples(1, "f"), samples(1, "g"));
}

TEST(Agents, ActInTurnUntilDone) {
  Agents All;
  All.add(echoAgent("a", 3));
  All.add(echoAgent("b", 3));
  Turns Env(3);
  Env.MaskFrom = 1;
  Expected<Episode> E = All.run(Env, "f");
  ASSERT_TRUE(E);
  EXPECT_EQ(Env.Taken, (std::vector<std::string>{"a1", "b2", "a1"}));
  EXPECT_EQ(E->Steps, 3u);
  EXPECT_EQ(E->Reward, 1 + 2 + 3);
  EXPECT_EQ(E->Fallbacks, 0u);
  EXPECT_FALSE(E->Truncated);
}

TEST(Agents, EachAgentEarnsWhatCameOfItsActions) {
  Agents All;
  All.add(echoAgent("a", 3));
  All.add(echoAgent("b", 3));
  Turns Env(3);
  ASSERT_TRUE(All.run(Env));
  // a's first question, b's, a's second with what both steps since then earned;
  // then the ends of a, with reward 3, and of b, with 2 + 3.
  EXPECT_EQ(EchoEngine::Rewards, (std::vector<double>{-1, -1, 3, 3, 5}));
  EXPECT_EQ(EchoEngine::Ends, 2);
}

TEST(Agents, StopAtTheLimit) {
  Agents All;
  All.add(echoAgent("a", 3));
  All.add(echoAgent("b", 3));
  Turns Env(1'000'000);
  Expected<Episode> E = All.run(Env, "", 7);
  ASSERT_TRUE(E);
  EXPECT_EQ(E->Steps, 7u);
  EXPECT_TRUE(E->Truncated);
}

TEST(Agents, FallBackToALegalAction) {
  Agents All;
  Signature Sig({TensorSpec::create<float>("in", {3})},
                TensorSpec::create<int64_t>("action"));
  All.add(*Agent::open("a", "heuristic:", Sig));
  All.add(*Agent::open("b", "constant:1", Sig));
  Turns Env(4);
  Env.MaskFrom = 1; // b's first: 1 is not legal
  Expected<Episode> E = All.run(Env);
  ASSERT_TRUE(E);
  EXPECT_EQ(Env.Taken, (std::vector<std::string>{"a0", "b0", "a0", "b1"}));
  EXPECT_EQ(E->Fallbacks, 3u);
  EXPECT_EQ(E->FirstError.code(), StatusCode::Abstained);
  EXPECT_EQ(All.find("b")->runner().lastError().code(), StatusCode::Ok);
  EXPECT_EQ(All.find("b")->runner().stats().Fallbacks, 1u);
  EXPECT_EQ(All.find("a")->runner().stats().Fallbacks, 2u);
}

TEST(Agents, TheSinkIsToldOfAFallback) {
  std::vector<Status> Told;
  Signature Sig({}, TensorSpec::create<int64_t>("action"));
  Agents All;
  for (const char *Label : {"a", "b"})
    All.add(*Agent::open(Label, "constant:7", Sig, {},
                         [&](const Status &Why) { Told.push_back(Why); }));
  Turns Env(6);
  ASSERT_TRUE(All.run(Env));  // sets a feature that there is not
  ASSERT_EQ(Told.size(), 2u); // once per model
  EXPECT_EQ(Told[0].code(), StatusCode::InvalidArgument);
}

TEST(Agents, RefuseARewardThatIsNotFiniteAndEndTheEpisode) {
  class Broken : public Turns {
  public:
    using Turns::Turns;
    Observation step(int64_t Action) override {
      Observation Next = Turns::step(Action);
      setReward(std::numeric_limits<double>::quiet_NaN());
      return Next;
    }
  } Env(3);
  Agents All;
  All.add(echoAgent("a", 3));
  Expected<Episode> E = All.run(Env);
  ASSERT_FALSE(E);
  EXPECT_EQ(E.status().message(),
            "the reward of step 1, agent 'a', is not finite");
  EXPECT_EQ(EchoEngine::Ends, 1);
}

TEST(Agents, NameTheAgentThatIsMissing) {
  Agents All;
  All.add(echoAgent("a", 3));
  Turns Env(3);
  Expected<Episode> E = All.run(Env);
  ASSERT_FALSE(E);
  EXPECT_EQ(E.status().message(), "there is no agent 'b'; there are a");
}

TEST(Agents, CanRunAgain) {
  Agents All;
  All.add(echoAgent("a", 3));
  All.add(echoAgent("b", 3));
  Turns Env(2);
  ASSERT_TRUE(All.run(Env));
  Expected<Episode> E = All.run(Env);
  ASSERT_TRUE(E);
  EXPECT_EQ(E->Steps, 2u);
}
