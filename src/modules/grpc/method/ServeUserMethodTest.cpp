//===- ServeUserMethodTest.cpp - role=server with the user's own .proto ---===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>

#include "os/File.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <serve.grpc.pb.h>

#include <future>

using namespace cbridge;
namespace pb = cbridge::test;

/// The trainer calls, the compiler sends what the method returns.
TEST(ServeUserMethodTest, AnEpisode) {
  Expected<std::string> Folder = os::makePrivateDirectory();
  ASSERT_TRUE(Folder);
  const std::string Socket = "unix:" + *Folder + "/s";
  Signature Sig({TensorSpec::create<int64_t>("sizes", {Dynamic}),
                 TensorSpec::create<int64_t>("loop.depth")},
                TensorSpec::create<int64_t>("unroll"));
  Expected<Model> M =
      Model::open("grpc:" + Socket + "?on_error=fail&role=server&proto=" +
                      CBRIDGE_TEST_DESCRIPTOR,
                  Sig);
  ASSERT_TRUE(M) << M.status().toString();
  auto Compiling = std::async(std::launch::async, [&] {
    MLModelRunner Runner = M->runner();
    int64_t Sum = 0;
    for (int64_t Depth = 0; Depth < 3; ++Depth) {
      Runner.populateFeatures(std::pair{"sizes", std::vector<int64_t>{7, 8}},
                              std::pair{"loop.depth", Depth});
      Expected<int64_t> Unroll = Runner.evaluate<int64_t>();
      EXPECT_TRUE(Unroll) << Unroll.status().toString();
      Sum += Unroll ? *Unroll : 0;
      EXPECT_TRUE(Runner.reward(double(Depth) / 2).ok());
    }
    EXPECT_TRUE(Runner.endEpisode().ok());
    return Sum;
  });
  auto Stub = pb::Loops::NewStub(
      grpc::CreateChannel(Socket, grpc::InsecureChannelCredentials()));
  pb::Seen Seen;
  auto Step = [&](uint64_t Number, int64_t Unroll) {
    grpc::ClientContext Context;
    Context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(20));
    pb::Act Act;
    Act.set_step(Number);
    if (Number)
      Act.set_unroll(Unroll);
    return Stub->step(&Context, Act, &Seen);
  };
  grpc::Status S = Step(0, 0);
  ASSERT_TRUE(S.ok()) << S.error_message();
  for (uint64_t N = 0; N < 3; ++N) {
    EXPECT_EQ(Seen.step(), N);
    EXPECT_EQ(Seen.sizes_size(), 2);
    EXPECT_EQ(Seen.loop().depth(), int64_t(N));
    EXPECT_FALSE(Seen.terminated());
    S = Step(N + 1, 10 * int64_t(N));
    ASSERT_TRUE(S.ok()) << S.error_message();
    EXPECT_EQ(Seen.reward(), double(N) / 2);
  }
  EXPECT_TRUE(Seen.terminated());
  EXPECT_EQ(Seen.sizes_size(), 0);
  EXPECT_EQ(Compiling.get(), 30);
  os::removeDirectory(*Folder);
}
