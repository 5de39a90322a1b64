//===- ShmProcessTest.cpp - Tests of shared memory and processes ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/shm/ShmServed.h"

#include <csignal>

#include <fcntl.h>
#include <sys/wait.h>

using namespace cbridge;
using namespace cbridge::shm;

namespace {

/// Forks; the child exits with what Body returns.
pid_t run(const std::function<int()> &Body) {
  pid_t Child = ::fork();
  if (Child == 0)
    ::_exit(Body());
  EXPECT_GT(Child, 0);
  return Child;
}

/// The exit status, or minus the signal.
int exitOf(pid_t Child) {
  int Code = 0;
  EXPECT_EQ(::waitpid(Child, &Code, 0), Child);
  return WIFSIGNALED(Code) ? -WTERMSIG(Code) : WEXITSTATUS(Code);
}

/// A peer in a process of its own, stopped by SIGTERM.
class ShmProcessTest : public ShmFixture {
protected:
  void startProcess(const std::function<void()> &Prepare = [] {}) {
    int Ends[2];
    ASSERT_EQ(::pipe2(Ends, O_CLOEXEC), 0);
    os::File Read(Ends[0]), Write(Ends[1]);
    Process = run([&] {
      static volatile std::sig_atomic_t Stop = 0;
      ::signal(SIGTERM, [](int) { Stop = 1; });
      Prepare();
      Expected<Peer> P = Peer::open("shm:" + Path);
      if (!P || ::write(Write.get(), "!", 1) != 1)
        return 2;
      serve(*P, increment, [] { return Stop != 0; }, milliseconds(20));
      return 0;
    });
    Write.close();
    char Byte;
    ASSERT_EQ(::read(Read.get(), &Byte, 1), 1);
  }
  void TearDown() override {
    if (Process > 0) {
      ::kill(Process, SIGTERM);
      EXPECT_EQ(exitOf(Process), 0);
    }
  }
  /// Whether a compiler with these limits decides (0), abstains (3), or does
  /// something worse.
  int compileWithin(int Resource, rlim_t Limit) {
    return exitOf(run([&] {
      rlimit Both = {Limit, Limit};
      if (::setrlimit(Resource, &Both) != 0)
        return 1;
      Expected<Model> M = Model::open("shm:" + Path, oneNumber());
      if (!M)
        return 2;
      MLModelRunner R = M->runner();
      for (int64_t X = 0; X < 10; ++X) {
        R.populateFeatures(std::pair{"x", X});
        Expected<int64_t> Y = R.evaluate<int64_t>();
        if (!Y)
          return M->whyNot().ok() ? 4 : 3;
        if (*Y != X + 1)
          return 5;
      }
      return 0;
    }));
  }
  pid_t Process = -1;
};

TEST_F(ShmProcessTest, ACompilerMayHaveALimitOnFileSizes) {
  startProcess();
  EXPECT_EQ(compileWithin(RLIMIT_FSIZE, 0), 3);
  EXPECT_EQ(compileWithin(RLIMIT_FSIZE, 4096), 3);
  EXPECT_EQ(compileWithin(RLIMIT_FSIZE, rlim_t(8) << 20), 0);
  EXPECT_EQ(compileWithin(RLIMIT_FSIZE, rlim_t(512) << 20), 0);
  expectServed();
}

TEST_F(ShmProcessTest, ACompilerMayHaveALimitOnAddresses) {
  if (Sanitized)
    GTEST_SKIP() << "the sanitizer needs them all";
  startProcess();
  EXPECT_EQ(compileWithin(RLIMIT_AS, rlim_t(8) << 30), 0);
  EXPECT_EQ(compileWithin(RLIMIT_AS, rlim_t(1) << 30), 0);
  EXPECT_EQ(compileWithin(RLIMIT_AS, rlim_t(256) << 20), 0);
  expectServed();
}

TEST_F(ShmProcessTest, ALimitOnAddressesIsMostlyForTheCompiler) {
  if (Sanitized)
    GTEST_SKIP() << "the sanitizer needs them all";
  startProcess();
  EXPECT_EQ(exitOf(run([&] {
              rlimit Both = {rlim_t(600) << 20, rlim_t(600) << 20};
              if (::setrlimit(RLIMIT_AS, &Both) != 0)
                return 1;
              Expected<Model> M = Model::open("shm:" + Path, oneNumber());
              MLModelRunner R = M->runner();
              if (ask(R, 1).valueOr(-1) != 2)
                return 2;
              void *Much = std::malloc(size_t(300) << 20);
              return Much ? 0 : 3;
            })),
            0);
}

TEST_F(ShmProcessTest, ThePeerSurvivesRunningOutOfFiles) {
  if (Sanitized)
    GTEST_SKIP() << "the sanitizer needs files to look at an object's type";
  startProcess([] {
    size_t Now = openFiles();
    rlimit Few = {Now + 12, Now + 12};
    ::setrlimit(RLIMIT_NOFILE, &Few);
  });
  Model M = open();
  MLModelRunner R = M.runner();
  for (bool Speak : {false, true}) {
    std::vector<std::unique_ptr<HandMade>> Many;
    for (int I = 0; I < 40; ++I) {
      Many.push_back(std::make_unique<HandMade>(connect()));
      if (Speak)
        (void)Many.back()->greet(FrameKind::Hello,
                                 Hello{"bitstream", oneNumber()}.encode());
    }
    for (int64_t X = 0; X < 20; ++X) {
      Stopwatch Watch;
      ASSERT_EQ(ask(R, X).valueOr(-1), X + 1) << M.whyNot().toString();
      EXPECT_LT(Watch.elapsed(), Slack);
    }
    Many.clear();
    // Until the peer has seen them off, newcomers are told why not.
    Deadline Until = soon();
    for (Status Why = open().whyNot(); !Why.ok(); Why = open().whyNot()) {
      EXPECT_NE(Why.message().find("Too many open files"), std::string::npos)
          << Why.toString();
      ASSERT_FALSE(Until.passed());
    }
    expectServed();
  }
}

TEST_F(ShmProcessTest, ServesManyCompilersAtOnce) {
  startProcess();
  std::vector<pid_t> Compilers;
  for (int64_t C = 0; C < 64; ++C)
    Compilers.push_back(run([&] {
      Model M = open();
      MLModelRunner R = M.runner();
      for (int64_t X = C * 100; X < C * 100 + 50; ++X)
        if (ask(R, X).valueOr(-1) != X + 1)
          return 1;
      return 0;
    }));
  for (pid_t Each : Compilers)
    EXPECT_EQ(exitOf(Each), 0);
}

TEST_F(ShmProcessTest, AForkedChildDoesNotDisturbFeatures) {
  startProcess();
  Model M = open();
  MLModelRunner R = M.runner();
  int64_t *X = R.getTensor<int64_t>(0).data();
  *X = 41;
  EXPECT_EQ(exitOf(run([&] {
              if (*X != 41)
                return 1;
              *X = 7;
              R.populateFeatures(std::pair{"x", 8});
              return R.evaluate<int64_t>().status().code() == StatusCode::Forked
                         ? 0
                         : 2;
            })),
            0);
  EXPECT_EQ(*X, 41);
  EXPECT_EQ(R.evaluate<int64_t>().valueOr(-1), 42);
}

TEST_F(ShmProcessTest, DeadlinesHoldWhenThePeerIsStopped) {
  startProcess();
  Model M = open(oneNumber(), "?timeout=150ms");
  MLModelRunner R = M.runner();
  ASSERT_EQ(ask(R, 1).valueOr(-1), 2);
  ::kill(Process, SIGSTOP);
  Stopwatch Watch;
  EXPECT_EQ(ask(R, 2).status().code(), StatusCode::Timeout);
  EXPECT_LT(Watch.elapsed(), milliseconds(150) + Slack);
  EXPECT_LT(Watch.processor(), milliseconds(30));
  // Nor do those that come now wait any longer.
  Stopwatch Another;
  EXPECT_EQ(open(oneNumber(), "?timeout=150ms").whyNot().code(),
            StatusCode::Timeout);
  EXPECT_LT(Another.elapsed(), milliseconds(150) + Slack);
  ::kill(Process, SIGCONT);
  expectServed();
}

} // namespace
