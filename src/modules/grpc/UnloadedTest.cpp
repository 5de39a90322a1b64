//===- UnloadedTest.cpp - Who does not ask for gRPC has none --------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>
#include <cbridge/Peer.h>

#include "os/File.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>

using namespace cbridge;

static bool loaded(const char *Library) {
  std::ostringstream Maps;
  Maps << std::ifstream("/proc/self/maps").rdbuf();
  return Maps.str().find(Library) != std::string::npos;
}

/// One question and its answer.
static void converse(const std::string &Address, const std::string &Serdes) {
  PeerOptions Once;
  Once.Sessions = 1;
  Expected<Peer> Opened = Peer::open(Address, Once);
  ASSERT_TRUE(Opened) << Opened.status().toString();
  std::thread Serving([&] {
    while (auto R = Opened->next(Deadline::in(std::chrono::seconds(30))))
      if (!(*R)->done()) {
        std::memset(Opened->decision().bytes(0).data(), 1, 1);
        EXPECT_TRUE(Opened->reply().ok());
      }
  });
  {
    Expected<Model> M = Model::open(Address + "?serdes=" + Serdes,
                                    {{TensorSpec::create<float>("x", {50000})},
                                     TensorSpec::create<int8_t>("y")});
    ASSERT_TRUE(M) << M.status().toString();
    MLModelRunner Runner = M->runner();
    Expected<int8_t> Y = Runner.evaluate<int8_t>();
    ASSERT_TRUE(Y) << Y.status().toString();
    EXPECT_EQ(*Y, 1);
  }
  Serving.join();
}

TEST(UnloadedTest, OtherChannelsAndSerializersLoadNothing) {
  Expected<std::string> Folder = os::makePrivateDirectory();
  ASSERT_TRUE(Folder);
  for (const char *Scheme : {"pipe:", "shm:"})
    for (const char *Serdes : {"bitstream", "json"})
      converse(Scheme + *Folder + "/x", Serdes);
  for (const char *Library : {"cbridge-grpc", "libprotobuf", "libgrpc"})
    EXPECT_FALSE(loaded(Library)) << Library;
  converse("pipe:" + *Folder + "/x", "protobuf");
  EXPECT_TRUE(loaded("cbridge-grpc"));
  os::removeDirectory(*Folder);
}
