//===- RecorderTest.cpp - Tests of record= --------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "log/LogTest.h"
#include "runner/TestEngine.h"

#include <cbridge/Environment.h>
#include <cbridge/Peer.h>

#include <thread>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cbridge;

using Lines = std::vector<std::string>;

namespace {

Signature oneNumber() {
  return {{TensorSpec::create<int64_t>("x")}, TensorSpec::create<int64_t>("y")};
}

/// A model that records to Folder, and what its sink was told.
struct Recorded {
  explicit Recorded(const std::string &Runner, Signature Sig = oneNumber(),
                    const Registry &Schemes = Registry::builtin())
      : M(Model::open(Runner, std::move(Sig), Schemes, [this](const Status &S) {
          Told.push_back(S.message());
        })) {
    EXPECT_TRUE(M) << M.status().toString();
  }
  Lines Told;
  Expected<Model> M;
};

size_t filesIn(const std::string &Folder) {
  return size_t(std::distance(std::filesystem::directory_iterator(Folder), {}));
}

/// y = 10 x, but refuses an x of 3 and answers -1 to one of 4.
Status tenTimes(const TensorStorage &In, TensorStorage &Out, const Call &) {
  int64_t X = In.view(0).as<int64_t>()[0];
  if (X == 3)
    return Status::error(StatusCode::PeerError, "I dislike 3");
  put(Out, 0, X == 4 ? int64_t(-1) : X * 10);
  return Status();
}

} // namespace

TEST(RecorderTest, DecisionsRewardsAndContexts) {
  TemporaryFolder Folder;
  std::string Logs = Folder / "logs";
  {
    Recorded Model("constant:4?record=" + Logs + "/");
    EXPECT_EQ(filesIn(Logs), 0u);
    MLModelRunner R = Model.M->runner();
    EXPECT_EQ(filesIn(Logs), 0u); // nothing was decided yet
    R.populateFeatures(std::pair{"x", 1});
    EXPECT_EQ(R.evaluateOr<int>([] { return 0; }), 4);
    EXPECT_TRUE(R.reward(0.5).ok());
    EXPECT_FALSE(R.reward(0.6).ok());
    R.switchContext("main");
    EXPECT_EQ(*R.evaluate<int>(), 4);
    R.switchContext("unused");
    R.switchContext("f");
    EXPECT_TRUE(R.evaluate().ok());
    EXPECT_TRUE(R.reward(-2).ok());
    R.switchContext("main");
    EXPECT_TRUE(R.evaluate().ok());
    EXPECT_TRUE(R.endEpisode().ok());
    EXPECT_FALSE(textOf(findLogs(Logs)->at(0)).Cut); // also without an end
    EXPECT_TRUE(Model.Told.empty());
  }
  EXPECT_EQ(linesOf(Logs), (Lines{" 0: 1 -> 4, 0.5", "main 0: 1 -> 4, ?",
                                  "f 0: 1 -> 4, -2", "main 1: 1 -> 4, ?"}));
  std::string Name = std::filesystem::path(findLogs(Logs)->at(0)).filename();
  EXPECT_EQ(Name.find(std::to_string(::getpid()) + "-"), 0u);
  EXPECT_EQ(Name.substr(Name.size() - 6), "-0.log");
}

TEST(RecorderTest, TheHeuristicsDecisionsAreRecorded) {
  TemporaryFolder Folder;
  {
    Recorded Model("heuristic:?record=" + Folder.Path);
    MLModelRunner R = Model.M->runner();
    for (int X = 0; X < 3; ++X) {
      R.populateFeatures(std::pair{"x", X});
      EXPECT_EQ(R.evaluateOr<int8_t>([&] { return X * 2; }), X * 2);
      EXPECT_TRUE(R.reward(X).ok());
    }
    EXPECT_EQ(R.evaluateOr<double>([] { return 0.5; }), 0.5); // no int64_t
    EXPECT_EQ(R.evaluateOr<bool>([] { return true; }), true);
    EXPECT_TRUE(Model.Told.empty());
  }
  EXPECT_EQ(linesOf(Folder.Path), (Lines{" 0: 0 -> 0, 0", " 1: 1 -> 2, 1",
                                         " 2: 2 -> 4, 2", " 4: 2 -> 1, ?"}));
}

TEST(RecorderTest, OtherDecisionsOfTheHeuristicToo) {
  auto Record = [](const TensorSpec &Out, auto Heuristic) {
    TemporaryFolder Folder;
    {
      Recorded Model("heuristic:?record=" + Folder.Path, {{}, Out});
      using T = decltype(Heuristic());
      (void)Model.M->runner().evaluateOr<T>(Heuristic);
    }
    return linesOf(Folder.Path);
  };
  EXPECT_EQ(Record(TensorSpec::create<std::string>("y"),
                   [] { return std::string("always"); }),
            Lines{" 0: -> \"always\", ?"});
  using Strings = std::vector<std::string>;
  EXPECT_EQ(Record(TensorSpec::create<std::string>("y", {Dynamic}),
                   [] { return Strings{"a", "b"}; }),
            Lines{" 0: -> [\"a\", \"b\"], ?"});
  EXPECT_EQ(Record(TensorSpec::create<float>("y", {Dynamic, 2}),
                   [] { return std::vector<float>{1, 2, 3, 4}; }),
            Lines{" 0: -> [1, 2, 3, 4], ?"});
  static const float Two[] = {0.5f, 1};
  EXPECT_EQ(Record(TensorSpec::create<float>("y", {2}),
                   [] { return Span<const float>(Two); }),
            Lines{" 0: -> [0.5, 1], ?"});
  // What the output cannot hold is left out.
  EXPECT_EQ(Record(TensorSpec::create<float>("y", {3}),
                   [] { return Span<const float>(Two); }),
            Lines{});
  enum class Way : uint8_t { Left, Right };
  EXPECT_EQ(
      Record(TensorSpec::create<double>("y", {}), [] { return Way::Right; }),
      Lines{" 0: -> 1, ?"});
}

TEST(RecorderTest, TheFinalDecisionIsRecorded) {
  TemporaryFolder Folder;
  {
    Recorded Model("test:?record=" + Folder.Path, oneNumber(),
                   testScheme(tenTimes));
    MLModelRunner R = Model.M->runner();
    R.setRange(0, 1000);
    for (int X = 1; X <= 5; ++X) { // 3 fails, 4 is illegal
      R.populateFeatures(std::pair{"x", X});
      EXPECT_EQ(R.evaluateOr<int>([] { return 7; }),
                X == 3 || X == 4 ? 7 : X * 10);
      EXPECT_TRUE(R.reward(X).ok());
    }
    R.populateFeatures(std::pair{"x", 20}); // 200 is no int8_t
    EXPECT_EQ(R.evaluateOr<int8_t>([] { return 9; }), 9);
    EXPECT_EQ(Model.Told.size(), 1u);
  }
  EXPECT_EQ(linesOf(Folder.Path),
            (Lines{" 0: 1 -> 10, 1", " 1: 2 -> 20, 2", " 2: 3 -> 7, 3",
                   " 3: 4 -> 7, 4", " 4: 5 -> 50, 5", " 5: 20 -> 9, ?"}));
}

TEST(RecorderTest, AFallbackThatIsNotToldLeavesAGap) {
  TemporaryFolder Folder;
  {
    Recorded Model("test:?record=" + Folder.Path, oneNumber(),
                   testScheme(tenTimes));
    MLModelRunner R = Model.M->runner();
    R.populateFeatures(std::pair{"x", 3});
    Expected<int> Decided = R.evaluate<int>();
    ASSERT_FALSE(Decided);
    R.noteFallback(Decided.status()); // with what, nobody knows
    EXPECT_TRUE(R.reward(1).ok());
    Decided = R.evaluate<int>();
    R.noteFallback(Decided.status(), 5);
    EXPECT_TRUE(R.reward(2).ok());
    TensorStorage All({TensorSpec::create<int64_t>("y")});
    put<int64_t>(All, 0, 6);
    Decided = R.evaluate<int>();
    R.noteFallback(Decided.status(), All.views());
    // A feature that could not be filled: nothing to learn from.
    R.populateFeatures(std::pair{"z", 1});
    EXPECT_EQ(R.evaluateOr<int>([] { return 8; }), 8);
    R.populateFeatures(std::pair{"x", 1});
    EXPECT_EQ(*R.evaluate<int>(), 10);
    EXPECT_EQ(R.stats().Fallbacks, 4u);
  }
  EXPECT_EQ(linesOf(Folder.Path),
            (Lines{" 1: 3 -> 5, 2", " 2: 3 -> 6, ?", " 3: 1 -> 10, ?"}));
}

TEST(RecorderTest, AgentsRecordTheirFallbacks) {
  class Countdown : public Environment {
  public:
    Observation reset() override {
      setNextAgent("a");
      return [](MLModelRunner &R) { R.populateFeatures(std::pair{"x", 3}); };
    }
    Observation step(int64_t Action) override {
      setReward(double(Action));
      setDone();
      return nullptr;
    }
    int64_t fallbackAction() override { return 6; }
  };
  TemporaryFolder Folder;
  {
    Recorded Model("test:?record=" + Folder.Path, oneNumber(),
                   testScheme(tenTimes));
    Agents All;
    All.add(*Agent::over("a", *Model.M));
    Countdown Env;
    Expected<Episode> E = All.run(Env, "f");
    ASSERT_TRUE(E);
    EXPECT_EQ(E->Fallbacks, 1u);
  }
  EXPECT_EQ(linesOf(Folder.Path), Lines{"f 0: 3 -> 6, 6"});
}

TEST(RecorderTest, DynamicFeaturesAndStrings) {
  TemporaryFolder Folder;
  Signature Sig({TensorSpec::create<float>("rows", {Dynamic, Dynamic}),
                 TensorSpec::create<std::string>("names", {Dynamic}),
                 TensorSpec::create<int32_t>("unset", {Dynamic})},
                std::vector{TensorSpec::create<int64_t>("y"),
                            TensorSpec::create<bool>("z", {2})});
  {
    Recorded Model("constant:1?record=" + Folder.Path, Sig);
    MLModelRunner R = Model.M->runner();
    EXPECT_TRUE(R.evaluate().ok());
    R.resize("rows", {2, 1});
    R.getTensor<float>("rows")[1] = 0.5f;
    R.populateFeatures(std::pair{"names", std::vector<std::string>{"a", "\n"}});
    EXPECT_TRUE(R.evaluate().ok());
    R.populateFeatures(std::pair{
        "rows", std::vector<std::vector<float>>{{1, 2, 3}, {4, 5, 6}}});
    EXPECT_TRUE(R.evaluate().ok());
    EXPECT_TRUE(Model.Told.empty());
  }
  EXPECT_EQ(
      linesOf(Folder.Path),
      (Lines{" 0: [] [] [] -> 1 [true, true], ?",
             " 1: [0, 0.5] [\"a\", \"\\n\"] [] -> 1 [true, true], ?",
             " 2: [1, 2, 3, 4, 5, 6] [\"a\", \"\\n\"] [] -> 1 [true, true], "
             "?"}));
}

TEST(RecorderTest, OverAPipeAndAfterThePeerIsGone) {
  TemporaryFolder Folder;
  std::string Address = "pipe:" + (Folder / "base");
  auto P = std::make_unique<Peer>(*Peer::open(Address));
  std::thread Answering([&] {
    for (int I = 0; I < 2; ++I) {
      auto R = P->next(Deadline::in(std::chrono::seconds(20)));
      ASSERT_TRUE(R && *R);
      int64_t Answer = I + 100;
      std::memcpy(P->decision().bytes(0).data(), &Answer, sizeof(Answer));
      ASSERT_TRUE(P->reply().ok());
    }
    P.reset();
  });
  {
    Recorded Model(Address + "?record=" + (Folder / "logs"));
    MLModelRunner R = Model.M->runner();
    for (int X = 0; X < 4; ++X) {
      R.populateFeatures(std::pair{"x", X});
      EXPECT_EQ(R.evaluateOr<int>([] { return 7; }), X < 2 ? 100 + X : 7);
      EXPECT_TRUE(R.reward(X).ok());
    }
    EXPECT_EQ(Model.Told.size(), 1u);
  }
  Answering.join();
  EXPECT_EQ(linesOf(Folder / "logs"),
            (Lines{" 0: 0 -> 100, 0", " 1: 1 -> 101, 1", " 2: 2 -> 7, 2",
                   " 3: 3 -> 7, 3"}));
}

TEST(RecorderTest, ADirectoryThatCannotBeUsed) {
  TemporaryFolder Folder;
  std::ofstream(Folder / "file") << "x";
  for (const std::string &Place :
       {Folder / "no/such", Folder / "file", Folder / "file/logs"}) {
    std::string Runner = "constant:4?record=" + Place;
    Recorded Model(Runner);
    ASSERT_EQ(Model.Told.size(), 1u);
    EXPECT_EQ(Model.Told[0].find("cannot record to " + Place + ": "), 0u)
        << Model.Told[0];
    EXPECT_TRUE(Model.M->whyNot().ok());
    EXPECT_EQ(*Model.M->runner().evaluate<int>(), 4);
    Expected<cbridge::Model> Strict =
        cbridge::Model::open(Runner + "&on_error=fail", oneNumber());
    EXPECT_EQ(Strict.status().code(), StatusCode::Io);
  }
  EXPECT_EQ(Model::open("constant:4?record=", oneNumber()).status().code(),
            StatusCode::InvalidArgument);
}

TEST(RecorderTest, AFailureIsToldOnceAndChangesNoDecision) {
  TemporaryFolder Folder;
  pid_t Child = ::fork();
  if (Child == 0) {
    rlimit Limit = {600, 600};
    ::setrlimit(RLIMIT_FSIZE, &Limit);
    Recorded Model("constant:4?record=" + (Folder / "logs"));
    MLModelRunner A = Model.M->runner(), B = Model.M->runner();
    bool Good = true;
    for (int I = 0; I < 50; ++I) {
      Good &= *A.evaluate<int>() == 4 && *B.evaluate<int>() == 4;
      Good &= A.reward(1).ok();
    }
    Good &= Model.Told.size() == 1 &&
            Model.Told[0].find("recording to ") == 0 &&
            Model.Told[0].find(" stopped: a file may not have more than 600 "
                               "bytes") != std::string::npos;
    ::_exit(Good ? 0 : 1);
  }
  int Result = 0;
  ::waitpid(Child, &Result, 0);
  EXPECT_EQ(Result, 0);
  EXPECT_GT(linesOf(Folder / "logs").size(), 4u);
}

TEST(RecorderTest, AForkedChildHasALogOfItsOwn) {
  TemporaryFolder Folder;
  {
    Recorded Model("constant:4?record=" + Folder.Path);
    MLModelRunner R = Model.M->runner();
    EXPECT_TRUE(R.evaluate().ok());
    pid_t Child = ::fork();
    if (Child == 0) {
      (void)R.reward(1); // of the parent's decision: left to the parent
      bool Good = R.evaluate().ok();
      (void)R.reward(2);
      {
        MLModelRunner Gone = std::move(R);
      }
      ::_exit(Good ? 0 : 1);
    }
    int Result = 0;
    ::waitpid(Child, &Result, 0);
    EXPECT_EQ(Result, 0);
    EXPECT_TRUE(R.reward(3).ok());
    EXPECT_TRUE(R.evaluate().ok());
  }
  Lines All = linesOf(Folder.Path);
  std::sort(All.begin(), All.end());
  EXPECT_EQ(All, (Lines{" 0: 0 -> 4, 3", " 1: 0 -> 4, 2", " 1: 0 -> 4, ?"}));
  EXPECT_EQ(filesIn(Folder.Path), 2u);
}

TEST(RecorderTest, RunnersCountTheirContextsTogether) {
  TemporaryFolder Folder;
  {
    Recorded Model("constant:4?record=" + Folder.Path);
    std::vector<std::thread> Threads;
    for (int T = 0; T < 4; ++T)
      Threads.emplace_back([&, T] {
        MLModelRunner R = Model.M->runner();
        for (int I = 0; I < 50; ++I) {
          R.switchContext(I % 2 ? "shared" : std::to_string(T));
          ASSERT_TRUE(R.evaluate().ok());
        }
      });
    for (std::thread &T : Threads)
      T.join();
  }
  EXPECT_EQ(filesIn(Folder.Path), 4u);
  Lines All = linesOf(Folder.Path);
  std::sort(All.begin(), All.end());
  EXPECT_EQ(All.size(), 200u);
  EXPECT_EQ(std::unique(All.begin(), All.end()), All.end());
  for (int I = 0; I < 100; ++I)
    EXPECT_TRUE(std::binary_search(
        All.begin(), All.end(), "shared " + std::to_string(I) + ": 0 -> 4, ?"));
}
