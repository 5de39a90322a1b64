//===- ModelTest.cpp - Tests of models ------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runner/TestEngine.h"

#include <atomic>
#include <thread>

using namespace cbridge;

static Signature countToIndex() {
  return {{TensorSpec::create<int64_t>("count")},
          TensorSpec::create<int64_t>("index")};
}

static std::string openError(const char *Text, Signature Sig = countToIndex()) {
  return Model::open(Text, std::move(Sig)).status().toString();
}

/// Collects what a FallbackSink is told.
struct Told {
  std::vector<std::string> All;
  Model::FallbackSink sink() {
    return [this](const Status &Why) { All.push_back(Why.toString()); };
  }
};

/// A scheme that cannot be opened, or whose engines cannot be made.
static Registry brokenScheme(const Status &OpenFails, const Status &EngineFails,
                             int *EnginesAsked = nullptr) {
  Registry R;
  R.add({"broken", "", {}, [=](const RunnerString &, const Signature &) {
           if (!OpenFails)
             return Expected<EngineSource>(OpenFails);
           return Expected<EngineSource>(
               EngineSource([=]() -> Expected<std::unique_ptr<Engine>> {
                 if (EnginesAsked)
                   ++*EnginesAsked;
                 return EngineFails;
               }));
         }});
  return R;
}

TEST(ModelTest, ConstantDecidesAlwaysTheSame) {
  Expected<Model> M = Model::open("constant:7", countToIndex());
  ASSERT_TRUE(M);
  EXPECT_TRUE(M->whyNot().ok());
  EXPECT_EQ(M->runnerString(), "constant:7");
  EXPECT_EQ(M->signature(), countToIndex());
  MLModelRunner R = M->runner();
  R.populateFeatures(std::pair{"count", 1});
  EXPECT_EQ(R.evaluate<int>().valueOr(0), 7);
}

TEST(ModelTest, ConstantsOfEveryKind) {
  auto Decide = [](const char *Text, TensorSpec Spec) {
    return Model::open(Text, {{}, std::move(Spec)})->runner();
  };
  EXPECT_EQ(Decide("constant:true", TensorSpec::create<bool>("d"))
                .evaluate<bool>()
                .valueOr(false),
            true);
  EXPECT_EQ(Decide("constant:-2.5", TensorSpec::create<float>("d"))
                .evaluate<float>()
                .valueOr(0),
            -2.5f);
  EXPECT_EQ(
      Decide("constant:18446744073709551615", TensorSpec::create<uint64_t>("d"))
          .evaluate<uint64_t>()
          .valueOr(0),
      ~uint64_t(0));
  EXPECT_EQ(Decide("constant:nan", TensorSpec::create<float>("d"))
                .evaluate<float>()
                .status()
                .code(),
            StatusCode::IllegalDecision);
}

TEST(ModelTest, ConstantRefusesOtherValues) {
  EXPECT_EQ(openError("constant:2.5"),
            "invalid_argument: runner string, column 10: '2.5' is no value for "
            "'index', which is int64_t[1]\n"
            "  constant:2.5\n"
            "           ^");
  for (const char *Text : {"constant:", "constant:x", "constant:1x",
                           "constant: 1", "constant:18446744073709551616"})
    EXPECT_NE(openError(Text), "ok") << Text;
  EXPECT_NE(openError("constant:256", {{}, TensorSpec::create<uint8_t>("d")}),
            "ok");
}

TEST(ModelTest, ARefusalDoesNotHideThatTheModelIsClosedLater) {
  Told Sink;
  int Asked = 0;
  Model M = openTest(
      countToIndex(),
      [&](const TensorStorage &, TensorStorage &, const Call &) {
        return ++Asked <= 2
                   ? Status::error(StatusCode::PeerError, "not this time")
                   : Status::error(StatusCode::PeerClosed, "gone");
      },
      nullptr, Sink.sink());
  MLModelRunner R = M.runner();
  for (int I = 0; I < 6; ++I)
    (void)R.evaluateOr<int>([] { return 0; });
  EXPECT_EQ(Sink.All, (std::vector<std::string>{"peer_error: not this time",
                                                "peer_closed: gone"}));
}

TEST(ModelTest, HeuristicLeavesDecisionsToThePass) {
  Told Sink;
  Expected<Model> M = Model::open("heuristic:", countToIndex(), Sink.sink());
  ASSERT_TRUE(M);
  EXPECT_EQ(M->whyNot().toString(), "abstained: heuristic: has no model");
  {
    MLModelRunner R = M->runner();
    for (int I = 0; I < 3; ++I) {
      R.populateFeatures(std::pair{"count", I});
      EXPECT_EQ(R.evaluateOr<int>([] { return 9; }), 9);
    }
    EXPECT_EQ(R.evaluate<int>().status().code(), StatusCode::Abstained);
  }
  EXPECT_TRUE(Sink.All.empty()) << "no news to whoever chose it";
  EXPECT_EQ(M->stats().Fallbacks, 3u);
  EXPECT_EQ(M->stats().Decisions, 0u);
}

TEST(ModelTest, MalformedStringsAndSignaturesFailWhateverOnErrorSays) {
  EXPECT_PRED_FORMAT2(testing::IsSubstring,
                      "column 1: there is no scheme "
                      "'magic:'; there are constant:, ",
                      openError("magic:x"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "expected ':'",
                      openError("constant"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "has no option 'typo'",
                      openError("constant:1?typo=1"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "is none of fallback, fail",
                      openError("constant:1?on_error=ignore"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "takes no target",
                      openError("heuristic:x"));
  EXPECT_EQ(openError("constant:1", Signature()),
            "invalid_argument: the signature has no decision");
}

TEST(ModelTest, OnErrorSaysWhetherAMissingModelFailsOpen) {
  Status Gone = Status::error(StatusCode::Unavailable, "nobody there");
  Registry R = brokenScheme(Gone, Status());
  Told Sink;
  Expected<Model> M = Model::open("broken:", countToIndex(), R, Sink.sink());
  ASSERT_TRUE(M);
  EXPECT_EQ(M->whyNot().toString(), "unavailable: nobody there");
  EXPECT_EQ(M->runner().evaluateOr<int>([] { return 3; }), 3);
  EXPECT_EQ(Sink.All, std::vector<std::string>{"unavailable: nobody there"});
  EXPECT_TRUE(Model::open("broken:?on_error=fallback", countToIndex(), R).ok());
  EXPECT_EQ(Model::open("broken:?on_error=fail", countToIndex(), R)
                .status()
                .toString(),
            "unavailable: nobody there");
}

TEST(ModelTest, InvalidArgumentFailsOpenEvenWithFallback) {
  Registry R =
      brokenScheme(Status::error(StatusCode::InvalidArgument, "no"), Status());
  EXPECT_EQ(Model::open("broken:", countToIndex(), R).status().toString(),
            "invalid_argument: no");
}

TEST(ModelTest, EnginesThatCannotBeMadeAbstain) {
  int Asked = 0;
  Expected<Model> M = Model::open(
      "broken:", countToIndex(),
      brokenScheme(Status(), Status::error(StatusCode::OutOfMemory, "full"),
                   &Asked));
  ASSERT_TRUE(M);
  MLModelRunner R = M->runner();
  R.populateFeatures(std::pair{"count", 1});
  EXPECT_EQ(R.evaluate<int>().status().toString(), "out_of_memory: full");
  EXPECT_TRUE(M->whyNot().ok()); // the next runner may have more luck
  (void)M->runner();
  EXPECT_EQ(Asked, 2);
}

TEST(ModelTest, EnginesWithoutATransportCloseTheModel) {
  int Asked = 0;
  Expected<Model> M = Model::open(
      "broken:", countToIndex(),
      brokenScheme(Status(), Status::error(StatusCode::PeerClosed, "gone"),
                   &Asked));
  ASSERT_TRUE(M);
  (void)M->runner();
  EXPECT_EQ(M->whyNot().toString(), "peer_closed: gone");
  EXPECT_EQ(M->runner().evaluate<int>().status().toString(),
            "peer_closed: gone");
  EXPECT_EQ(Asked, 1);
}

TEST(ModelTest, TransportErrorClosesTheModelForAllRunners) {
  int Runs = 0, Engines = 0;
  Told Sink;
  Registry Schemes;
  Schemes.add(
      {"test", "", {}, [&](const RunnerString &, const Signature &Sig) {
         return Expected<EngineSource>(EngineSource([&, Sig] {
           ++Engines;
           return makeEngine<TestEngine>(
               Sig, [&](const TensorStorage &, TensorStorage &, const Call &) {
                 return ++Runs == 3 ? Status::error(StatusCode::Timeout, "late")
                                    : Status();
               });
         }));
       }});
  Expected<Model> M =
      Model::open("test:", countToIndex(), Schemes, Sink.sink());
  ASSERT_TRUE(M);
  auto Heuristic = [] { return 42; };
  {
    MLModelRunner A = M->runner(), B = M->runner();
    EXPECT_EQ(A.evaluateOr<int>(Heuristic), 0);
    EXPECT_EQ(B.evaluateOr<int>(Heuristic), 0);
    EXPECT_EQ(A.evaluateOr<int>(Heuristic), 42); // the third run
    EXPECT_EQ(A.lastError().toString(), "timeout: late");
    EXPECT_EQ(A.evaluateOr<int>(Heuristic), 42);
    EXPECT_EQ(B.evaluateOr<int>(Heuristic), 42);
    EXPECT_EQ(B.lastError().toString(), "timeout: late");
    MLModelRunner Future = M->runner();
    EXPECT_EQ(Future.evaluate<int>().status().toString(), "timeout: late");
    EXPECT_EQ(B.endEpisode().toString(), "timeout: late");
  }
  EXPECT_EQ(M->whyNot().toString(), "timeout: late");
  EXPECT_EQ(Runs, 3);
  EXPECT_EQ(Engines, 2);
  EXPECT_EQ(Sink.All, std::vector<std::string>{"timeout: late"});
  EXPECT_EQ(M->stats().Decisions, 2u);
  EXPECT_EQ(M->stats().Fallbacks, 3u);
}

TEST(ModelTest, TransportErrorAtTheEndOfAnEpisodeClosesTheModel) {
  auto Fine = [](const TensorStorage &, TensorStorage &, const Call &) {
    return Status();
  };
  auto Broken = [](const TensorStorage &, TensorStorage &, const Call &) {
    return Status::error(StatusCode::Io, "broken pipe");
  };
  Model M = openTest(countToIndex(), Fine, Broken);
  MLModelRunner R = M.runner();
  ASSERT_TRUE(R.evaluate());
  EXPECT_EQ(R.endEpisode().toString(), "io: broken pipe");
  EXPECT_EQ(R.evaluate<int>().status().toString(), "io: broken pipe");
}

TEST(ModelTest, OtherErrorsOfAnEngineDoNotCloseTheModel) {
  for (StatusCode Code : {StatusCode::PeerError, StatusCode::Abstained,
                          StatusCode::OutOfMemory, StatusCode::Unsupported}) {
    bool Fails = true;
    Model M = openTest(countToIndex(), [&](const TensorStorage &,
                                           TensorStorage &, const Call &) {
      return Fails ? Status::error(Code, "not this time") : Status();
    });
    MLModelRunner R = M.runner();
    EXPECT_EQ(R.evaluate<int>().status().code(), Code);
    Fails = false;
    EXPECT_TRUE(R.evaluate<int>());
    EXPECT_TRUE(M.whyNot().ok());
  }
}

TEST(ModelTest, StatsCountFinishedRunners) {
  Expected<Model> M = Model::open("constant:7", countToIndex());
  ASSERT_TRUE(M);
  {
    MLModelRunner R = Model(*M).runner();
    R.setRange(0, 7);
    for (int I = 0; I < 3; ++I)
      EXPECT_EQ(R.evaluateOr<int>([] { return 0; }), 7);
    R.setRange(0, 6);
    EXPECT_EQ(R.evaluateOr<int>([] { return 0; }), 0);
    EXPECT_EQ(R.stats().Decisions, 3u);
    EXPECT_EQ(M->stats().Decisions, 0u);
    MLModelRunner Moved = std::move(R);
  }
  EXPECT_EQ(M->stats().Decisions, 3u);
  EXPECT_EQ(M->stats().Fallbacks, 1u);
  EXPECT_EQ(M->stats().Illegal, 1u);
}

TEST(ModelTest, RunnersOutliveTheModel) {
  MLModelRunner R = Model::open("constant:7", countToIndex())->runner();
  EXPECT_EQ(R.evaluate<int>().valueOr(0), 7);
  EXPECT_EQ(R.model().runnerString(), "constant:7");
}

TEST(ModelTest, SchemesOfTheSameNameReplaceEachOther) {
  Registry R = Registry::builtin();
  size_t Count = R.schemes().size();
  R.add({"constant", "mine", {}, nullptr});
  EXPECT_EQ(R.schemes().size(), Count);
  EXPECT_EQ(R.find("constant")->Help, "mine");
  EXPECT_EQ(R.find("Constant"), nullptr);
}

static constexpr int Threads = 8, PerThread = 2000;

template <typename Callable> static void onThreads(Callable Work) {
  std::vector<std::thread> All;
  All.reserve(Threads);
  for (int T = 0; T < Threads; ++T)
    All.emplace_back(Work, T);
  for (std::thread &T : All)
    T.join();
}

TEST(ModelTest, ThreadsDecideIndependently) {
  Model M = openTest(countToIndex(), [](const TensorStorage &In,
                                        TensorStorage &Out, const Call &) {
    put(Out, 0, In.view(0).as<int64_t>()[0] * 3);
    return Status();
  });
  std::atomic<int> Wrong{0};
  onThreads([&](int T) {
    MLModelRunner R = M.runner();
    for (int I = 0; I < PerThread; ++I) {
      int Value = T * PerThread + I;
      R.populateFeatures(std::pair{"count", Value});
      Wrong += R.evaluateOr<int>([] { return -1; }) != Value * 3;
    }
  });
  EXPECT_EQ(Wrong, 0);
  EXPECT_EQ(M.stats().Decisions, uint64_t(Threads) * PerThread);
  EXPECT_EQ(M.stats().Fallbacks, 0u);
}

TEST(ModelTest, ThreadsAreToldOnceThatTheModelIsClosed) {
  std::atomic<int> Runs{0}, Told{0};
  Model M = openTest(
      countToIndex(),
      [&Runs](const TensorStorage &, TensorStorage &, const Call &) {
        return ++Runs > Threads * 10
                   ? Status::error(StatusCode::PeerClosed, "gone")
                   : Status();
      },
      nullptr,
      [&Told](const Status &Why) {
        EXPECT_EQ(Why.toString(), "peer_closed: gone");
        ++Told;
      });
  onThreads([&](int) {
    MLModelRunner R = M.runner();
    for (int I = 0; I < PerThread; ++I)
      (void)R.evaluateOr<int>([] { return -1; });
  });
  EXPECT_EQ(Told, 1);
  EXPECT_EQ(M.stats().Decisions, uint64_t(Threads) * 10);
  EXPECT_EQ(M.stats().Decisions + M.stats().Fallbacks,
            uint64_t(Threads) * PerThread);
}
