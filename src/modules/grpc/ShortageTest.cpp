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
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

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

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)

// A sanitizer's own, if there is one.
extern "C" [[gnu::weak]] decltype(pthread_create) __interceptor_pthread_create;

/// That of all libraries, too.
extern "C" int pthread_create(pthread_t *Thread, const pthread_attr_t *How,
                              void *(*Run)(void *), void *With) noexcept {
  if (None || (blocksSignals() && --Left < 0))
    return EAGAIN;
  static auto *Real = __interceptor_pthread_create
                          ? &__interceptor_pthread_create
                          : reinterpret_cast<decltype(&pthread_create)>(
                                ::dlsym(RTLD_NEXT, "pthread_create"));
  return Real(Thread, How, Run, With);
}

/// What gets no thread is left alone.
static bool Leaks = false;
extern "C" int __lsan_is_turned_off() { return Leaks; }

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

/// While it lives, there are so few threads; signals must stay as they are.
class WithoutThreads {
public:
  explicit WithoutThreads(int Some = 0) {
    Leaks = true;
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

/// While it lives, only so many files can be opened.
class FewFiles {
public:
  explicit FewFiles(size_t Free) {
    ::getrlimit(RLIMIT_NOFILE, &Before);
    rlimit Less = {256, Before.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &Less), 0);
    for (int File; (File = ::eventfd(0, EFD_CLOEXEC)) >= 0;)
      Taken.push_back(File);
    for (; Free && !Taken.empty(); --Free)
      giveBack();
  }
  ~FewFiles() {
    while (!Taken.empty())
      giveBack();
    ::setrlimit(RLIMIT_NOFILE, &Before);
  }

private:
  void giveBack() {
    ::close(Taken.back());
    Taken.pop_back();
  }
  std::vector<int> Taken;
  rlimit Before;
};

TEST(GrpcShortageTest, TooFewFiles) {
  if (__interceptor_pthread_create)
    GTEST_SKIP() << "a sanitizer's checks need files themselves";
  Folder In;
  const std::string Port = "grpc:127.0.0.1:0", Nobody = "grpc:127.0.0.1:1",
                    Socket = "grpc:unix:" + In.file("s");
  EXPECT_FALSE(Model::open("grpc:", xToY())); // loads the module
  auto Ask = [](const std::string &Text) {
    return Model::open(Text + "on_error=fail&connect=20ms", xToY()).status();
  };
  auto Serve = [](const std::string &Text) {
    return Model::open(Text + "?on_error=fail&role=server", xToY()).status();
  };
  for (size_t Free : {0, 1, 3, 7, 8, 9, 10, 12}) {
    FewFiles During(Free);
    const std::pair<std::string, Status> Came[] = {
        {Nobody, Ask(Nobody + "?")},
        {Nobody, Ask(Nobody + "?mode=unary&")},
        {Port, Peer::open(Port).status()},
        {Socket, Peer::open(Socket).status()},
        {Socket, Serve(Socket)},
        {Nobody, Peer::open(Nobody + "?role=client").status()}};
    for (const auto &[Address, S] : Came)
      if (Free < 8) {
        expectSays(S, Address);
        expectSays(S, "Too many open files");
      }
  }
  EXPECT_TRUE(Serve(Socket).ok());
}
