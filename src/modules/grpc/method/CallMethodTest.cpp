//===- CallMethodTest.cpp - Servers of a user's own .proto ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>

#include "os/File.h"
#include "os/Process.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace cbridge;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// What tests/proto/KindsServer.cpp does for such an x.
constexpr int64_t Raise = -1, Die = -2, Hang = -3, WrongStep = -4, Twice = -5,
                  LastOfStream = -6, CountEnds = -10, LastReward = -11,
                  CountStreams = -12, HaveContext = -13, CountCalls = -14;

Signature xToY() {
  return {{TensorSpec::create<int64_t>("x")}, TensorSpec::create<int64_t>("y")};
}

/// A place for a server, and the servers there.
class CallMethodTest : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    Expected<std::string> Made = os::makePrivateDirectory();
    ASSERT_TRUE(Made) << Made.status().toString();
    Folder = *Made;
  }
  void TearDown() override {
    Server.reset();
    os::removeDirectory(Folder);
  }
  void startServer() {
    Server.reset();
    Expected<os::Process> Started =
        os::Process::spawn({CBRIDGE_KINDS_SERVER, "unix:" + Folder + "/s"}, {});
    ASSERT_TRUE(Started) << Started.status().toString();
    Server.emplace(std::move(*Started));
  }
  std::string address(const std::string &Method,
                      const std::string &Options = "&connect=20s") const {
    return "grpc:unix:" + Folder +
           "/s?on_error=fail&proto=" + CBRIDGE_TEST_DESCRIPTOR +
           "&service=cbridge.test.Kinds&method=" + Method + Options;
  }
  /// A model of the parameter's method, whose server runs.
  Expected<Model> open(const std::string &Options = "&connect=20s") {
    startServer();
    return Model::open(address(GetParam(), Options), xToY());
  }
  /// The server is gone when this returns.
  void waitForDeath() {
    Deadline Until = Deadline::in(seconds(20));
    for (os::Backoff Pause; !Server->exited();)
      ASSERT_TRUE(Pause.pause(Until));
  }

  std::string Folder;
  std::optional<os::Process> Server;
};

Expected<int64_t> ask(MLModelRunner &Runner, int64_t X) {
  Runner.populateFeatures(std::pair{"x", X});
  return Runner.evaluate<int64_t>();
}

#define ASSERT_DECIDES(Runner, X, Y)                                           \
  do {                                                                         \
    Expected<int64_t> Got = ask(Runner, X);                                    \
    ASSERT_TRUE(Got) << Got.status().toString();                               \
    ASSERT_EQ(*Got, Y);                                                        \
  } while (false)

bool has(const Status &S, const std::string &Part) {
  return S.message().find(Part) != std::string::npos;
}

auto since(Deadline::Clock::time_point Start) {
  return Deadline::Clock::now() - Start;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(, CallMethodTest, ::testing::Values("ask", "talk"),
                         [](const auto &Info) {
                           return std::string(Info.param);
                         });

TEST_P(CallMethodTest, Decides) {
  Expected<Model> M = open();
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner(), Another = M->runner();
  for (int64_t X = 0; X < 50; ++X) {
    ASSERT_DECIDES(Runner, X, X + 1);
    ASSERT_DECIDES(Another, 2 * X, 2 * X + 1);
  }
  std::vector<std::thread> Threads;
  for (int T = 0; T < 4; ++T)
    Threads.emplace_back([&] {
      MLModelRunner Own = M->runner();
      for (int64_t X = 0; X < 20; ++X)
        ASSERT_DECIDES(Own, X, X + 1);
    });
  for (std::thread &Each : Threads)
    Each.join();
}

TEST_P(CallMethodTest, TellsWhatThereIsAPlaceFor) {
  Expected<Model> M = open();
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  Runner.switchContext("main");
  ASSERT_DECIDES(Runner, HaveContext, 1);
  ASSERT_TRUE(Runner.reward(0.25).ok());
  ASSERT_DECIDES(Runner, LastReward, 25);
  ASSERT_TRUE(Runner.reward(0.5).ok());
  ASSERT_TRUE(Runner.endEpisode().ok());
  ASSERT_DECIDES(Runner, CountEnds, 1);
  ASSERT_DECIDES(Runner, LastReward, 50);
  ASSERT_TRUE(Runner.endEpisode(/*Truncated=*/true).ok());
  ASSERT_DECIDES(Runner, CountEnds, 101);
  bool Streams = GetParam() == std::string("talk");
  ASSERT_DECIDES(Runner, CountStreams, Streams ? 3 : 0);
}

TEST_P(CallMethodTest, AServerThatRaisesFailsOneDecision) {
  Expected<Model> M = open();
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  ASSERT_DECIDES(Runner, 5, 6);
  for (int Round = 0; Round < 3; ++Round) {
    Status S = ask(Runner, Raise).status();
    EXPECT_EQ(S.code(), StatusCode::PeerError) << S.toString();
    EXPECT_TRUE(has(S, "no such loop")) << S.toString();
    ASSERT_DECIDES(Runner, 7, 8);
  }
  EXPECT_TRUE(M->whyNot().ok());
}

TEST_P(CallMethodTest, AServerThatHangsCostsTheTimeoutOnce) {
  Expected<Model> M = open("&connect=20s&timeout=300ms");
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  ASSERT_DECIDES(Runner, 5, 6);
  auto Start = Deadline::Clock::now();
  Status S = ask(Runner, Hang).status();
  EXPECT_EQ(S.code(), StatusCode::Timeout) << S.toString();
  EXPECT_TRUE(has(S, "within 300 ms")) << S.toString();
  EXPECT_GE(since(Start), milliseconds(300));
  EXPECT_LT(since(Start), seconds(3));
  Start = Deadline::Clock::now();
  EXPECT_FALSE(ask(Runner, 5));
  EXPECT_LT(since(Start), milliseconds(100));
}

TEST_P(CallMethodTest, AServerThatDiesIsNeverAnEarlierReply) {
  Expected<Model> M = open("&connect=20s&timeout=500ms");
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  ASSERT_DECIDES(Runner, 5, 6);
  auto Start = Deadline::Clock::now();
  Status S = ask(Runner, Die).status();
  EXPECT_FALSE(S.ok());
  EXPECT_LT(since(Start), seconds(3));
  bool Streams = GetParam() == std::string("talk");
  EXPECT_EQ(S.code(), Streams ? StatusCode::PeerError : StatusCode::Timeout)
      << S.toString();
  S = ask(Runner, 5).status();
  EXPECT_FALSE(S.ok());
  EXPECT_LT(since(Start), seconds(4));
}

TEST_P(CallMethodTest, AServerThatRestartsIsFoundAgain) {
  Expected<Model> M = open();
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  ASSERT_DECIDES(Runner, 5, 6);
  bool Streams = GetParam() == std::string("talk");
  if (Streams) {
    Status S = ask(Runner, Die).status();
    EXPECT_EQ(S.code(), StatusCode::PeerError) << S.toString();
  } else {
    Server->end(seconds(0));
  }
  waitForDeath();
  startServer();
  if (Streams) {
    // It is not waited for, so be sure that it is there.
    Expected<Model> Other = Model::open(address(GetParam()), xToY());
    ASSERT_TRUE(Other) << Other.status().toString();
  }
  ASSERT_DECIDES(Runner, 7, 8);
}

TEST_P(CallMethodTest, AnAbsentServerIsNotWaitedForUnlessItIsWanted) {
  auto Start = Deadline::Clock::now();
  Expected<Model> M = Model::open(address(GetParam(), ""), xToY());
  ASSERT_FALSE(M);
  EXPECT_EQ(M.status().code(), StatusCode::Unavailable);
  EXPECT_LT(since(Start), seconds(2));
  Start = Deadline::Clock::now();
  M = Model::open(address(GetParam(), "&connect=200ms"), xToY());
  ASSERT_FALSE(M);
  EXPECT_EQ(M.status().code(), StatusCode::Timeout);
  EXPECT_GE(since(Start), milliseconds(200));
  EXPECT_LT(since(Start), seconds(3));
}

TEST_P(CallMethodTest, AWrongStepIsNoAnswer) {
  Expected<Model> M = open();
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  Status S = ask(Runner, WrongStep).status();
  EXPECT_EQ(S.code(), StatusCode::Protocol) << S.toString();
  EXPECT_TRUE(has(S, "answers step 2 instead of 1")) << S.toString();
}

TEST_P(CallMethodTest, AForkedChildIsTold) {
  Expected<Model> M = open();
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  ASSERT_DECIDES(Runner, 5, 6);
  pid_t Child = ::fork();
  if (Child == 0) {
    bool Told = ask(Runner, 5).status().code() == StatusCode::Forked;
    {
      MLModelRunner Gone = std::move(Runner);
    }
    ::_exit(Told ? 0 : 1);
  }
  int How = -1;
  ASSERT_EQ(::waitpid(Child, &How, 0), Child);
  EXPECT_EQ(How, 0);
  ASSERT_DECIDES(Runner, 6, 7);
}

TEST_P(CallMethodTest, SpawnStartsTheServer) {
  std::string Text = std::string("grpc:?on_error=fail&proto=") +
                     CBRIDGE_TEST_DESCRIPTOR +
                     "&service=cbridge.test.Kinds&method=" + GetParam() +
                     "&spawn=" + CBRIDGE_KINDS_SERVER + " {}";
  Expected<Model> M = Model::open(Text, xToY());
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner(), Another = M->runner();
  ASSERT_DECIDES(Runner, 1, 2);
  ASSERT_DECIDES(Another, 2, 3);
}

class UnaryMethodTest : public CallMethodTest {};
INSTANTIATE_TEST_SUITE_P(, UnaryMethodTest, ::testing::Values("ask"));

TEST_P(UnaryMethodTest, BackOffEndsWithTheDeadline) {
  Expected<Model> M = open("&connect=20s&timeout=400ms");
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  ASSERT_DECIDES(Runner, 5, 6);
  Server->end(seconds(0));
  auto Start = Deadline::Clock::now();
  Status S = ask(Runner, 5).status();
  EXPECT_EQ(S.code(), StatusCode::Timeout) << S.toString();
  EXPECT_GE(since(Start), milliseconds(400));
  EXPECT_LT(since(Start), seconds(3));
}

/// A decision that worked has been asked for once.
TEST_P(UnaryMethodTest, NothingIsAskedTwice) {
  Expected<Model> M = open();
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  for (int64_t X = 0; X < 10; ++X)
    ASSERT_DECIDES(Runner, X, X + 1);
  ASSERT_DECIDES(Runner, CountCalls, 11);
}

TEST_P(UnaryMethodTest, MessagesAreLimited) {
  startServer();
  Signature Sig({TensorSpec::create<uint8_t>("raw", {Dynamic})},
                TensorSpec::create<uint8_t>("raw", {Dynamic}));
  Expected<Model> M =
      Model::open(address("echo", "&connect=20s&max_message=10k"), Sig);
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  Runner.resize("raw", {9000});
  EXPECT_TRUE(Runner.evaluate());
  Runner.resize("raw", {11000});
  Status S = Runner.evaluate().status();
  EXPECT_EQ(S.code(), StatusCode::Protocol) << S.toString();
}

TEST_P(UnaryMethodTest, StringsThatAreWrong) {
  startServer();
  auto Why = [&](const std::string &Text) {
    return Model::open(Text, xToY()).status();
  };
  Status S = Why(address("upload"));
  EXPECT_EQ(S.code(), StatusCode::InvalidArgument);
  EXPECT_TRUE(has(S, "streams in one direction only")) << S.toString();
  S = Why(address("ask", "&serdes=json"));
  EXPECT_TRUE(has(S, "need no serializer")) << S.toString();
  S = Why(address("ask", "&mode=unary"));
  EXPECT_TRUE(has(S, "says whether it streams")) << S.toString();
  S = Why(address("ask", "&timeout=0"));
  EXPECT_TRUE(has(S, "more than no time")) << S.toString();
  S = Why("grpc:unix:" + Folder + "/s?method=ask");
  EXPECT_TRUE(has(S, "needs proto=")) << S.toString();
  S = Why("grpc:unix:" + Folder + "/s?on_error=fail&proto=" + Folder + "/x");
  EXPECT_EQ(S.code(), StatusCode::Unavailable) << S.toString();
  std::ofstream(Folder + "/x") << "no descriptors";
  S = Why("grpc:unix:" + Folder + "/s?on_error=fail&proto=" + Folder + "/x");
  EXPECT_EQ(S.code(), StatusCode::Protocol) << S.toString();
  // Wrong types are found before anybody is asked.
  Signature Wide({TensorSpec::create<int64_t>("i32")},
                 TensorSpec::create<int64_t>("i64"));
  S = Model::open(address("echo"), Wide).status();
  EXPECT_EQ(S.code(), StatusCode::TypeMismatch) << S.toString();
  EXPECT_TRUE(has(S, "would need to be int64")) << S.toString();
}

TEST_P(UnaryMethodTest, AServerWithoutTheMethod) {
  startServer();
  // The server does not have what its .proto says.
  Signature Sig({TensorSpec::create<int64_t>("x")},
                TensorSpec::create<int64_t>("y"));
  Expected<Model> M = Model::open(address("askOdd"), Sig);
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  Status S = ask(Runner, 1).status();
  EXPECT_EQ(S.code(), StatusCode::Protocol) << S.toString();
  EXPECT_TRUE(has(S, "does not serve /cbridge.test.Kinds/askOdd"))
      << S.toString();
}

TEST_P(UnaryMethodTest, EveryKindByAServer) {
  startServer();
  std::vector<TensorSpec> Both = {
      TensorSpec::create<float>("fs", {Dynamic, 2}),
      TensorSpec::create<std::string>("texts", {Dynamic}),
      TensorSpec::create<int64_t>("nodes.size", {Dynamic}),
      TensorSpec::create<float>("weights", {Dynamic, Dynamic}),
      TensorSpec::create<int64_t>("callee.size")};
  Expected<Model> M = Model::open(address("echo"), {Both, Both});
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  std::vector<float> Flat = {1, 2, 3, 4};
  std::vector<std::vector<float>> Weights = {{1, 2, 3}, {4, 5, 6}};
  Runner.populateFeatures(
      std::pair{"fs", std::vector<std::vector<float>>{{1, 2}, {3, 4}}},
      std::pair{"texts", std::vector<std::string>{"a", "", "c"}},
      std::pair{"nodes.size", std::vector<int64_t>{7, 8}},
      std::pair{"weights", Weights}, std::pair{"callee.size", 11});
  Expected<Decision> D = Runner.evaluate();
  ASSERT_TRUE(D) << D.status().toString();
  EXPECT_EQ(*D->get<std::vector<float>>("fs"), Flat);
  EXPECT_EQ(*D->get<std::vector<std::string>>("texts"),
            (std::vector<std::string>{"a", "", "c"}));
  EXPECT_EQ(*D->get<std::vector<int64_t>>("nodes.size"),
            (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(*D->get<int64_t>("callee.size"), 11);
}

class StreamMethodTest : public CallMethodTest {};
INSTANTIATE_TEST_SUITE_P(, StreamMethodTest, ::testing::Values("talk"));

TEST_P(StreamMethodTest, OneStreamPerRunner) {
  Expected<Model> M = open();
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner(), Another = M->runner();
  for (int64_t X = 0; X < 10; ++X) {
    ASSERT_DECIDES(Runner, X, X + 1);
    ASSERT_DECIDES(Another, X, X + 1);
  }
  ASSERT_DECIDES(Runner, CountStreams, 2);
}

TEST_P(StreamMethodTest, AnUnaskedReplyIsNeverADecision) {
  Expected<Model> M = open();
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  ASSERT_DECIDES(Runner, Twice, Twice + 1);
  // Found before the question is sent, or by its step.
  Status S = ask(Runner, 5).status();
  EXPECT_EQ(S.code(), StatusCode::Protocol) << S.toString();
}

TEST_P(StreamMethodTest, AStreamThatHasEndedIsBegunAgain) {
  Expected<Model> M = open();
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  ASSERT_DECIDES(Runner, LastOfStream, LastOfStream + 1);
  // Whether it is found to be over before or after it is asked.
  Expected<int64_t> First = ask(Runner, 5);
  EXPECT_TRUE(First || First.status().code() == StatusCode::PeerError)
      << First.status().toString();
  ASSERT_DECIDES(Runner, CountStreams, 2);
}
