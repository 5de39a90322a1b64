//===- GrpcTest.cpp - What only grpc: has ---------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/EchoPeer.h"
#include "modules/grpc/ServedModel.h"

#include <filesystem>

using namespace cbridge;
using namespace cbridge::test;

/// On a port of this machine.
static const std::string AnyPort = "grpc:127.0.0.1:0";

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
    EchoPeer Peer(AnyPort);
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

TEST(GrpcTest, AddressesThatAreNone) {
  for (const char *Address :
       {"grpc:", "grpc:host", "grpc:host:", "grpc::1", "grpc:host:x",
        "grpc:host:65536", "grpc:unix:", "grpc:unix:/a,/b", "grpc:::1:5",
        "grpc:127.0.0.1:0"}) {
    Expected<Model> M = Model::open(Address, oneNumber());
    ASSERT_FALSE(M) << Address;
    EXPECT_EQ(M.status().code(), StatusCode::InvalidArgument);
  }
}

TEST(GrpcTest, SocketsOfAnyName) {
  for (const char *Name : OddNames) {
    Folder In;
    std::string Path = In.file(Name);
    std::string Address = "grpc:" + RunnerString::escape("unix:" + Path);
    {
      EchoPeer Peer(Address);
      EXPECT_EQ(std::filesystem::status(Path).permissions(),
                std::filesystem::perms(0600))
          << Name;
      EXPECT_EQ(In.count(), 2u) << Name; // and its lock
      for (const char *Mode : {"stream", "unary"}) {
        Status S = askOnce(Address + "?on_error=fail&mode=" + Mode);
        EXPECT_TRUE(S.ok()) << Name << ": " << S.toString();
      }
    }
    EXPECT_EQ(In.count(), 0u) << Name;
  }
}

TEST(GrpcTest, AnAbsentPeerIsNotWaitedForUnlessItIsWanted) {
  std::string Address;
  {
    EchoPeer Peer(AnyPort);
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
  EchoPeer Peer(AnyPort, Small);
  Signature Sig({TensorSpec::create<float>("x", {50000})},
                TensorSpec::create<float>("y", {50000}));
  Expected<Model> M = Model::open(Peer.address(), Sig);
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner Runner = M->runner();
  Status S = Runner.evaluate<float>().status();
  EXPECT_TRUE(S.isTransport()) << S.toString();
  EXPECT_NE(S.code(), StatusCode::Timeout) << S.toString();
}
