//===- GrpcTest.cpp - What only grpc: has ---------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>
#include <cbridge/Peer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

using namespace cbridge;
using std::chrono::milliseconds;

static Signature oneNumber() {
  return {{TensorSpec::create<int64_t>("x")}, TensorSpec::create<int64_t>("y")};
}

/// A peer on a port of this machine that repeats x.
class Served {
public:
  explicit Served(PeerOptions Options = PeerOptions())
      : P(Peer::open("grpc:127.0.0.1:0", std::move(Options))),
        Serving([this] { serve(); }) {
    EXPECT_TRUE(P) << P.status().toString();
  }
  ~Served() {
    Stop = true;
    Serving.join();
  }
  const std::string &address() const { return P->address(); }

private:
  void serve() {
    while (P && !Stop)
      if (auto R = P->next(Deadline::in(milliseconds(5))); R && !(*R)->done()) {
        Bytes X = (*R)->feature(0).Data;
        std::memcpy(P->decision().bytes(0).data(), X.data(), X.size());
        (void)P->reply();
      }
  }

  std::atomic<bool> Stop{false};
  Expected<Peer> P;
  std::thread Serving;
};

static size_t threads() {
  size_t Count = 0;
  for (auto &Each : std::filesystem::directory_iterator("/proc/self/task")) {
    (void)Each;
    ++Count;
  }
  return Count;
}

TEST(GrpcTest, APeerChoosesAPortAndTellsIt) {
  size_t Before = threads();
  {
    Served Peer;
    EXPECT_NE(Peer.address(), "grpc:127.0.0.1:0");
    for (const char *Serdes : {"", "?serdes=bitstream", "?serdes=json"}) {
      Expected<Model> M = Model::open(Peer.address() + Serdes, oneNumber());
      ASSERT_TRUE(M) << M.status().toString();
      MLModelRunner Runner = M->runner();
      Runner.populateFeatures(std::pair{"x", 7});
      Expected<int64_t> Y = Runner.evaluate<int64_t>();
      ASSERT_TRUE(Y) << Y.status().toString();
      EXPECT_EQ(*Y, 7);
    }
  }
  // gRPC's event engine keeps some of its own.
  EXPECT_LE(threads(), Before + 6);
}

TEST(GrpcTest, OnlyThisMachineMayConnect) {
  for (const char *Address :
       {"grpc:0.0.0.0:0", "grpc:[::]:0", "grpc:10.0.0.1:1",
        "grpc:127.0.0.1.example.org:1"}) {
    Expected<Peer> P = Peer::open(Address);
    ASSERT_FALSE(P) << Address;
    EXPECT_EQ(P.status().code(), StatusCode::InvalidArgument);
    EXPECT_NE(P.status().message().find("127.0.0.1"), std::string::npos);
  }
}

TEST(GrpcTest, AddressesThatAreNone) {
  for (const char *Address :
       {"grpc:", "grpc:host", "grpc:host:", "grpc::1", "grpc:host:x",
        "grpc:host:65536", "grpc:unix:", "grpc:::1:5", "grpc:127.0.0.1:0"}) {
    Expected<Model> M = Model::open(Address, oneNumber());
    ASSERT_FALSE(M) << Address;
    EXPECT_EQ(M.status().code(), StatusCode::InvalidArgument);
  }
}

TEST(GrpcTest, AnAbsentPeerIsNotWaitedForUnlessItIsWanted) {
  std::string Address;
  {
    Served Peer;
    Address = Peer.address();
  }
  auto Start = Deadline::Clock::now();
  Expected<Model> M = Model::open(Address + "?on_error=fail", oneNumber());
  ASSERT_FALSE(M);
  EXPECT_EQ(M.status().code(), StatusCode::Unavailable);
  EXPECT_LT(Deadline::Clock::now() - Start, std::chrono::seconds(3));
  Start = Deadline::Clock::now();
  M = Model::open(Address + "?on_error=fail&connect=200ms", oneNumber());
  ASSERT_FALSE(M);
  EXPECT_EQ(M.status().code(), StatusCode::Timeout);
  EXPECT_GE(Deadline::Clock::now() - Start, milliseconds(200));
  EXPECT_LT(Deadline::Clock::now() - Start, std::chrono::seconds(3));
}

TEST(GrpcTest, MessagesAreLimited) {
  PeerOptions Small;
  Small.MaxMessage = 4096;
  Served Peer(Small);
  Signature Sig({TensorSpec::create<float>("x", {50000})},
                TensorSpec::create<float>("y", {50000}));
  Expected<Model> M = Model::open(Peer.address(), Sig);
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  Status S = Runner.evaluate<float>().status();
  EXPECT_TRUE(S.isTransport()) << S.toString();
  EXPECT_NE(S.code(), StatusCode::Timeout) << S.toString();
}
