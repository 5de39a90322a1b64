//===- ProcessFaultsTest.cpp - Processes die, fork and get signals --------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ServedPeer.h"

#include "os/File.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <random>
#include <thread>

#include <fcntl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cbridge;
using namespace cbridge::conformance;

namespace {

class ProcessFaultsTest : public EveryChannel {
protected:
  /// The next decision finds out that the peer is gone, soon and for good.
  void expectPeerGone(const Model &M, MLModelRunner &Runner, int64_t X) {
    Stopwatch Watch;
    Expected<int64_t> Y = ask(Runner, X);
    EXPECT_LT(Watch.elapsed(), Slack);
    ASSERT_FALSE(Y) << "a stale " << *Y;
    EXPECT_EQ(Y.status().code(), StatusCode::PeerClosed);
    EXPECT_NE(Y.status().message().find(Address), std::string::npos)
        << Y.status().message();
    EXPECT_EQ(M.whyNot().code(), StatusCode::PeerClosed);
    EXPECT_EQ(Runner.evaluateOr<int64_t>([] { return 5; }), 5);
  }
  /// Kills the peer and waits until it is dead, but leaves it to be reaped.
  static void killPeer(const ServedPeer &Peer) {
    ::kill(Peer.process(), SIGKILL);
    siginfo_t Info;
    ASSERT_EQ(::waitid(P_PID, id_t(Peer.process()), &Info, WEXITED | WNOWAIT),
              0);
  }
};
CBRIDGE_FOR_EVERY_CHANNEL(ProcessFaultsTest);

Signature manyNumbers() {
  return {{TensorSpec::create<int64_t>("x", {Dynamic})},
          TensorSpec::create<int64_t>("y")};
}

Expected<int64_t> askAtLength(MLModelRunner &Runner, int64_t X,
                              size_t Length = 1 << 20) {
  Runner.populateFeatures(std::pair{"x", std::vector<int64_t>(Length, X)});
  return Runner.evaluate<int64_t>();
}

/// Two ends of a pipe, for handshakes with a forked process.
struct Handshake {
  Handshake() {
    int Ends[2];
    if (::pipe2(Ends, O_CLOEXEC) != 0)
      std::abort();
    Read = os::File(Ends[0]);
    Write = os::File(Ends[1]);
  }
  void give() const {
    if (::write(Write.get(), "!", 1) != 1)
      std::abort();
  }
  bool take() const {
    char Byte;
    return os::waitReadable(Read.get(), soon()) == os::Ready::Yes &&
           ::read(Read.get(), &Byte, 1) == 1;
  }
  os::File Read, Write;
};

TEST_P(ProcessFaultsTest, PeerDiesBeforeASession) {
  {
    ServedPeer Peer(Address, increment);
    killPeer(Peer);
    ASSERT_FALSE(filesIn(Directory).empty()); // what it could not remove
    Stopwatch Watch;
    Status Why = open().whyNot();
    EXPECT_LT(Watch.elapsed(), Slack);
    EXPECT_EQ(Why.code(), StatusCode::Unavailable) << Why.toString();
    EXPECT_NE(Why.message().find(Address), std::string::npos) << Why.message();
  }
  expectHealthy();
}

TEST_P(ProcessFaultsTest, PeerDiesBetweenDecisions) {
  {
    ServedPeer Peer(Address, increment);
    Model M = open();
    MLModelRunner Runner = M.runner();
    EXPECT_EQ(ask(Runner, 1).valueOr(0), 2);
    killPeer(Peer);
    expectPeerGone(M, Runner, 2);
  }
  expectHealthy();
}

TEST_P(ProcessFaultsTest, PeerDiesDuringADecision) {
  {
    ServedPeer Peer(Address, [](cbridge::Peer &P, const Request &R) {
      if (asked(R) == 13)
        ::raise(SIGKILL);
      increment(P, R);
    });
    Model M = open();
    MLModelRunner Runner = M.runner();
    EXPECT_EQ(ask(Runner, 1).valueOr(0), 2);
    expectPeerGone(M, Runner, 13);
  }
  expectHealthy();
}

TEST_P(ProcessFaultsTest, PeerDiesAfterItsReply) {
  {
    ServedPeer Peer(Address, [](cbridge::Peer &P, const Request &R) {
      increment(P, R);
      ::raise(SIGKILL);
    });
    Model M = open();
    MLModelRunner Runner = M.runner();
    // What it said before it died counts.
    Expected<int64_t> Y = ask(Runner, 1);
    bool Lost =
        Channel.SendsLater && !Y && Y.status().code() == StatusCode::PeerClosed;
    EXPECT_TRUE(Lost || Y.valueOr(0) == 2) << Y.status().toString();
    expectPeerGone(M, Runner, 2);
  }
  expectHealthy();
}

TEST_P(ProcessFaultsTest, PeerDiesWhileItIsSentALot) {
  // With SIGPIPE as it is by default, in a compiler of its own.
  Handshake Stopped;
  {
    ServedPeer Peer(Address, increment);
    pid_t Compiler = forkToRun([&] {
      ::signal(SIGPIPE, SIG_DFL);
      Model M = open(Long, manyNumbers());
      MLModelRunner Runner = M.runner();
      if (askAtLength(Runner, 1).valueOr(0) != 2)
        return 1;
      ::kill(Peer.process(), SIGSTOP);
      Stopped.give();
      Status S = askAtLength(Runner, 2).status();
      return S.code() == StatusCode::PeerClosed ? 0 : 2;
    });
    EXPECT_TRUE(Stopped.take());
    killPeer(Peer);
    EXPECT_EQ(waitForExit(Compiler), 0);
  }
  expectHealthy();
}

TEST_P(ProcessFaultsTest, PeerIsStopped) {
  ServedPeer Peer(Address, increment);
  Model M = open(Short);
  MLModelRunner Runner = M.runner();
  EXPECT_EQ(ask(Runner, 1).valueOr(0), 2);
  ::kill(Peer.process(), SIGSTOP);
  Stopwatch Watch;
  Status S = ask(Runner, 2).status();
  EXPECT_GE(Watch.elapsed(), Short);
  EXPECT_LT(Watch.elapsed(), Short + Slack);
  EXPECT_LT(Watch.processor(), milliseconds(50));
  EXPECT_EQ(S.code(), StatusCode::Timeout) << S.toString();
  // It wakes up, answers nobody, and serves the next.
  ::kill(Peer.process(), SIGCONT);
  expectServed();
}

/// SIGKILL to this process after a while, without anybody's doing.
void armDeath(std::chrono::microseconds After) {
  sigevent Event = {};
  Event.sigev_notify = SIGEV_SIGNAL;
  Event.sigev_signo = SIGKILL;
  timer_t Timer;
  itimerspec Time = {};
  Time.it_value.tv_nsec = std::max<int64_t>(1, After.count() * 1000);
  if (::timer_create(CLOCK_MONOTONIC, &Event, &Timer) != 0 ||
      ::timer_settime(Timer, 0, &Time, nullptr) != 0)
    std::abort();
}

TEST_P(ProcessFaultsTest, CompilersDieAtRandom) {
  const int64_t Sessions = times(Sanitized ? 500 : 2000);
  ServedPeer Peer(Address, increment);
  std::mt19937 Random(20240607);
  for (int64_t X = 0; X < Sessions; ++X) {
    if (X % 10 == 9) {
      std::chrono::microseconds After(std::uniform_int_distribution<int>(
          0, Sanitized ? 20000 : 4000)(Random));
      bool Large = X % 20 == 19;
      EXPECT_EQ(waitForExit(forkToRun([&] {
                  armDeath(After);
                  for (;;) {
                    Model M = open(Long, Large ? manyNumbers() : oneNumber());
                    MLModelRunner Runner = M.runner();
                    for (int64_t I = 0; I < 20; ++I)
                      if ((Large ? askAtLength(Runner, I) : ask(Runner, I))
                              .valueOr(-1) != I + 1)
                        return 1;
                  }
                })),
                -SIGKILL);
    }
    Model M = open();
    MLModelRunner Runner = M.runner();
    Expected<int64_t> Y = ask(Runner, X);
    ASSERT_TRUE(Y) << X << ": " << Y.status().toString();
    ASSERT_EQ(*Y, X + 1);
  }
}

TEST_P(ProcessFaultsTest, CompilersTakeTurns) {
  if (!Channel.OneSessionAtATime)
    GTEST_SKIP() << "sessions do not wait for each other";
  // The peer refuses to talk to two at once: it answers 0 if sessions mix.
  struct OneAtATime {
    uint64_t Session = 0;
    bool Open = false;
    void operator()(Peer &P, const Request &R) {
      bool Mixed = Open && R.session() != Session;
      Session = R.session();
      Open = !R.done();
      if (!R.done())
        decide(P, Mixed ? 0 : asked(R) + 1);
    }
  };
  ServedPeer Peer(Address, OneAtATime());
  auto Compile = [this](int64_t First) {
    for (int Session = 0; Session < 50; ++Session) {
      Model M = open();
      MLModelRunner Runner = M.runner();
      for (int64_t X = First; X < First + 20; ++X)
        if (ask(Runner, X).valueOr(0) != X + 1)
          return 1;
    }
    return 0;
  };
  pid_t A = forkToRun([&] { return Compile(1000); });
  pid_t B = forkToRun([&] { return Compile(2000); });
  EXPECT_EQ(waitForExit(A), 0);
  EXPECT_EQ(waitForExit(B), 0);
}

TEST_P(ProcessFaultsTest, AForkedChildGetsAnError) {
  ServedPeer Peer(Address, increment);
  std::optional<Model> M(open());
  std::optional<MLModelRunner> Runner(M->runner());
  EXPECT_EQ(ask(*Runner, 1).valueOr(0), 2);
  EXPECT_EQ(waitForExit(forkToRun([&] {
              if (ask(*Runner, 2).status().code() != StatusCode::Forked)
                return 1;
              if (Runner->evaluateOr<int64_t>([] { return 5; }) != 5)
                return 2;
              Runner.reset();
              M.reset(); // neither says goodbye in the parent's name
              return 0;
            })),
            0);
  EXPECT_EQ(ask(*Runner, 3).valueOr(0), 4);
  // A child that never asks does no harm when it cleans up, either.
  EXPECT_EQ(waitForExit(forkToRun([&] {
              Runner.reset();
              M.reset();
              return 0;
            })),
            0);
  EXPECT_EQ(ask(*Runner, 4).valueOr(0), 5);
  Runner.reset();
  M.reset();
  expectServed();
}

TEST_P(ProcessFaultsTest, AForkedChildSaysNoGoodbye) {
  // The parent's death is the end of a session that nobody closed.
  struct CountsTruncated {
    int64_t Truncated = 0;
    void operator()(Peer &P, const Request &R) {
      Truncated += R.truncated();
      if (!R.done())
        decide(P, Truncated);
    }
  };
  ServedPeer Peer(Address, CountsTruncated());
  EXPECT_EQ(waitForExit(forkToRun([&] {
              std::optional<Model> M(open());
              std::optional<MLModelRunner> Runner(M->runner());
              if (ask(*Runner, 1).valueOr(-1) != 0)
                return 1;
              if (waitForExit(forkToRun([&] {
                    Runner.reset();
                    M.reset();
                    return 0;
                  })) != 0)
                return 2;
              return ::raise(SIGKILL);
            })),
            -SIGKILL);
  MLModelRunner Runner = open().runner();
  // A question may come before the kernel tells that another compiler died.
  Deadline Until = soon();
  for (os::Backoff Pause; ask(Runner, 1).valueOr(-1) != 1;)
    ASSERT_TRUE(Pause.pause(Until));
}

TEST_P(ProcessFaultsTest, AChildForkedDuringADecisionGetsAnError) {
  Handshake Arrived, Go;
  ServedPeer Peer(Address, [&](cbridge::Peer &P, const Request &R) {
    if (!R.done() && asked(R) == 13) {
      Arrived.give();
      Go.take();
    }
    increment(P, R);
  });
  Model M = open();
  MLModelRunner Waiting = M.runner(), Other = M.runner();
  std::thread Thread([&] { EXPECT_EQ(ask(Waiting, 13).valueOr(0), 14); });
  EXPECT_TRUE(Arrived.take());
  EXPECT_EQ(waitForExit(forkToRun([&] {
              return ask(Other, 1).status().code() == StatusCode::Forked ? 0
                                                                         : 1;
            })),
            0);
  Go.give();
  Thread.join();
  EXPECT_EQ(ask(Other, 1).valueOr(0), 2);
}

std::atomic<int> Alarms{0};

/// A SIGALRM every millisecond that interrupts whatever can be interrupted.
class Interruptions {
public:
  Interruptions() {
    Alarms = 0;
    struct sigaction Action = {};
    Action.sa_handler = [](int) { ++Alarms; };
    ::sigaction(SIGALRM, &Action, &Before);
    itimerval Every = {{0, 1000}, {0, 1000}};
    ::setitimer(ITIMER_REAL, &Every, nullptr);
  }
  ~Interruptions() {
    itimerval Never = {};
    ::setitimer(ITIMER_REAL, &Never, nullptr);
    ::sigaction(SIGALRM, &Before, nullptr);
  }

private:
  struct sigaction Before;
};

TEST_P(ProcessFaultsTest, SignalsInterruptNothing) {
  ServedPeer Peer(Address, [](cbridge::Peer &P, const Request &R) {
    static Interruptions OfThePeer;
    increment(P, R);
  });
  Interruptions OfTheCompiler;
  Model M = open(Long, manyNumbers());
  MLModelRunner Runner = M.runner();
  for (int64_t X = 0; X < 20 || Alarms < 50; ++X) {
    Expected<int64_t> Large = askAtLength(Runner, X, 1 << 17);
    ASSERT_TRUE(Large) << Large.status().toString();
    ASSERT_EQ(*Large, X + 1);
    for (int64_t I = 0; I < 100; ++I)
      ASSERT_EQ(askAtLength(Runner, X + I, 1).valueOr(-1), X + I + 1);
  }
}

TEST_P(ProcessFaultsTest, AStoppedPeerHoldsNobodyByALargeMessage) {
  ServedPeer Peer(Address, increment);
  Stopwatch Watch;
  {
    Model M = open(Short, manyNumbers());
    ASSERT_TRUE(M.whyNot().ok()) << M.whyNot().toString();
    MLModelRunner Runner = M.runner();
    EXPECT_EQ(askAtLength(Runner, 1, 10).valueOr(0), 2);
    ::kill(Peer.process(), SIGSTOP);
    Watch = Stopwatch();
    EXPECT_EQ(askAtLength(Runner, 2).status().code(), StatusCode::Timeout);
    EXPECT_LT(Watch.elapsed(), Short + 3 * Slack);
  }
  EXPECT_LT(Watch.elapsed(), Short + 3 * Slack + milliseconds(1000));
  ::kill(Peer.process(), SIGCONT);
}

TEST_P(ProcessFaultsTest, SignalsDoNotProlongAWait) {
  ServedPeer Peer(Address, increment);
  Model M = open(Short);
  MLModelRunner Runner = M.runner();
  EXPECT_EQ(ask(Runner, 1).valueOr(0), 2);
  ::kill(Peer.process(), SIGSTOP);
  {
    Interruptions OfTheCompiler;
    Stopwatch Watch;
    EXPECT_EQ(ask(Runner, 2).status().code(), StatusCode::Timeout);
    EXPECT_GE(Watch.elapsed(), Short);
    EXPECT_LT(Watch.elapsed(), Short + Slack);
    EXPECT_GT(Alarms, Channel.BlocksSignals ? 0 : 10);
  }
  ::kill(Peer.process(), SIGCONT);
}

} // namespace
