//===- MethodMessages.h - The messages of a gRPC method ---------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_WIRE_METHODMESSAGES_H
#define CBRIDGE_MODULES_GRPC_WIRE_METHODMESSAGES_H

#include "serdes/Serializer.h"

#include <functional>
#include <optional>
#include <string>

namespace cbridge {

/// What a compiler tells beside the features, where a message has a place for
/// it.
struct Told {
  uint64_t Step = 0;
  uint32_t Runner = 0;
  std::string_view Context;
  /// Of the previous decision.
  std::optional<double> Reward;
  /// The episode is over: there are no features. Truncated: cut short.
  bool Terminated = false, Truncated = false;
};

/// What a trainer tells beside the decision.
struct Answered {
  /// Absent if the message has no place for it.
  std::optional<uint64_t> Step;
  /// There is no decision, because of this.
  std::optional<std::string> Failure;
};

/// How the messages of one method hold features and decisions: ours, or those
/// of a user's own .proto. Made for one signature and checked against it. Keeps
/// scratch memory, so: one thread at a time.
class MethodMessages {
public:
  virtual ~MethodMessages() = default;
  /// Writes the message that the compiler sends. Features is empty if the
  /// episode is over. Bytes may be lent as a Serializer does.
  virtual Status encode(Span<const TensorView> Features, const Told &Beside,
                        Message &To) = 0;
  /// Reads the message that the compiler receives; it comes from outside. A
  /// step 0 or a failure has no decision and leaves To as it was.
  virtual Expected<Answered> decode(Bytes From, DecodedTensors &To) = 0;
  /// Whether what is sent has a place for the end of an episode.
  virtual bool tellsEnds() const { return true; }
};

/// A method and its messages.
struct Method {
  /// "/package.Service/method".
  std::string Path;
  /// Both ways; else one message each.
  bool Streams = false;
  /// Makes the messages of one runner.
  std::function<std::unique_ptr<MethodMessages>()> NewMessages;
  /// Whether the received message has a place for the step. Without one, the
  /// first call of an episode is not looked at.
  bool Steps = true;
  /// Of a server: fields that are appended to the answer of a step 0. Messages
  /// of Protocol Buffers may be put one behind the other.
  std::string Introduction = {};
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_WIRE_METHODMESSAGES_H
