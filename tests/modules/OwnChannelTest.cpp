//===- OwnChannelTest.cpp - Tests of the socket of own-channel ------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is special about unix:PATH; the rest is in tests/conformance.
//
//===----------------------------------------------------------------------===//
#include "os/Socket.h"

#include <cbridge/MLModelRunner.h>
#include <cbridge/Peer.h>

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/stat.h>

using namespace cbridge;

namespace {

class OwnChannelTest : public testing::Test {
protected:
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::remove(Directory)) << "something is left";
  }
  static mode_t modeOf(const std::string &Path) {
    struct stat Info = {};
    EXPECT_EQ(::lstat(Path.c_str(), &Info), 0);
    return Info.st_mode;
  }

  const std::string Directory = *os::makePrivateDirectory();
  const std::string Path = Directory + "/socket", Address = "unix:" + Path;
};

TEST_F(OwnChannelTest, TheSocketIsPrivate) {
  Expected<Peer> P = Peer::open(Address);
  ASSERT_TRUE(P) << P.status().toString();
  EXPECT_EQ(modeOf(Path), mode_t(S_IFSOCK | S_IRUSR | S_IWUSR));
}

TEST_F(OwnChannelTest, OnePeerPerAddress) {
  Expected<Peer> First = Peer::open(Address);
  ASSERT_TRUE(First);
  Status Second = Peer::open(Address).status();
  EXPECT_EQ(Second.code(), StatusCode::Unavailable);
  EXPECT_EQ(Second.message(), "another peer serves " + Address);
}

TEST_F(OwnChannelTest, ALeftSocketIsReplacedButNothingElse) {
  {
    os::File Left = *os::listenUnix(Path);
  }
  EXPECT_TRUE(S_ISSOCK(modeOf(Path)));
  EXPECT_TRUE(Peer::open(Address));
  std::ofstream(Path) << "mine";
  Status S = Peer::open(Address).status();
  EXPECT_EQ(S.message(), Path + " is in the way and is not a socket");
  EXPECT_TRUE(std::filesystem::remove(Path));
}

TEST_F(OwnChannelTest, PathsMayBeLong) {
  std::string Folder = Directory + "/" + std::string(150, 'x');
  std::filesystem::create_directory(Folder);
  EXPECT_TRUE(Peer::open("unix:" + Folder + "/socket"));
  std::filesystem::remove(Folder);
}

TEST_F(OwnChannelTest, EachRunnerHasItsSession) {
  Expected<Peer> P = Peer::open(Address);
  ASSERT_TRUE(P) << P.status().toString();
  // Both ask before one is answered.
  std::atomic<int64_t> Sum{0};
  std::vector<std::thread> Compilers;
  for (int64_t X : {1, 10})
    Compilers.emplace_back([this, X, &Sum] {
      Signature Sig({TensorSpec::create<int64_t>("x")},
                    TensorSpec::create<int64_t>("y"));
      Expected<Model> M = Model::open(Address, Sig);
      MLModelRunner R = M->runner();
      R.populateFeatures(std::pair{"x", X});
      Sum += R.evaluate<int64_t>().valueOr(-1000);
    });
  std::vector<std::shared_ptr<const Request>> Asked;
  while (Asked.size() < 2)
    ASSERT_TRUE(
        P->nextBatch(Deadline::in(std::chrono::seconds(30)), Asked).ok());
  for (const auto &R : Asked) {
    int64_t Y = 2 * R->feature(0).as<int64_t>()[0];
    std::memcpy(P->decision(*R).bytes(0).data(), &Y, sizeof(Y));
    EXPECT_TRUE(P->reply(*R).ok());
  }
  for (std::thread &Each : Compilers)
    Each.join();
  EXPECT_EQ(Sum, 22);
}

} // namespace
