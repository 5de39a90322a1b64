//===- ReplayTest.cpp - Tests of replay: ----------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "log/LogTest.h"

#include <cbridge/MLModelRunner.h>

#include <thread>

#include <sys/stat.h>

using namespace cbridge;

namespace {

Signature richSignature() {
  return {{TensorSpec::create<int64_t>("x"),
           TensorSpec::create<float>("rows", {Dynamic, 2}),
           TensorSpec::create<std::string>("names", {Dynamic})},
          TensorSpec::create<int64_t>("y")};
}

Signature oneNumber() {
  return {{TensorSpec::create<int64_t>("x")}, TensorSpec::create<int64_t>("y")};
}

/// A compile: several threads, contexts that are returned to, all features.
/// Gives the decisions of each thread; the heuristic depends on Bias.
std::vector<std::vector<int64_t>> compile(const std::string &Runner, int Bias) {
  Expected<Model> M = Model::open(Runner, richSignature());
  EXPECT_TRUE(M) << M.status().toString();
  EXPECT_TRUE(M->whyNot().ok() || M->whyNot().code() == StatusCode::Abstained);
  std::vector<std::vector<int64_t>> Decisions(3);
  std::vector<std::thread> Threads;
  for (int T = 0; T < 3; ++T)
    Threads.emplace_back([&, T] {
      MLModelRunner R = M->runner();
      for (int I = 0; I < 40; ++I) {
        R.switchContext("f" + std::to_string(T) + std::to_string(I % 3));
        std::vector<float> Rows(size_t(I % 4) * 2, float(I));
        std::vector<std::string> Names(size_t(I % 2),
                                       "name" + std::to_string(T));
        R.populateFeatures(std::pair{"x", I}, std::pair{"rows", Rows},
                           std::pair{"names", Names});
        Decisions[size_t(T)].push_back(
            R.evaluateOr<int64_t>([&] { return I * 7 + T + Bias; }));
      }
    });
  for (std::thread &T : Threads)
    T.join();
  return Decisions;
}

/// A log of X = 0, 1, … with decisions 10, 11, … in each context.
void record(const std::string &Folder,
            std::initializer_list<const char *> Contexts, int Count) {
  Expected<Model> M = Model::open("heuristic:?record=" + Folder, oneNumber());
  MLModelRunner R = M->runner();
  for (const char *Context : Contexts)
    for (int X = 0; X < Count; ++X) {
      R.switchContext(Context);
      R.populateFeatures(std::pair{"x", X});
      (void)R.evaluateOr<int>([&] { return X + 10; });
    }
}

std::string failure(MLModelRunner &R, const char *Context, int64_t X) {
  R.switchContext(Context);
  R.populateFeatures(std::pair{"x", X});
  Expected<int64_t> D = R.evaluate<int64_t>();
  if (D)
    return "decided " + std::to_string(*D);
  EXPECT_EQ(D.status().code(), StatusCode::PeerError);
  return D.status().message();
}

} // namespace

TEST(ReplayTest, ARecordedRunIsRepeated) {
  TemporaryFolder Folder;
  auto First = compile("heuristic:?record=" + (Folder / "logs"), 0);
  EXPECT_EQ(findLogs(Folder / "logs")->size(), 3u);
  // Another heuristic shows that it is not asked.
  EXPECT_EQ(compile("replay:" + (Folder / "logs/"), 1000), First);
  EXPECT_EQ(compile("replay:" + (Folder / "logs?match=ordinal"), 1000), First);
  // What is replayed can be recorded, and is the same again.
  EXPECT_EQ(compile("replay:" + (Folder / "logs/?record=") + (Folder / "again"),
                    1000),
            First);
  std::vector<std::string> Once = linesOf(Folder / "logs"),
                           Again = linesOf(Folder / "again");
  std::sort(Once.begin(), Once.end());
  std::sort(Again.begin(), Again.end());
  EXPECT_EQ(Once, Again);
}

TEST(ReplayTest, RunnersCountTheirContextsTogether) {
  TemporaryFolder Folder;
  record(Folder.Path, {"f"}, 4);
  Expected<Model> M = Model::open("replay:" + Folder.Path, oneNumber());
  ASSERT_TRUE(M);
  MLModelRunner A = M->runner(), B = M->runner();
  EXPECT_EQ(failure(A, "f", 0), "decided 10");
  EXPECT_EQ(failure(B, "f", 1), "decided 11");
  EXPECT_EQ(failure(A, "f", 2), "decided 12");
}

TEST(ReplayTest, WhatDiffersIsRefusedByName) {
  TemporaryFolder Folder;
  record(Folder.Path, {"f", "g"}, 2);
  std::string Log = findLogs(Folder.Path)->at(0);
  Expected<Model> M = Model::open("replay:" + Log, oneNumber());
  ASSERT_TRUE(M);
  MLModelRunner R = M->runner();
  EXPECT_EQ(failure(R, "h", 0), "context 'h' is not in the log");
  EXPECT_EQ(failure(R, "f", 5), Log + ": decision 0 of context 'f': feature "
                                      "'x' differs: the value is 5, in the "
                                      "log 0");
  EXPECT_EQ(failure(R, "f", 1), "decided 11"); // it goes on
  EXPECT_EQ(failure(R, "f", 2),
            Log + ": decision 2 of context 'f' is not in the log");
  EXPECT_TRUE(M->whyNot().ok());

  M = Model::open("replay:" + Log + "?match=ordinal", oneNumber());
  MLModelRunner Any = M->runner();
  EXPECT_EQ(failure(Any, "g", 77), "decided 10");
}

TEST(ReplayTest, OneOrdinalInSeveralLogs) {
  TemporaryFolder Folder;
  record(Folder.Path, {"f"}, 2);
  {
    Expected<Model> M =
        Model::open("heuristic:?record=" + Folder.Path, oneNumber());
    MLModelRunner R = M->runner();
    R.switchContext("f");
    R.populateFeatures(std::pair{"x", 50});
    (void)R.evaluateOr<int>([] { return 1; });
  }
  for (int64_t X : {0, 50}) {
    Expected<Model> M = Model::open("replay:" + Folder.Path, oneNumber());
    MLModelRunner R = M->runner();
    EXPECT_EQ(failure(R, "f", X), X ? "decided 1" : "decided 10");
  }
  Expected<Model> M =
      Model::open("replay:" + Folder.Path + "?match=ordinal", oneNumber());
  MLModelRunner R = M->runner();
  EXPECT_NE(failure(R, "f", 0).find("is in several logs"), std::string::npos);
}

TEST(ReplayTest, AnotherSignatureAbstainsByName) {
  TemporaryFolder Folder;
  record(Folder.Path, {"f"}, 1);
  auto WhyNot = [&](const std::string &Match, const Signature &Sig) {
    Expected<Model> M = Model::open("replay:" + Folder.Path + Match, Sig);
    EXPECT_TRUE(M) << M.status().toString();
    std::string Why = M->whyNot().message();
    return Why.substr(Why.find(".log: ") + 6);
  };
  TensorSpec X = TensorSpec::create<int64_t>("x"),
             Y = TensorSpec::create<int64_t>("y");
  EXPECT_EQ(WhyNot("", {{TensorSpec::create<float>("x")}, Y}),
            "feature 'x' is float[1], in the log int64_t[1]");
  EXPECT_EQ(WhyNot("", {{X, TensorSpec::create<float>("z")}, Y}),
            "feature 'z' is not in the log");
  EXPECT_EQ(WhyNot("", {{}, Y}),
            "feature 'x' of the log is not in the signature");
  EXPECT_EQ(WhyNot("", {{X}, TensorSpec::create<int64_t>("w")}),
            "decision 'w' is not in the log");
  Expected<Model> M =
      Model::open("replay:" + Folder.Path + "?match=ordinal", {{}, Y});
  EXPECT_TRUE(M->whyNot().ok()) << M->whyNot().toString();

  M = Model::open("replay:" + goldenLog("log_interactive.log") +
                      "?match=ordinal",
                  {{}, TensorSpec::create<int64_t>("inlining_decision")});
  EXPECT_NE(M->whyNot().message().find("holds no decisions"),
            std::string::npos);
}

TEST(ReplayTest, FoundByKey) {
  TemporaryFolder Folder;
  record(Folder.Path, {"f", "g"}, 3);
  Expected<Model> M =
      Model::open("replay:" + Folder.Path + "?key=x", oneNumber());
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner R = M->runner();
  // In any order, and as often as asked.
  EXPECT_EQ(failure(R, "f", 2), "decided 12");
  EXPECT_EQ(failure(R, "f", 0), "decided 10");
  EXPECT_EQ(failure(R, "f", 2), "decided 12");
  EXPECT_EQ(failure(R, "g", 1), "decided 11");
}

TEST(ReplayTest, ByKeyWhatIsNotThereIsThePasss) {
  TemporaryFolder Folder;
  record(Folder.Path, {"f"}, 2);
  std::string Log = findLogs(Folder.Path)->at(0);
  Expected<Model> M = Model::open("replay:" + Log + "?key=x", oneNumber());
  ASSERT_TRUE(M);
  MLModelRunner R = M->runner();
  auto Ask = [&](const char *Context, int X) {
    R.switchContext(Context);
    R.populateFeatures(std::pair{"x", X});
    return R.evaluate<int64_t>().status();
  };
  for (auto [Context, X] : {std::pair{"f", 2}, std::pair{"h", 0}}) {
    Status S = Ask(Context, X);
    EXPECT_EQ(S.code(), StatusCode::Abstained);
    EXPECT_EQ(S.message(),
              Log + ": no record of context '" + Context + "' has these keys");
  }
  R.switchContext("f");
  R.populateFeatures(std::pair{"x", 7});
  EXPECT_EQ(R.evaluateOr<int64_t>([] { return 99; }), 99);
  EXPECT_TRUE(Ask("f", 1).ok()); // it goes on
  EXPECT_TRUE(M->whyNot().ok());
}

TEST(ReplayTest, KeysAreSomeOfTheFeatures) {
  using Strings = std::vector<std::string>;
  TemporaryFolder Folder;
  auto Ask = [](MLModelRunner &R, int X, const Strings &Names) {
    R.populateFeatures(std::pair{"x", X},
                       std::pair{"rows", std::vector<float>()},
                       std::pair{"names", Names});
  };
  {
    Expected<Model> M =
        Model::open("heuristic:?record=" + Folder.Path, richSignature());
    MLModelRunner R = M->runner();
    int Decision = 0;
    for (const Strings &Names :
         {Strings{}, Strings{"a"}, Strings{"a", "b"}, Strings{"ab"},
          Strings{"a", ""}, Strings{"", "a"}, Strings{"a"}}) {
      Ask(R, 7, Names);
      (void)R.evaluateOr<int>([&] { return Decision; });
      ++Decision;
    }
  }
  Expected<Model> M = Model::open(
      "replay:" + Folder.Path + "?key=names,x&on_error=fail", richSignature());
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner R = M->runner();
  auto Decided = [&](int X, const Strings &Names) {
    Ask(R, X, Names);
    return R.evaluateOr<int>([] { return -1; });
  };
  EXPECT_EQ(Decided(7, {}), 0);
  EXPECT_EQ(Decided(7, {"a", "b"}), 2);
  EXPECT_EQ(Decided(7, {"ab"}), 3);
  EXPECT_EQ(Decided(7, {"a", ""}), 4);
  EXPECT_EQ(Decided(7, {"", "a"}), 5);
  EXPECT_EQ(Decided(7, {"a"}), 6); // the latest record
  EXPECT_EQ(Decided(8, {"a"}), -1);
}

TEST(ReplayTest, WrongKeys) {
  TemporaryFolder Folder;
  record(Folder.Path, {"f"}, 1);
  std::string Log = findLogs(Folder.Path)->at(0);
  auto Why = [&](const std::string &Options, const Signature &Sig) {
    return Model::open("replay:" + Log + Options + "&on_error=fail", Sig)
        .status();
  };
  TensorSpec X = TensorSpec::create<int64_t>("x"),
             Y = TensorSpec::create<int64_t>("y"),
             Z = TensorSpec::create<float>("z");
  EXPECT_EQ(Why("?key=moon", oneNumber()).message(),
            "key 'moon' is no feature of the pass");
  EXPECT_EQ(Why("?key=", oneNumber()).message(),
            "key '' is no feature of the pass");
  EXPECT_EQ(Why("?key=x,", oneNumber()).message(),
            "key '' is no feature of the pass");
  EXPECT_EQ(Why("?key=z", {{X, Z}, Y}).message(),
            Log + ": key 'z' is float[1], in the log there is none");
  EXPECT_EQ(Why("?key=x", {{TensorSpec::create<float>("x")}, Y}).message(),
            Log + ": key 'x' is float[1], in the log int64_t[1]");
  // Other features may differ: the pass's, and the log's.
  EXPECT_TRUE(Why("?key=x", {{Z, X}, Y}).ok());
  Status Both = Why("?key=x&match=ordinal", oneNumber());
  EXPECT_EQ(Both.code(), StatusCode::InvalidArgument);
  EXPECT_NE(Both.message().find("key= says how decisions are found"),
            std::string::npos);
}

TEST(ReplayTest, WrongStringsAndMissingLogs) {
  TemporaryFolder Folder;
  auto Code = [](const std::string &Runner) {
    return Model::open(Runner + "on_error=fail", oneNumber()).status().code();
  };
  EXPECT_EQ(Code("replay:?"), StatusCode::InvalidArgument);
  EXPECT_EQ(Code("replay:x?match=maybe&"), StatusCode::InvalidArgument);
  EXPECT_EQ(Code("replay:" + (Folder / "none.log?")), StatusCode::Io);
  EXPECT_EQ(Code("replay:" + Folder.Path + "?"), StatusCode::Unavailable);
  std::ofstream(Folder / "bad.log") << "no log\n";
  EXPECT_EQ(Code("replay:" + Folder.Path + "?"), StatusCode::Protocol);
  // A compiler that was killed before its first decision was whole.
  std::filesystem::remove(Folder / "bad.log");
  record(Folder.Path, {"f"}, 1);
  std::ofstream(Folder / "cut.log") << "{\"fea";
  EXPECT_EQ(Code("replay:" + Folder.Path + "?"), StatusCode::Ok);
  // What would block is not even opened.
  ASSERT_EQ(::mkfifo((Folder / "fifo.log").c_str(), S_IRUSR | S_IWUSR), 0);
  EXPECT_EQ(Code("replay:" + (Folder / "fifo.log?")), StatusCode::Io);
  EXPECT_EQ(Code("replay:" + Folder.Path + "?"), StatusCode::Io);
  EXPECT_FALSE(LogReader::open(Folder / "fifo.log"));
}
