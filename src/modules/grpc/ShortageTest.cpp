//===- ShortageTest.cpp - grpc: when the system has nothing left ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/EchoPeer.h"
#include "modules/grpc/ServedModel.h"

#include <csignal>

#include <dlfcn.h>
#include <pthread.h>

using namespace cbridge;
using namespace cbridge::test;

/// How many threads with blocked signals, which are not gRPC's, can be had.
static constexpr int AnyNumber = 1000000;
static std::atomic<int> Left{AnyNumber};
static std::atomic<bool> None{false};

static bool blocksSignals() {
  sigset_t Blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &Blocked);
  return ::sigismember(&Blocked, SIGINT) == 1;
}

// A sanitizer's own, if there is one.
extern "C" [[gnu::weak]] decltype(pthread_create) __interceptor_pthread_create;

/// That of all libraries, too.
extern "C" int pthread_create(pthread_t *Thread, const pthread_attr_t *How,
                              void *(*Run)(void *), void *With) noexcept {
  if (None || (blocksSignals() && --Left < 0))
    return EAGAIN;
  static auto *Real =
      __interceptor_pthread_create
          ? &__interceptor_pthread_create
          : reinterpret_cast<decltype(&pthread_create)>(
                ::dlsym(RTLD_NEXT, "pthread_create"));
  return Real(Thread, How, Run, With);
}

/// While it lives, there are so few threads; signals must stay as they are.
class WithoutThreads {
public:
  explicit WithoutThreads(int Some = 0) {
    Left = Some;
    None = Some == 0;
  }
  ~WithoutThreads() {
    None = false;
    Left = AnyNumber;
    EXPECT_FALSE(blocksSignals());
    EXPECT_LT(Deadline::Clock::now() - Start, seconds(2));
  }

private:
  const Deadline::Clock::time_point Start = Deadline::Clock::now();
};

/// The last one gets gRPC to begin.
static constexpr int Few[] = {0, 3, 4};

static void expectSays(const Status &S, const std::string &What) {
  EXPECT_NE(S.message().find(What), std::string::npos) << S.toString();
}

TEST(GrpcShortageTest, APeerThatGetsNoThread) {
  Folder In;
  std::string Address = "grpc:unix:" + In.file("s");
  for (const std::string &Each : {std::string("grpc:127.0.0.1:0"), Address})
    for (int Some : Few) {
      WithoutThreads During(Some);
      expectSays(Peer::open(Each).status(),
                 "cannot serve " + Each + ": cannot start a thread");
    }
  EchoPeer Peer(Address);
  EXPECT_TRUE(askOnce(Address).ok());
}

TEST(GrpcShortageTest, ACompilerThatServesAndGetsNoThread) {
  Folder In;
  std::string Address = "grpc:unix:" + In.file("s");
  std::string Text = Address + "?role=server&on_error=fail";
  for (int Some : Few) {
    WithoutThreads During(Some);
    Expected<Model> M = Model::open(Text, xToY());
    ASSERT_FALSE(M);
    expectSays(M.status(),
               "cannot serve " + Address + ": cannot start a thread");
  }
  Expected<Model> M = Model::open(Text, xToY());
  EXPECT_TRUE(M) << M.status().toString();
}

TEST(GrpcShortageTest, ATrainerThatCallsAndGetsNoThread) {
  for (int Some : {0, 3}) {
    WithoutThreads During(Some);
    expectSays(Peer::open("grpc:127.0.0.1:1?role=client").status(),
               "grpc:127.0.0.1:1: cannot start a thread");
  }
  WithoutThreads During(4);
  Expected<Peer> P = Peer::open("grpc:127.0.0.1:1?role=client");
  ASSERT_TRUE(P) << P.status().toString();
  auto R = P->next(Deadline::in(seconds(1)));
  ASSERT_FALSE(R);
  expectSays(R.status(), "cannot start a thread");
}

TEST(GrpcShortageTest, ACompilerThatGetsNoThread) {
  EchoPeer Peer("grpc:127.0.0.1:0");
  for (const char *Mode : {"stream", "unary"}) {
    WithoutThreads During;
    expectSays(askOnce(Peer.address() + "?on_error=fail&mode=" + Mode),
               Peer.address() + ": cannot start a thread");
  }
  EXPECT_TRUE(askOnce(Peer.address()).ok());
}

TEST(GrpcShortageTest, EndsThatGetNoThread) {
  ServedModel Serving;
  Expected<Peer> Dials =
      Peer::open("grpc:" + Serving.address() + "?role=client");
  ASSERT_TRUE(Dials) << Dials.status().toString();
  Expected<Peer> Listens = Peer::open("grpc:127.0.0.1:0");
  ASSERT_TRUE(Listens) << Listens.status().toString();
  EchoPeer Peer("grpc:127.0.0.1:0");
  for (const char *Mode : {"stream", "unary"}) {
    Expected<Model> M =
        Model::open(Peer.address() + "?mode=" + Mode, oneNumber());
    ASSERT_TRUE(M) << M.status().toString();
    std::optional<MLModelRunner> Runner = M->runner();
    Runner->populateFeatures(std::pair{"x", 7});
    EXPECT_TRUE(Runner->evaluate<int64_t>());
    WithoutThreads During;
    Runner.reset();
    M = Status::error(StatusCode::Abstained, "closed");
  }
  WithoutThreads During;
  auto Closed = Status::error(StatusCode::Abstained, "closed");
  Dials = Closed;
  Listens = Closed;
  Serving.M = Closed;
}
