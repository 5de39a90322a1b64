//===- ChannelsUnderTest.h - The channels and their raw ends ----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_CONFORMANCE_CHANNELSUNDERTEST_H
#define CBRIDGE_TESTS_CONFORMANCE_CHANNELSUNDERTEST_H

#include "channel/Frame.h"

#include <cbridge/Deadline.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cbridge::conformance {

/// A frame that owns its payload.
struct RawFrame {
  FrameHeader Header;
  std::string Payload;
};

/// One end of a channel that decides on every byte. Destroying it is what the
/// other end sees when a process dies.
class RawEnd {
public:
  virtual ~RawEnd();
  /// Sends all of Data; false if the other end is gone or does not take it.
  virtual bool send(std::string_view Data, Deadline Until) = 0;
  /// Appends exactly Size bytes to To; false if fewer come.
  virtual bool receive(size_t Size, std::string &To, Deadline Until) = 0;
  /// The other end has all that was sent.
  virtual void taken() {}

  bool send(std::string_view Data);
  /// With the payload's length in the header.
  bool send(FrameHeader Header, std::string_view Payload);
  std::optional<RawFrame> receiveFrame(Deadline Until);
  /// Takes and forgets what comes until the other end hangs up; false if it
  /// does not.
  bool awaitHangUp(Deadline Until);
};

/// The 64 bytes of a header, with whatever length it has.
std::string headerBytes(const FrameHeader &Header);
/// A frame as it travels.
std::string frameBytes(FrameHeader Header, std::string_view Payload);

/// How a raw compiler comes in.
enum class Manners {
  Polite, ///< waits for its turn as the channel's document says
  Rude,   ///< ignores whose turn it is
};

/// What the suites need to know of a channel.
struct ChannelUnderTest {
  /// The scheme.
  std::string_view Name;
  /// In the names of tests, if it is not the scheme.
  std::string_view Label = {};
  /// Of every runner string: "&mode=unary".
  std::string_view Options = {};
  /// A second compiler waits until the first is gone.
  bool OneSessionAtATime = false;
  /// Once the two ends have greeted each other, a message is there as a whole
  /// or not at all, and it waits where nobody has to take it.
  bool WholeMessages = false;
  /// A module's: only its words tell that a message was cut off.
  bool HidesHalves = false;
  /// A library of its own frames the messages: there are no half ones, they are
  /// taken at any length, and what is wrong with one is told in other words.
  bool OwnFraming = false;
  /// Each request has its own place for one answer.
  bool AnswersOnce = false;
  /// A reply may be on its way when it has been given, and be lost with the
  /// peer.
  bool SendsLater = false;
  /// Its libraries do not work in a child that was forked after their first
  /// use.
  bool BreaksInForks = false;
  /// Timers of the compiler's wait until a wait is over.
  bool BlocksSignals = false;
  /// So many files its libraries keep for good, once used, and memory.
  size_t KeepsFiles = 0, KeepsBytes = 0;
  /// Where a peer can serve, in a directory of its own.
  std::string (*Address)(const std::string &Directory);
  /// A peer that serves Address; null if it cannot.
  std::unique_ptr<RawEnd> (*MakePeer)(const std::string &Address);
  /// A compiler at Address; null if it is not its turn yet.
  std::unique_ptr<RawEnd> (*MakeCompiler)(const std::string &Address,
                                          Manners How);
  /// Whether raw ends that were destroyed are gone; null: at once.
  bool (*Settled)() = nullptr;
};

ChannelUnderTest pipeUnderTest();
ChannelUnderTest shmUnderTest();
/// That of examples/own-channel, from a module.
ChannelUnderTest unixUnderTest();
#ifdef CBRIDGE_HAS_GRPC
/// That of src/modules/grpc, over sockets: by a stream, and by a call for each
/// decision; over a port.
ChannelUnderTest grpcUnderTest();
ChannelUnderTest grpcUnaryUnderTest();
ChannelUnderTest grpcPortUnderTest();
#endif

/// Every channel of the library and of modules: a new one is an entry here.
const std::vector<ChannelUnderTest> &channelsUnderTest();

} // namespace cbridge::conformance

#endif // CBRIDGE_TESTS_CONFORMANCE_CHANNELSUNDERTEST_H
