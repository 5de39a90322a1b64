//===- RemoteSession.h - A compiler's conversation with a peer --*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_REMOTE_REMOTESESSION_H
#define CBRIDGE_ENGINE_REMOTE_REMOTESESSION_H

#include "channel/Channel.h"
#include "serdes/Serializer.h"

#include <cbridge/Engine.h>

#include <mutex>

namespace cbridge {

/// One session with a peer: channel × serializer. The runners of a model share
/// it and take turns. The first failure of the transport closes it.
class RemoteSession {
public:
  /// Introduces the compiler to the peer at the other end of Over. Timeout is
  /// that of each decision; the introduction must have worked by Until.
  static Expected<std::shared_ptr<RemoteSession>>
  open(std::unique_ptr<Channel> Over, const std::string &Serdes,
       const Signature &Sig, std::chrono::nanoseconds Timeout, Deadline Until);
  RemoteSession(std::unique_ptr<Channel> Over, std::unique_ptr<Serializer> With,
                const Signature &Sig, std::chrono::nanoseconds Timeout);
  /// Says goodbye, if there is somebody to say it to.
  ~RemoteSession();

  /// Memory for the features of one of its runners: for the first, such that
  /// the channel need not copy them.
  TensorStorage takeFeatures(const Signature &Sig);
  /// Sends the features, waits for the decision, and copies it to Outputs. The
  /// time-out counts from this runner's turn.
  Status decide(uint32_t Runner, const TensorStorage &Features, const Call &C,
                TensorStorage &Outputs);
  Status endEpisode(uint32_t Runner, const Call &C);

private:
  FrameHeader header(FrameKind Kind, uint32_t Runner, const Call &C) const;
  Status introduce(const std::string &Serdes, const Signature &Sig,
                   Deadline Until);
  Status ours() const;
  Status sendContext(const Call &C, Deadline Until);
  Expected<Frame> answer(FrameKind Wanted, Deadline Until);
  Status closeOnTransportError(Status S);

  std::mutex Turn;
  std::unique_ptr<Channel> Over;
  std::unique_ptr<Serializer> With;
  std::chrono::nanoseconds Timeout;
  const uint64_t Id;
  const uint64_t Process;
  uint64_t Sequence = 0;
  std::optional<TensorStorage> Features;
  std::string Context;
  Status WhyClosed;
  Message Outgoing;
  DecodedTensors Incoming;
};

} // namespace cbridge

#endif // CBRIDGE_ENGINE_REMOTE_REMOTESESSION_H
