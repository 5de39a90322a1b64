//===- SpawnTest.cpp - Peers that a runner starts and owns ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ChannelFixture.h"

#include "os/File.h"

#include <csignal>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

using namespace cbridge;
using namespace cbridge::conformance;

namespace {

/// The fixture sees to it that nothing is left: no child, no file.
class SpawnTest : public EveryChannel {
protected:
  Model spawn(const std::string &Program, milliseconds Timeout = Long,
              const std::string &Target = "") {
    Expected<Model> M = Model::open(
        std::string(Channel.Name) + ":" + Target + "?serdes=" + Serdes +
            "&timeout=" + std::to_string(Timeout.count()) + "ms" +
            std::string(Channel.Options) + "&spawn=" + Program,
        oneNumber());
    EXPECT_TRUE(M) << M.status().toString();
    return *M;
  }
  void expectSays(const Status &Why, StatusCode Code, std::string_view Says) {
    EXPECT_EQ(Why.code(), Code) << Why.toString();
    EXPECT_NE(Why.message().find(Says), std::string::npos) << Why.message();
  }
  const std::string Program = CBRIDGE_CONFORMANCE_PEER;
};
CBRIDGE_FOR_EVERY_CHANNEL(SpawnTest);

TEST_P(SpawnTest, StartsAPeerOfItsOwn) {
  Model A = spawn(Program), B = spawn(Program);
  EXPECT_EQ(filesIn(Directory).size(), 2u);
  MLModelRunner OfA = A.runner(), OfB = B.runner();
  EXPECT_EQ(ask(OfA, 41).valueOr(0), 42) << A.whyNot().toString();
  EXPECT_EQ(ask(OfB, 1).valueOr(0), 2) << B.whyNot().toString();
  int64_t ProcessA = ask(OfA, -1).valueOr(0),
          ProcessB = ask(OfB, -1).valueOr(0);
  EXPECT_GT(ProcessA, 0);
  EXPECT_GT(ProcessB, 0);
  EXPECT_NE(ProcessA, ProcessB);
  EXPECT_NE(ProcessA, ::getpid());
}

TEST_P(SpawnTest, TellsThePeerItsAddress) {
  Model M = spawn(Program + " {}", Long, Address.substr(Address.find(':') + 1));
  MLModelRunner Runner = M.runner();
  EXPECT_EQ(ask(Runner, 41).valueOr(0), 42) << M.whyNot().toString();
}

TEST_P(SpawnTest, EndsThePeerOfADeadCompiler) {
  // Orphans come to us, so that we see that they end and how.
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  int Ends[2];
  ASSERT_EQ(::pipe2(Ends, O_CLOEXEC), 0);
  os::File Read(Ends[0]), Write(Ends[1]);
  pid_t Compiler = forkToRun([&] {
    Model M = spawn(Program);
    MLModelRunner Runner = M.runner();
    int64_t Peer = ask(Runner, -1).valueOr(-1);
    if (::write(Write.get(), &Peer, sizeof(Peer)) == sizeof(Peer))
      for (;;)
        ::pause();
    return 1;
  });
  Write.close();
  int64_t Peer = -1;
  ASSERT_EQ(::read(Read.get(), &Peer, sizeof(Peer)), ssize_t(sizeof(Peer)));
  ASSERT_GT(Peer, 0);
  ::kill(Compiler, SIGKILL);
  EXPECT_EQ(waitForExit(Compiler), -SIGKILL);
  EXPECT_EQ(waitForExit(pid_t(Peer)), 0);
}

TEST_P(SpawnTest, NoticesThatThePeerDied) {
  Model M = spawn(Program);
  MLModelRunner Runner = M.runner();
  EXPECT_EQ(ask(Runner, 41).valueOr(0), 42);
  expectSays(ask(Runner, -2).status(), StatusCode::PeerClosed, "closed");
  EXPECT_EQ(Runner.evaluateOr<int64_t>([] { return 5; }), 5);
}

TEST_P(SpawnTest, NoSuchProgram) {
  Stopwatch Watch;
  expectSays(spawn("/no/such/program").whyNot(), StatusCode::Io,
             "/no/such/program");
  EXPECT_LT(Watch.elapsed(), Slack);
}

TEST_P(SpawnTest, AProgramThatExits) {
  expectSays(spawn("true").whyNot(), StatusCode::Unavailable,
             "'true' ended before it served: exit status 0");
  expectSays(spawn("false").whyNot(), StatusCode::Unavailable,
             "'false' ended before it served: exit status 1");
}

TEST_P(SpawnTest, AProgramThatNeverServes) {
  // One that ends when we let go of it, and one that has to be killed.
  for (const char *Idle : {"cat", "sleep 1000"}) {
    Stopwatch Watch;
    Status Why = spawn(Idle, Short).whyNot();
    EXPECT_GE(Watch.elapsed(), Short);
    // To start, end and reap a process takes its time.
    EXPECT_LT(Watch.elapsed(), Short + 2 * Slack);
    EXPECT_LT(Watch.processor(), milliseconds(50));
    expectSays(Why, StatusCode::Timeout,
               "the peer '" + std::string(Idle) + "' does not serve");
  }
}

} // namespace
