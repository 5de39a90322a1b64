//===- ChannelFixture.cpp - What the channel suites share -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ChannelFixture.h"

#include "ServedPeer.h"
#include "os/File.h"
#include "serdes/Serializer.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cbridge::conformance {

static milliseconds processorTime() {
  rusage Usage = {};
  ::getrusage(RUSAGE_THREAD, &Usage);
  return milliseconds((Usage.ru_utime.tv_sec + Usage.ru_stime.tv_sec) * 1000 +
                      (Usage.ru_utime.tv_usec + Usage.ru_stime.tv_usec) / 1000);
}

Stopwatch::Stopwatch()
    : Start(Deadline::Clock::now()), StartProcessor(processorTime()) {}

milliseconds Stopwatch::elapsed() const {
  return std::chrono::duration_cast<milliseconds>(Deadline::Clock::now() -
                                                  Start);
}

milliseconds Stopwatch::processor() const {
  return processorTime() - StartProcessor;
}

Signature oneNumber() {
  return {{TensorSpec::create<int64_t>("x")}, TensorSpec::create<int64_t>("y")};
}

void decide(Peer &P, int64_t Y) {
  std::memcpy(P.decision().bytes(0).data(), &Y, sizeof(Y));
  (void)P.reply();
}

int64_t asked(const Request &R) { return R.feature(0).as<int64_t>()[0]; }

void increment(Peer &P, const Request &R) {
  if (!R.done())
    decide(P, asked(R) + 1);
}

Expected<int64_t> ask(MLModelRunner &Runner, int64_t X) {
  Runner.populateFeatures(std::pair{"x", X});
  return Runner.evaluate<int64_t>();
}

ChannelFixture::ChannelFixture(const ChannelUnderTest *Channel,
                               std::string Serdes)
    : Channel(*Channel), Serdes(std::move(Serdes)) {}

void ChannelFixture::SetUp() {
  FilesBefore = openFiles();
  ::unsetenv("TMPDIR");
  Expected<std::string> Made = os::makePrivateDirectory();
  ASSERT_TRUE(Made) << Made.status().toString();
  Directory = *Made;
  // What the library makes for itself is to be seen here, too.
  ::setenv("TMPDIR", Directory.c_str(), 1);
  Address = Channel.Address(Directory);
}

void ChannelFixture::TearDown() {
  os::Backoff Pause;
  for (Deadline Until = soon(); Channel.Settled && !Channel.Settled();)
    ASSERT_TRUE(Pause.pause(Until)) << "a raw end does not go";
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(filesIn(Directory), std::vector<std::string>());
  auto AsBefore = [this] {
    size_t Files = openFiles();
    return Files == FilesBefore || Files == FilesBefore + Channel.KeepsFiles;
  };
  // A library may close its own a little later.
  Deadline Until = Channel.KeepsFiles ? soon() : Deadline::past();
  while (!AsBefore() && Pause.pause(Until)) {
  }
  EXPECT_TRUE(AsBefore()) << openFiles() << " files, before " << FilesBefore;
  std::filesystem::remove_all(Directory);
}

std::string ChannelFixture::runnerString(milliseconds Timeout,
                                         std::string_view More) {
  return Address + "?serdes=" + Serdes +
         "&timeout=" + std::to_string(Timeout.count()) + "ms" +
         std::string(Channel.Options) + std::string(More);
}

Model ChannelFixture::open(milliseconds Timeout, Signature Sig) {
  Expected<Model> M = Model::open(runnerString(Timeout), std::move(Sig));
  if (M)
    return *M;
  ADD_FAILURE() << M.status().toString();
  return *Model::open("heuristic:", oneNumber());
}

void ChannelFixture::expectHealthy() {
  FreshPeer Peer(Channel, Address);
  expectServed();
}

void ChannelFixture::expectServed() {
  Model M = open();
  MLModelRunner Runner = M.runner();
  for (int64_t X : {41, -1000, 7}) {
    Expected<int64_t> Y = ask(Runner, X);
    ASSERT_TRUE(Y) << Y.status().toString();
    EXPECT_EQ(*Y, X + 1);
  }
}

Combinations everything() {
  Combinations All;
  for (const ChannelUnderTest &Each : channelsUnderTest())
    All.Channels.push_back(&Each);
  All.Serializers.assign(serializerNames().begin(), serializerNames().end());
  All.Serializers.emplace_back("flatbuffers");
#ifdef CBRIDGE_HAS_GRPC
  All.Serializers.emplace_back("protobuf");
#endif
  return All;
}

#ifdef CBRIDGE_HAS_GRPC
Combinations grpcPort() {
  static const auto *const Channel = new ChannelUnderTest(grpcPortUnderTest());
  return {{Channel}, {"protobuf"}};
}
#endif

std::string channelAndSerdesName(const ChannelUnderTest *Channel,
                                 const std::string &Serdes) {
  std::string_view Name =
      Channel->Label.empty() ? Channel->Name : Channel->Label;
  return std::string(Name) + "_" + Serdes;
}

} // namespace cbridge::conformance
