//===- InlineClimbTest.cpp - Tests ----------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InlineClimb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace cbridge::driver;

namespace {

/// What inlining one callee into one caller does to their sizes.
struct Effect {
  int64_t OnCaller, OnCallee;
  bool Default;
};

/// A module whose decisions have known effects.
class Program {
public:
  std::map<CallPair, Effect> Calls;
  std::map<std::string, int64_t> Sizes;
  std::map<CallPair, float> Scores;

  InlinedObject compile(const InlineClimb::Way &Way) const {
    InlinedObject Made;
    std::map<std::string, int64_t> Now = Sizes;
    for (const auto &[Pair, Does] : Calls) {
      auto At = Way.find(Pair);
      bool Inlined = At == Way.end() ? Does.Default : At->second;
      if (Inlined) {
        Now[Pair.first] += Does.OnCaller;
        Now[Pair.second] += Does.OnCallee;
      }
      auto Score = Scores.find(Pair);
      Made.Decisions[Pair] = {Inlined, Does.Default,
                              Score == Scores.end()
                                  ? std::optional<float>()
                                  : std::optional<float>(Score->second)};
    }
    for (const auto &[Name, Size] : Now)
      if (Size > 0) {
        Made.Functions[Name] = uint64_t(Size);
        Made.Bytes += uint64_t(Size) + 24;
      }
    return Made;
  }
};

/// Ten callers with a callee each; what LLVM decides is wrong for every third.
Program apart() {
  Program P;
  for (int I = 0; I < 10; ++I) {
    std::string Caller = "caller" + std::to_string(I),
                Callee = "callee" + std::to_string(I);
    P.Sizes[Caller] = P.Sizes[Callee] = 100;
    P.Calls[{Caller, Callee}] = {I % 3 ? -10 : 10, 0, I % 2 == 0};
  }
  return P;
}

struct Climbed {
  uint64_t Best;
  size_t Compiles;
  std::vector<InlineClimb::Way> Ways;
};

Climbed climb(const Program &P, const InlineClimb::Way &Model, size_t Budget) {
  InlinedObject Plain = P.compile({}), ByModel = P.compile(Model);
  Climbed Result = {std::min(Plain.Bytes, ByModel.Bytes), 2, {}};
  Plain.Decisions.clear(); // nobody knows them
  InlineClimb Climb(Plain, ByModel);
  while (true) {
    std::vector<InlineClimb::Way> Next = Climb.next(Budget - Result.Compiles);
    if (Next.empty())
      return Result;
    std::vector<InlinedObject> Made;
    std::vector<const InlinedObject *> Told;
    for (const InlineClimb::Way &Each : Next) {
      Made.push_back(P.compile(Each));
      Result.Best = std::min(Result.Best, Made.back().Bytes);
      Result.Ways.push_back(Each);
    }
    Result.Compiles += Next.size();
    for (const InlinedObject &Each : Made)
      Told.push_back(&Each);
    Climb.learn(Told);
  }
}

uint64_t smallest(const Program &P) {
  InlineClimb::Way Way;
  for (const auto &[Pair, Does] : P.Calls)
    Way[Pair] = Does.OnCaller + Does.OnCallee < 0;
  return P.compile(Way).Bytes;
}

TEST(InlineClimbTest, IndependentDecisionsTakeOneTrial) {
  Program P = apart();
  Climbed Result = climb(P, {}, 8);
  EXPECT_EQ(Result.Best, smallest(P));
  EXPECT_LE(Result.Compiles, 8u);
  EXPECT_EQ(climb(P, {}, 4).Best, smallest(P));
}

TEST(InlineClimbTest, TakesTheBetterOfBothPartByPart) {
  Program P = apart();
  // The model is right about the first five, and about the others unless LLVM
  // is.
  InlineClimb::Way Model;
  for (const auto &[Pair, Does] : P.Calls)
    Model[Pair] = Pair.first < "caller5" ? Does.OnCaller < 0 : !Does.Default;
  EXPECT_GT(P.compile({}).Bytes, smallest(P));
  EXPECT_GT(P.compile(Model).Bytes, smallest(P));
  EXPECT_EQ(climb(P, Model, 3).Best, smallest(P));
}

TEST(InlineClimbTest, NeverMoreThanTheBudget) {
  Program P = apart();
  for (size_t Budget = 2; Budget < 12; ++Budget) {
    Climbed Result = climb(P, {}, Budget);
    EXPECT_LE(Result.Compiles, Budget);
    EXPECT_LE(Result.Best, P.compile({}).Bytes);
  }
  EXPECT_EQ(climb(P, {}, 2).Compiles, 2u);
}

TEST(InlineClimbTest, EndsWhenAllIsTried) {
  EXPECT_LT(climb(apart(), {}, 64).Compiles, 12u);
  EXPECT_EQ(climb(Program(), {}, 64).Compiles, 2u);
}

TEST(InlineClimbTest, TheSameEveryTime) {
  EXPECT_EQ(climb(apart(), {}, 8).Ways, climb(apart(), {}, 8).Ways);
}

/// A function that vanishes if it is inlined by all: one move alone is bad.
TEST(InlineClimbTest, AllCallsOfAFunctionTogether) {
  Program P;
  P.Sizes["small"] = 40;
  for (const char *Caller : {"a", "b"}) {
    P.Sizes[Caller] = 100;
    P.Calls[{Caller, "small"}] = {5, -20, false};
  }
  // Until both are there, nothing is saved.
  P.Calls[{"a", "small"}].OnCallee = 0;
  P.Calls[{"b", "small"}].OnCallee = -40;
  P.Calls[{"b", "small"}].OnCaller = 45;
  EXPECT_LT(climb(P, {}, 8).Best, P.compile({}).Bytes);
}

/// All touch one function, so that one can be tried at a time.
TEST(InlineClimbTest, TheLeastSureComesFirst) {
  Program P;
  P.Sizes["caller"] = 1000;
  for (int I = 0; I < 9; ++I) {
    CallPair Pair = {"caller", "callee" + std::to_string(I)};
    P.Sizes[Pair.second] = 50;
    P.Calls[Pair] = {I == 7 ? -30 : 10, 0, false};
    P.Scores[Pair] = I == 7 ? -0.1f : -2.0f;
  }
  EXPECT_EQ(climb(P, {}, 4).Best, smallest(P));
  P.Scores.clear();
  EXPECT_GT(climb(P, {}, 4).Best, smallest(P));
}

/// Functions that call others at random, and effects at random.
Program random(std::minstd_rand &Random) {
  Program P;
  auto Between = [&](int Low, int High) {
    return Low + int(Random() / 16 % unsigned(High - Low + 1));
  };
  const int Functions = Between(2, 12);
  for (int I = 0; I < Functions; ++I)
    P.Sizes["f" + std::to_string(I)] = Between(20, 400);
  for (int I = Between(0, 30); I > 0; --I) {
    CallPair Pair = {"f" + std::to_string(Between(0, Functions - 1)),
                     "f" + std::to_string(Between(0, Functions - 1))};
    P.Calls[Pair] = {Between(-40, 60), Between(-60, 0), Between(0, 1) == 1};
    if (Between(0, 2))
      P.Scores[Pair] = float(Between(-30, 30)) / 10;
  }
  return P;
}

TEST(InlineClimbTest, WhateverTheProgram) {
  size_t Better = 0;
  constexpr unsigned Programs = 300;
  for (unsigned Seed = 1; Seed <= Programs; ++Seed) {
    std::minstd_rand Random(Seed);
    Program P = random(Random);
    InlineClimb::Way Model;
    for (const auto &[Pair, Does] : P.Calls)
      Model[Pair] = Random() / 16 % 2;
    uint64_t Two = climb(P, Model, 2).Best;
    for (size_t Budget : {3, 4, 8, 64}) {
      Climbed Result = climb(P, Model, Budget);
      EXPECT_LE(Result.Compiles, Budget);
      EXPECT_EQ(Result.Ways, climb(P, Model, Budget).Ways);
      EXPECT_LE(Result.Best, Two);
      for (const InlineClimb::Way &Each : Result.Ways) {
        EXPECT_FALSE(Each.empty());
        for (const auto &[Pair, Inlined] : Each)
          EXPECT_EQ(P.Calls.count(Pair), 1u) << Pair.first << Pair.second;
      }
      Better += Budget == 8 && Result.Best < Two;
    }
  }
  EXPECT_GT(Better, Programs / 2);
}

/// Calls that are only there if something else is inlined are tried, too.
TEST(InlineClimbTest, CallsThatCameWithOthers) {
  InlinedObject Plain, Inner;
  Plain.Bytes = 300;
  Plain.Functions = {{"a", 100}, {"b", 100}, {"c", 50}};
  InlinedObject ByModel = Plain;
  ByModel.Decisions[{"a", "b"}] = {false, false, {}};
  InlineClimb Climb(Plain, ByModel);
  std::vector<InlineClimb::Way> First = Climb.next(8);
  ASSERT_EQ(First.size(), 1u);
  EXPECT_EQ(First[0], (InlineClimb::Way{{{"a", "b"}, true}}));
  Inner.Bytes = 250;
  Inner.Functions = {{"a", 120}, {"c", 50}};
  Inner.Decisions = {{{"a", "b"}, {true, false, {}}},
                     {{"a", "c"}, {false, false, {}}}};
  Climb.learn({&Inner});
  std::vector<InlineClimb::Way> Second = Climb.next(7);
  ASSERT_FALSE(Second.empty());
  bool Tried = false;
  for (const InlineClimb::Way &Each : Second)
    Tried |= Each == InlineClimb::Way{{{"a", "b"}, true}, {{"a", "c"}, true}};
  EXPECT_TRUE(Tried);
}

TEST(InlineClimbTest, WhatFailedTogetherIsTriedInSmallerNumbers) {
  Program P = apart();
  InlinedObject Plain = P.compile({});
  InlineClimb Climb(Plain, Plain);
  for (size_t Most : {10, 5, 2, 1}) {
    std::vector<InlineClimb::Way> Next = Climb.next(8);
    ASSERT_FALSE(Next.empty());
    EXPECT_EQ(Next[0].size(), Most);
    Climb.learn(std::vector<const InlinedObject *>(Next.size()));
  }
  // One that fails alone is not tried again.
  size_t Alone = 2;
  while (!Climb.next(8).empty()) {
    Climb.learn(std::vector<const InlinedObject *>(InlineClimb::Width));
    ++Alone;
  }
  EXPECT_LE(Alone, 10u);
}

TEST(InlineClimbTest, WhatWasGoodIsNotUndone) {
  Program P = apart();
  InlinedObject Plain = P.compile({});
  InlineClimb Climb(Plain, Plain);
  std::vector<InlineClimb::Way> First = Climb.next(8);
  ASSERT_EQ(First.size(), 1u); // all decisions at once
  InlinedObject Made = P.compile(First[0]);
  Climb.learn({&Made});
  std::vector<InlineClimb::Way> Last = Climb.next(7);
  ASSERT_EQ(Last.size(), 1u);
  EXPECT_EQ(P.compile(Last[0]).Bytes, smallest(P));
  EXPECT_TRUE(Climb.next(6).empty());
}

/// All of a large module hangs together.
TEST(InlineClimbTest, LargeModules) {
  Program P;
  for (int I = 0; I < 20000; ++I) {
    std::string Caller = "caller" + std::to_string(I);
    P.Sizes[Caller] = 100;
    P.Calls[{Caller, "everybodys"}] = {I % 2 ? 5 : -5, 0, I % 3 == 0};
    P.Calls[{"main", Caller}] = {1, -1, true};
  }
  P.Sizes["everybodys"] = P.Sizes["main"] = 50;
  InlineClimb::Way Model;
  for (const auto &[Pair, Does] : P.Calls)
    Model[Pair] = !Does.Default;
  EXPECT_LE(climb(P, Model, 8).Compiles, 8u);
}

} // namespace
