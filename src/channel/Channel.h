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
#include "os/FileSet.h"
#include "os/Spin.h"
#include "tensor/Message.h"

#include <cbridge/Deadline.h>
#include <cbridge/RunnerString.h>
#include <cbridge/TensorStorage.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cbridge {

/// Something that a peer waits for, together with others: a channel's next
/// frame, a listener's next session.
class Awaited {
public:
  virtual ~Awaited();
  /// Whether something is known to have come. Asks memory, not the kernel.
  virtual bool ready() = 0;
  /// Before a sleep that ends when one of the files that this adds can be read:
  /// false if something has come meanwhile.
  virtual bool beginWait(os::FileSet &Files) = 0;
  /// After it; Woken if one of those files ended it: then fetch with a deadline
  /// that has passed.
  virtual void endWait(bool Woken);
};

/// One end of one session. One thread at a time. Every failure is a transport
/// error, after which the channel is of no use, with one exception: a receive
/// that timed out may be called again and goes on where it stopped.
class Channel : public Awaited {
public:
  /// Sends a frame; Header.Length is set from the payload.
  virtual Status send(FrameHeader Header, const Message &Payload,
                      Deadline Until) = 0;
  virtual Expected<Frame> receive(Deadline Until) = 0;
  /// Keeps the latest frame's payload alive beyond the next receive. Once per
  /// frame.
  virtual std::shared_ptr<const void> keepPayload() = 0;
  /// Memory for the tensors that this end is going to send: where possible one
  /// from which send() need not copy. Asked for before hello or welcome is
  /// sent.
  virtual Expected<TensorStorage> makeTensors(std::vector<TensorSpec> Specs);
  /// Whether the other end has left, whatever it has said before. Asks the
  /// kernel.
  virtual bool gone();
  /// Whether part of a frame has come, and waits for the rest.
  virtual bool hasPart() const { return false; }
  /// Whether the next frame may come without the kernel's help, so that looking
  /// for it a while is better than to sleep at once.
  virtual os::Spin spinning() const { return os::Spin::Not; }
  /// From now on, payloads may come with lent pieces; see Frame.
  virtual void lendPayloads();
  /// The other end does not behave: when this is destroyed, wait for it no
  /// longer than that.
  virtual void abandon(Deadline Until);
  /// Who is at the other end, for messages: "pipe:/tmp/x".
  virtual const std::string &name() const = 0;
};

/// Where a peer waits for compilers. Removes what it made when destroyed.
class Listener : public Awaited {
public:
  /// The next session. A time-out is no failure of the listener.
  virtual Expected<std::unique_ptr<Channel>> accept(Deadline Until) = 0;
  /// What compilers connect to, if that is another address than was given: a
  /// port that was chosen. Else empty.
  virtual std::string address() const;
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

/// `timeout=` and `max_message=`: what a decision of another process may take.
struct DecisionLimits {
  std::chrono::nanoseconds Timeout = std::chrono::seconds(10);
  size_t MaxMessage = ChannelOptions().MaxMessage;

  static Expected<DecisionLimits> parse(const RunnerString &R);
};

/// What `scheme:` means for both ends.
struct ChannelScheme {
  std::string_view Name;
  /// One line for people.
  std::string_view Help;
  /// The keys it understands beside those that all channels have.
  std::vector<std::string_view> Keys;
  /// There may be many sessions at once: each runner has its own. Otherwise
  /// compilers wait for each other, and the runners of a model share one.
  bool ManySessions;
  /// The compiler's end.
  std::function<Expected<std::unique_ptr<Channel>>(const RunnerString &Address,
                                                   const ChannelOptions &)>
      Connect;
  /// The peer's end.
  std::function<Expected<std::unique_ptr<Listener>>(const RunnerString &Address,
                                                    const ChannelOptions &)>
      Listen;
  /// The serializer of strings that name none; empty: the library's.
  std::string_view Serdes = {};
  /// The keys that an address to listen at may have.
  std::vector<std::string_view> ListenKeys = {};
};

/// The channels of this library: listed in the catalog.
const std::vector<ChannelScheme> &channelSchemes();
/// The channel called Name: of this library, or of a module. Fails with
/// InvalidArgument if there is none, saying where it was looked for; and with
/// another code if its module cannot be used. Never destroyed.
Expected<const ChannelScheme *> findChannelScheme(std::string_view Name);

} // namespace cbridge

#endif // CBRIDGE_CHANNEL_CHANNEL_H
