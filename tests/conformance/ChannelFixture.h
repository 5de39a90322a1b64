//===- ChannelFixture.h - What the channel suites share ---------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_CONFORMANCE_CHANNELFIXTURE_H
#define CBRIDGE_TESTS_CONFORMANCE_CHANNELFIXTURE_H

#include "ChannelsUnderTest.h"
#include "ThisProcess.h"

#include <cbridge/MLModelRunner.h>
#include <cbridge/Peer.h>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace cbridge::conformance {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// How much later than its deadline a wait may end.
constexpr milliseconds Slack(Sanitized ? 1500 : 100);
/// A time-out for what is going to time out.
constexpr milliseconds Short(150);
/// A time-out for what must not.
constexpr seconds Long(30);

inline Deadline soon() { return Deadline::in(Long); }

/// Wall-clock time and this thread's processor time since it was made.
class Stopwatch {
public:
  Stopwatch();
  milliseconds elapsed() const;
  milliseconds processor() const;

private:
  Deadline::Clock::time_point Start;
  milliseconds StartProcessor;
};

/// Feature x, decision y: both int64_t[1].
Signature oneNumber();
/// What a peer does with a question or the end of an episode.
using Policy = std::function<void(Peer &, const Request &)>;
/// Answers y = x + 1.
void increment(Peer &P, const Request &R);
void decide(Peer &P, int64_t Y);
int64_t asked(const Request &R);
Expected<int64_t> ask(MLModelRunner &Runner, int64_t X);

using ChannelAndSerdes = std::tuple<const ChannelUnderTest *, std::string>;

/// A fresh directory with an address in it. Whatever a test does, it leaves no
/// files, descriptors or children behind.
class ChannelFixture : public ::testing::Test {
protected:
  ChannelFixture(const ChannelUnderTest *Channel, std::string Serdes);
  void SetUp() override;
  void TearDown() override;

  std::string runnerString(milliseconds Timeout, std::string_view More = "");
  /// A model at the address; where it is not to be had, one that abstains.
  Model open(milliseconds Timeout = Long, Signature Sig = oneNumber());
  /// A new peer and a new compiler understand each other at the address.
  void expectHealthy();
  /// A peer that is being served understands a new compiler.
  void expectServed();

  /// How often to repeat what the serializer makes no difference to: Count
  /// times for each channel, with the others less.
  int64_t times(int64_t Count) const {
    return Serdes == (Channel.OwnFraming ? "protobuf" : "bitstream")
               ? Count
               : Count / 10;
  }

  const ChannelUnderTest &Channel;
  const std::string Serdes;
  std::string Directory, Address;

private:
  size_t FilesBefore = 0;
};

/// What a suite runs over: each of these channels with each of these
/// serializers.
struct Combinations {
  std::vector<const ChannelUnderTest *> Channels;
  std::vector<std::string> Serializers;
};
/// All channels with all serializers: those of the library and of modules.
Combinations everything();
#ifdef CBRIDGE_HAS_GRPC
/// gRPC over a port, with one serializer: more would show no more.
Combinations grpcPort();
#endif
/// "pipe_json".
std::string channelAndSerdesName(const ChannelUnderTest *Channel,
                                 const std::string &Serdes);

/// A suite's base for channel × serializer.
class EveryChannel : public ChannelFixture,
                     public ::testing::WithParamInterface<ChannelAndSerdes> {
protected:
  EveryChannel()
      : ChannelFixture(std::get<0>(GetParam()), std::get<1>(GetParam())) {}
};

inline auto combine(const Combinations &Of) {
  return ::testing::Combine(::testing::ValuesIn(Of.Channels),
                            ::testing::ValuesIn(Of.Serializers));
}
template <typename T>
auto combine(const Combinations &Of, const std::vector<T> &More) {
  return ::testing::Combine(::testing::ValuesIn(Of.Channels),
                            ::testing::ValuesIn(Of.Serializers),
                            ::testing::ValuesIn(More));
}

struct ChannelAndSerdesNamer {
  template <typename Info> std::string operator()(const Info &I) const {
    return channelAndSerdesName(std::get<0>(I.param), std::get<1>(I.param));
  }
};

#define CBRIDGE_FOR_EVERY_CHANNEL(Suite)                                       \
  INSTANTIATE_TEST_SUITE_P(Channels, Suite, combine(everything()),             \
                           ChannelAndSerdesNamer())
/// The same for suites over one of List as well.
#define CBRIDGE_FOR_EVERY_CHANNEL_AND(Suite, List, Namer)                      \
  INSTANTIATE_TEST_SUITE_P(Channels, Suite, combine(everything(), List), Namer)

#ifdef CBRIDGE_HAS_GRPC
#define CBRIDGE_FOR_GRPC_PORT(Suite)                                           \
  INSTANTIATE_TEST_SUITE_P(GrpcPort, Suite, combine(grpcPort()),               \
                           ChannelAndSerdesNamer())
#else
#define CBRIDGE_FOR_GRPC_PORT(Suite) static_assert(true)
#endif

} // namespace cbridge::conformance

#endif // CBRIDGE_TESTS_CONFORMANCE_CHANNELFIXTURE_H
