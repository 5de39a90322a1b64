//===- Channel.h - Carries frames between two processes ---------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_CHANNEL_H
#define CBRIDGE_CHANNEL_CHANNEL_H

#include "channel/Frame.h"
#include "core/AlignedBuffer.h"
#include "tensor/Message.h"

#include <cbridge/Deadline.h>
#include <cbridge/RunnerString.h>

#include <memory>
#include <string>
#include <vector>

namespace cbridge {

/// One end of one session. One thread at a time. Every failure is a transport
/// error, after which the channel is of no use, with one exception: a receive
/// that timed out may be called again and goes on where it stopped.
class Channel {
public:
  virtual ~Channel();
  /// Sends a frame; Header.Length is set from the payload.
  virtual Status send(FrameHeader Header, const Message &Payload,
                      Deadline Until) = 0;
  virtual Expected<Frame> receive(Deadline Until) = 0;
  /// Keeps the latest frame's payload alive beyond the next receive.
  virtual std::shared_ptr<const AlignedBuffer> keepPayload() = 0;
  /// The other end does not behave: when this is destroyed, wait for it no
  /// longer than that.
  virtual void abandon(Deadline Until);
  /// Who is at the other end, for messages: "pipe:/tmp/x".
  virtual const std::string &name() const = 0;
};

/// Where a peer waits for compilers. Removes what it made when destroyed.
class Listener {
public:
  virtual ~Listener();
  /// The next session. A time-out is no failure of the listener.
  virtual Expected<std::unique_ptr<Channel>> accept(Deadline Until) = 0;
};

/// What every channel is told when it is opened.
struct ChannelOptions {
  /// When connecting, or listening, must have worked.
  Deadline Until = Deadline::never();
  /// Larger payloads are refused before memory is taken for them.
  size_t MaxMessage = size_t(1) << 30;
  /// A file whose closing ends every wait of a listener, or -1.
  int Lifeline = -1;
};

/// What `scheme:` means for both ends.
struct ChannelScheme {
  std::string_view Name;
  /// One line for people.
  std::string_view Help;
  /// The keys it understands beside those that all channels have.
  std::vector<std::string_view> Keys;
  /// The compiler's end.
  Expected<std::unique_ptr<Channel>> (*Connect)(const RunnerString &Address,
                                                const ChannelOptions &Options);
  /// The peer's end.
  Expected<std::unique_ptr<Listener>> (*Listen)(const RunnerString &Address,
                                                const ChannelOptions &Options);
};

/// The channels of this library: listed in the catalog.
const std::vector<ChannelScheme> &channelSchemes();

} // namespace cbridge

#endif // CBRIDGE_CHANNEL_CHANNEL_H
