//===- EngineLifeTest.cpp - Engines, threads, copies and forks ------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EngineFixture.h"
#include "ThisProcess.h"
#include "log/LogTest.h"

#include <atomic>
#include <thread>

#include <unistd.h>

using namespace cbridge;
using namespace cbridge::conformance;

namespace {

class EngineLifeTest : public EveryEngine {};
CBRIDGE_FOR_EVERY_ENGINE(EngineLifeTest);

void inThreads(size_t Count, const std::function<void(size_t)> &Each) {
  std::vector<std::thread> Threads;
  for (size_t T = 0; T < Count; ++T)
    Threads.emplace_back(Each, T);
  for (std::thread &T : Threads)
    T.join();
}

TEST_P(EngineLifeTest, RunnersOfOneModelAreIndependent) {
  Model M = open("affine");
  MLModelRunner A = M.runner(), B = M.runner();
  EXPECT_NE(A.getTensor<float>(0).data(), B.getTensor<float>(0).data());
  setX(A, nth(1));
  setX(B, nth(2));
  for (int Round = 0; Round < 3; ++Round) {
    auto OfA = A.evaluate<Span<const float>>();
    auto OfB = B.evaluate<Span<const float>>();
    ASSERT_TRUE(OfA && OfB) << OfA.status().toString();
    EXPECT_EQ(listed(*OfA), affine(nth(1)));
    EXPECT_EQ(listed(*OfB), affine(nth(2)));
  }
  {
    MLModelRunner C = M.runner();
    EXPECT_EQ(ask(C, nth(3)), affine(nth(3)));
  }
  EXPECT_EQ(A.evaluate<Floats>().valueOr(Floats()), affine(nth(1)));
  EXPECT_EQ(B.evaluate<Floats>().valueOr(Floats()), affine(nth(2)));
}

TEST_P(EngineLifeTest, ModelsOfOneFileAreIndependent) {
  Model First = open("affine");
  MLModelRunner A = First.runner();
  {
    MLModelRunner B = open("affine").runner();
    EXPECT_EQ(ask(B, nth(1)), affine(nth(1)));
    EXPECT_EQ(ask(A, nth(2)), affine(nth(2)));
  }
  EXPECT_EQ(ask(A, nth(3)), affine(nth(3)));
}

TEST_P(EngineLifeTest, ARunnerThatIsMoved) {
  Model M = open("affine");
  MLModelRunner A = M.runner();
  setX(A, nth(1));
  float *Place = A.getTensor<float>(0).data();
  MLModelRunner B = std::move(A);
  EXPECT_EQ(B.getTensor<float>(0).data(), Place);
  EXPECT_EQ(B.evaluate<Floats>().valueOr(Floats()), affine(nth(1)));
  MLModelRunner C = M.runner();
  setX(C, nth(2));
  C = std::move(B);
  EXPECT_EQ(C.getTensor<float>(0).data(), Place);
  EXPECT_EQ(C.evaluate<Floats>().valueOr(Floats()), affine(nth(1)));
  std::vector<MLModelRunner> Many;
  for (size_t I = 0; I < 10; ++I) {
    Many.push_back(M.runner());
    setX(Many.back(), nth(I));
  }
  for (size_t I = 0; I < 10; ++I)
    EXPECT_EQ(Many[I].evaluate<Floats>().valueOr(Floats()), affine(nth(I)));
}

TEST_P(EngineLifeTest, ARunnerOutlivesTheModel) {
  auto M = std::make_unique<Model>(open("affine"));
  MLModelRunner A = M->runner(), B = M->runner();
  M.reset();
  EXPECT_EQ(ask(A, nth(1)), affine(nth(1)));
  EXPECT_EQ(ask(B, nth(2)), affine(nth(2)));
}

TEST_P(EngineLifeTest, ManyModelsLeaveNothingBehind) {
  auto Use = [this](size_t I) {
    Model M = open("affine");
    MLModelRunner R = M.runner(), Idle = M.runner();
    EXPECT_EQ(ask(R, nth(I)), affine(nth(I)));
    // And one that cannot be had.
    EXPECT_FALSE(
        Model::open(runnerString("affine"), {{}, R.signature().outputs()})
            ->whyNot()
            .ok());
  };
  for (size_t I = 0; I < 20; ++I) // what a library keeps for good
    Use(I);
  size_t Files = openFiles(), Threads = threads(), Maps = mappings(),
         Heap = heapInUse();
  for (size_t I = 0; I < 100; ++I)
    Use(I);
  EXPECT_EQ(openFiles(), Files);
  EXPECT_EQ(threads(), Threads);
  // Allocators come to rest a little later.
  EXPECT_LE(mappings(), Maps + (Sanitized ? 20 : 3));
  EXPECT_LE(heapInUse(), Heap + 100'000) << "before: " << Heap;
}

TEST_P(EngineLifeTest, ThreadsGetTheSameAnswers) {
  constexpr size_t Count = 10'000, Different = 64;
  Model M = open("affine");
  std::vector<Floats> Alone;
  {
    MLModelRunner R = M.runner();
    for (size_t I = 0; I < Different; ++I)
      Alone.push_back(ask(R, nth(I)));
  }
  std::atomic<size_t> Wrong = 0;
  inThreads(8, [&](size_t T) {
    MLModelRunner R = M.runner();
    Span<float> X = R.getTensor<float>(0);
    for (size_t I = T; I < T + Count; ++I) {
      Four Values = nth(I % Different);
      std::copy(Values.begin(), Values.end(), X.begin());
      auto Y = R.evaluate<Span<const float>>();
      const Floats &Same = Alone[I % Different];
      Wrong += !Y || !std::equal(Same.begin(), Same.end(), Y->begin());
    }
  });
  EXPECT_EQ(Wrong, 0u);
  EXPECT_EQ(Alone[5], affine(nth(5)));
  EXPECT_EQ(M.stats().Decisions, 8 * Count + Different);
}

TEST_P(EngineLifeTest, ThreadsWithSizesOfTheirOwn) {
  CBRIDGE_NEEDS_MODEL("dynamic");
  Model M = open("dynamic");
  std::atomic<size_t> Wrong = 0;
  inThreads(4, [&](size_t T) {
    MLModelRunner R = M.runner();
    for (size_t I = 0; I < 500; ++I) {
      size_t Count = (I * (T + 3)) % 50;
      R.populateFeatures(std::pair{"rows", Floats(Count * 3, float(T))});
      Expected<Decision> D = R.evaluate();
      Wrong += !D || *D->get<Floats>("sum") != Floats(3, float(T * Count)) ||
               *D->get<Floats>("doubled") != Floats(Count * 3, float(2 * T));
    }
  });
  EXPECT_EQ(Wrong, 0u);
}

TEST_P(EngineLifeTest, ThreadsThatOpenModels) {
  // The first of this process, if the test runs alone: the library is loaded
  // once.
  std::atomic<size_t> Wrong = 0;
  inThreads(8, [&](size_t T) {
    for (size_t I = T; I < T + 10; ++I) {
      MLModelRunner R = open("affine").runner();
      Wrong += ask(R, nth(I)) != affine(nth(I));
    }
  });
  EXPECT_EQ(Wrong, 0u);
}

TEST_P(EngineLifeTest, ARunnerMovesToAnotherThread) {
  MLModelRunner R = open("affine").runner();
  EXPECT_EQ(ask(R, nth(1)), affine(nth(1)));
  inThreads(1, [R = &R](size_t) {
    EXPECT_EQ(ask(*R, nth(2)), affine(nth(2)));
    MLModelRunner Dies = std::move(*R);
  });
}

TEST_P(EngineLifeTest, RecordedDecisionsAreReplayed) {
  TemporaryFolder Folder;
  auto Decide = [](const Model &M) {
    std::vector<Floats> Taken;
    MLModelRunner R = M.runner();
    for (size_t I = 0; I < 30; ++I) {
      R.switchContext("f" + std::to_string(I % 3));
      Taken.push_back(ask(R, nth(I)));
    }
    return Taken;
  };
  std::string Logs = Folder / "logs/";
  std::vector<Floats> Taken = Decide(open("affine", "record=" + Logs));
  EXPECT_EQ(Taken[7], affine(nth(7)));
  EXPECT_EQ(Decide(*Model::open("replay:" + Logs, passOf("affine"))), Taken);
  // Recording changes nothing.
  EXPECT_EQ(Decide(open("affine")), Taken);
}

TEST_P(EngineLifeTest, SizesAreRecordedAsWell) {
  CBRIDGE_NEEDS_MODEL("dynamic");
  TemporaryFolder Folder;
  auto Decide = [](const Model &M) {
    std::vector<Floats> Taken;
    MLModelRunner R = M.runner();
    for (size_t I : {3, 0, 7, 1}) {
      R.populateFeatures(std::pair{"rows", Floats(I * 3, float(I))});
      Expected<Decision> D = R.evaluate();
      EXPECT_TRUE(D) << D.status().toString();
      Taken.push_back(D ? *D->get<Floats>("doubled") : Floats());
    }
    return Taken;
  };
  std::string Logs = Folder / "logs/";
  std::vector<Floats> Taken = Decide(open("dynamic", "record=" + Logs));
  EXPECT_EQ(Taken[0], Floats(9, 6));
  EXPECT_EQ(Decide(*Model::open("replay:" + Logs, passOf("dynamic"))), Taken);
}

TEST_P(EngineLifeTest, WhatTheModelDoesNotTakeIsRecorded) {
  TemporaryFolder Folder;
  std::vector<TensorSpec> Inputs = passOf("affine").inputs();
  Inputs.push_back(TensorSpec::create<std::string>("name"));
  Inputs.push_back(TensorSpec::create<float>("more", {Dynamic}));
  Signature Pass(Inputs, passOf("affine").outputs());
  std::string Logs = Folder / "logs/";
  {
    MLModelRunner R = open("affine", Pass, "record=" + Logs).runner();
    for (size_t I = 0; I < 4; ++I) {
      R.populateFeatures(std::pair{"name", std::string(10 * I, 'a')},
                         std::pair{"more", Floats(5 * I, float(I))});
      EXPECT_EQ(ask(R, nth(I)), affine(nth(I)));
    }
  }
  Expected<Model> M = Model::open("replay:" + Logs, Pass);
  ASSERT_TRUE(M);
  MLModelRunner R = M->runner();
  for (size_t I = 0; I < 4; ++I) {
    R.populateFeatures(std::pair{"name", std::string(10 * I, 'a')},
                       std::pair{"more", Floats(5 * I, float(I))});
    EXPECT_EQ(ask(R, nth(I)), affine(nth(I)));
  }
}

TEST_P(EngineLifeTest, AForkDoesNotHarmTheParent) {
  Model M = open("affine");
  MLModelRunner R = M.runner();
  EXPECT_EQ(ask(R, nth(1)), affine(nth(1)));
  // The child may get an error, but neither hangs nor dies.
  pid_t Child = forkToRun([&] {
    setX(R, nth(2));
    auto Y = R.evaluate<Floats>();
    if (Y && *Y != affine(nth(2)))
      return 1;
    return M.runner().evaluateOr<float>([] { return 1.0f; }) == 1.0f ? 0 : 2;
  });
  EXPECT_EQ(ask(R, nth(3)), affine(nth(3)));
  EXPECT_EQ(waitForExit(Child), 0);
  EXPECT_EQ(ask(R, nth(4)), affine(nth(4)));
  EXPECT_EQ(M.stats().Decisions, 0u); // which the child has not told
}

} // namespace
