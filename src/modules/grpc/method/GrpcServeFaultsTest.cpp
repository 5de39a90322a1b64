//===- GrpcServeFaultsTest.cpp - role=server when things go wrong ---------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/method/PlainTrainer.h"

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

using namespace cbridge;
using namespace cbridge::test;

static auto since(Deadline::Clock::time_point Start) {
  return Deadline::Clock::now() - Start;
}

/// Waits until another trainer waits.
static void awaitOther(Trainer &T) {
  while (T.call(T.action(0), milliseconds(50)).error_code() !=
         grpc::StatusCode::ABORTED) {
  }
}

TEST(GrpcServeFaultsTest, NobodyAnswersInTime) {
  for (bool Seen : {false, true}) {
    ServedModel Compiler("timeout=200ms");
    Trainer T(Compiler.address());
    MLModelRunner Runner = Compiler.M->runner();
    auto Start = Deadline::Clock::now();
    auto Asking = Compiler.ask(Runner, 1);
    if (Seen)
      T.step(0);
    Expected<int64_t> Y = Asking.get();
    EXPECT_GE(since(Start), milliseconds(200));
    EXPECT_LT(since(Start), milliseconds(300));
    ASSERT_FALSE(Y);
    EXPECT_EQ(Y.status().code(), StatusCode::Timeout);
    EXPECT_NE(Y.status().message().find(Seen ? "no action" : "no trainer"),
              std::string::npos)
        << Y.status().toString();
    // It is closed: nobody waits again, and a trainer is told.
    Start = Deadline::Clock::now();
    EXPECT_FALSE(Runner.evaluate<int64_t>());
    EXPECT_LT(since(Start), milliseconds(100));
    grpc::Status S = T.call(T.action(Seen ? 1 : 0, 1));
    EXPECT_EQ(S.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_NE(S.error_message().find("200 ms"), std::string::npos);
  }
}

TEST(GrpcServeFaultsTest, ARunnerGoesWhileAnotherWaits) {
  for (bool Answered : {false, true}) {
    ServedModel Compiler(Answered ? "timeout=20s" : "timeout=2s");
    Trainer T(Compiler.address());
    std::optional<MLModelRunner> First = Compiler.M->runner();
    MLModelRunner Second = Compiler.M->runner();
    auto Asking = Compiler.ask(*First, 1);
    T.step(0);
    EXPECT_EQ(*T.decide(1, 2, Asking), 2);
    Asking = Compiler.ask(Second, 3);
    T.step(1, 2);
    EXPECT_EQ(T.x(), 3);
    auto Start = Deadline::Clock::now();
    First.reset();
    EXPECT_LT(since(Start), milliseconds(500));
    EXPECT_EQ(Asking.wait_for(seconds(0)), std::future_status::timeout);
    if (!Answered) {
      Expected<int64_t> Y = Asking.get();
      ASSERT_FALSE(Y);
      EXPECT_NE(Y.status().message().find("no action"), std::string::npos)
          << Y.status().toString();
      continue;
    }
    // The open question stays; the end comes after it.
    EXPECT_EQ(T.step(0).sequence(), 1u);
    EXPECT_EQ(T.x(), 3);
    EXPECT_EQ(T.step(2, 4).kind(), pb::END);
    EXPECT_EQ(T.Seen.sequence(), 2u);
    EXPECT_EQ(T.Seen.runner(), 1u);
    Expected<int64_t> Y = Asking.get();
    ASSERT_TRUE(Y) << Y.status().toString();
    EXPECT_EQ(*Y, 4);
    Asking = Compiler.ask(Second, 5);
    EXPECT_EQ(T.step(0).sequence(), 0u);
    EXPECT_EQ(T.x(), 5);
    EXPECT_EQ(*T.decide(1, 6, Asking), 6);
  }
}

TEST(GrpcServeFaultsTest, TheSecondOfTwoTrainersIsRefused) {
  ServedModel Compiler;
  Trainer First(Compiler.address()), Second(Compiler.address());
  // They are asking when the compiler has nothing to say yet; which of them is
  // the first is not known, but one is refused at once.
  std::promise<void> OneIsRefused;
  std::atomic<int> Refused{0};
  auto Begin = [&](Trainer &T) {
    grpc::Status S = T.call(T.action(0));
    if (S.ok())
      return true;
    EXPECT_EQ(S.error_code(), grpc::StatusCode::ABORTED);
    EXPECT_EQ(S.error_message(), "another trainer is connected");
    if (++Refused == 1)
      OneIsRefused.set_value();
    return false;
  };
  auto A = std::async(std::launch::async, [&] { return Begin(First); });
  auto B = std::async(std::launch::async, [&] { return Begin(Second); });
  ASSERT_EQ(OneIsRefused.get_future().wait_for(seconds(5)),
            std::future_status::ready);
  MLModelRunner Runner = Compiler.M->runner();
  auto Asking = Compiler.ask(Runner, 5);
  bool FirstIsIn = A.get();
  EXPECT_NE(FirstIsIn, B.get());
  Trainer &T = FirstIsIn ? First : Second;
  EXPECT_EQ(T.x(), 5);
  EXPECT_EQ(*T.decide(1, 6, Asking), 6);
}

TEST(GrpcServeFaultsTest, ATrainerThatGivesUpMayAskAgainAtOnce) {
  ServedModel Compiler;
  Trainer T(Compiler.address());
  for (int Times = 0; Times < 1000; ++Times) {
    grpc::Status S = T.call(T.action(0), milliseconds(Times % 3));
    EXPECT_EQ(S.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED)
        << S.error_message();
  }
  MLModelRunner Runner = Compiler.M->runner();
  auto Asking = Compiler.ask(Runner, 5);
  EXPECT_EQ(T.step(0).sequence(), 0u);
  EXPECT_EQ(*T.decide(1, 6, Asking), 6);
}

/// A program that takes one step as a trainer and then waits to be killed.
/// gRPC does not survive a fork, so it is this program again.
static const char *const AsTrainer = "CBRIDGE_TEST_TRAINER";

TEST(GrpcServeFaultsTest, AnotherTrainerGoesOnWhereOneWasKilled) {
  if (const char *Address = ::getenv(AsTrainer)) {
    Trainer T(Address);
    T.step(0);
    T.step(1, 100); // until it is killed
    return;
  }
  ServedModel Compiler;
  MLModelRunner Runner = Compiler.M->runner();
  auto Asking = Compiler.ask(Runner, 1);
  std::string Variable = AsTrainer + ("=" + Compiler.address());
  pid_t Child = ::fork();
  if (Child == 0) {
    char Self[] = "/proc/self/exe";
    std::string Filter =
        "--gtest_filter=*AnotherTrainerGoesOnWhereOneWasKilled";
    char *Arguments[] = {Self, Filter.data(), nullptr};
    ::putenv(Variable.data());
    ::execv(Self, Arguments);
    ::_exit(127);
  }
  EXPECT_EQ(*Asking.get(), 100);
  ASSERT_EQ(::kill(Child, SIGKILL), 0);
  ::waitpid(Child, nullptr, 0);
  Asking = Compiler.ask(Runner, 2);
  Trainer T(Compiler.address());
  grpc::Status S =
      T.patiently(T.action(0)); // once it is known that the first is gone
  ASSERT_TRUE(S.ok()) << S.error_message();
  EXPECT_EQ(T.Seen.sequence(), 1u);
  EXPECT_FALSE(T.Seen.signature().empty());
  EXPECT_EQ(T.x(), 2);
  EXPECT_EQ(*T.decide(2, 200, Asking), 200);
}

TEST(GrpcServeFaultsTest, ClosingEndsTheCallOfATrainerThatWaits) {
  std::future<grpc::Status> Waiting;
  std::optional<Trainer> T;
  {
    ServedModel Compiler;
    T.emplace(Compiler.address());
    Trainer Second(Compiler.address());
    Waiting = std::async(std::launch::async,
                         [&] { return T->patiently(T->action(0)); });
    awaitOther(Second);
  }
  auto Start = Deadline::Clock::now();
  grpc::Status S = Waiting.get();
  EXPECT_LT(since(Start), seconds(1));
  EXPECT_EQ(S.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(GrpcServeFaultsTest, ClosingDoesNotWaitForATrainerThatIsStuck) {
  if (const char *Address = ::getenv(AsTrainer)) {
    Trainer T(Address);
    (void)T.patiently(T.action(0));
    return;
  }
  pid_t Child;
  std::chrono::nanoseconds Took;
  {
    ServedModel Compiler;
    std::string Variable = AsTrainer + ("=" + Compiler.address());
    Child = ::fork();
    if (Child == 0) {
      char Self[] = "/proc/self/exe";
      std::string Filter = "--gtest_filter=*ATrainerThatIsStuck";
      char *Arguments[] = {Self, Filter.data(), nullptr};
      ::putenv(Variable.data());
      ::execv(Self, Arguments);
      ::_exit(127);
    }
    Trainer Second(Compiler.address());
    awaitOther(Second);
    ASSERT_EQ(::kill(Child, SIGSTOP), 0);
    auto Start = Deadline::Clock::now();
    Compiler.M = Status::error(StatusCode::Abstained, "closed");
    Took = since(Start);
  }
  EXPECT_LT(Took, milliseconds(1500));
  ::kill(Child, SIGKILL);
  ::waitpid(Child, nullptr, 0);
}

TEST(GrpcServeFaultsTest, AForkedChildLeavesTheServerAlone) {
  ServedModel Compiler;
  auto Runner = std::make_unique<MLModelRunner>(Compiler.M->runner());
  Trainer T(Compiler.address());
  auto Asking = Compiler.ask(*Runner, 1);
  T.step(0);
  EXPECT_EQ(*T.decide(1, 2, Asking), 2);
  pid_t Child = ::fork();
  if (Child == 0) {
    ::alarm(10);
    bool Said =
        Runner->evaluate<int64_t>().status().code() == StatusCode::Forked;
    Runner.reset();
    Compiler.M = Status::error(StatusCode::Abstained, "closed");
    ::_exit(Said ? 0 : 1);
  }
  int How = -1;
  ::waitpid(Child, &How, 0);
  EXPECT_EQ(How, 0);
  EXPECT_FALSE(Compiler.address().empty());
  Asking = Compiler.ask(*Runner, 3);
  EXPECT_EQ(T.step(1, 2).sequence(), 1u);
  EXPECT_EQ(*T.decide(2, 4, Asking), 4);
}

static size_t entries(const char *Folder) {
  return size_t(std::distance(std::filesystem::directory_iterator(Folder),
                              std::filesystem::directory_iterator()));
}

TEST(GrpcServeFaultsTest, StartingAndStoppingLeaksNothing) {
  size_t Files = 0, Threads = 0;
  for (int Times = 0; Times < 200; ++Times) {
    ServedModel Compiler;
    if (Times % 10 == 0) {
      Trainer T(Compiler.address());
      EXPECT_EQ(T.call(T.action(5)).error_code(),
                grpc::StatusCode::FAILED_PRECONDITION);
    }
    if (Times == 20) {
      Files = entries("/proc/self/fd");
      Threads = entries("/proc/self/task");
    }
  }
  EXPECT_LE(entries("/proc/self/fd"), Files);
  // gRPC's own come and go.
  EXPECT_LE(entries("/proc/self/task"), Threads + 4);
}
