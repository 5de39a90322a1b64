//===- FrameMessage.h - Frames as Observation and Advice --------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_WIRE_FRAMEMESSAGE_H
#define CBRIDGE_MODULES_GRPC_WIRE_FRAMEMESSAGE_H

#include "channel/Frame.h"

#include <string>
#include <string_view>

namespace cbridge {

/// Field numbers of Observation; Advice has the same, as far as it goes. Those
/// between are of Content.
enum : unsigned {
  FieldKind = 1, ///< a FrameKind
  FieldSession = 2,
  FieldSequence = 3,
  FieldRunner = 4,
  FieldReward = 5,
  FieldTruncated = 6,
  FieldEndsSession = 7,
  FieldContext = 13,
  FieldSignature = 14
};

/// The field of Observation and Advice that holds a payload: an already
/// serialized message there is the same as a message field.
enum class Content : unsigned {
  None = 0,
  Text = 8,
  Tensors = 9,
  Bitstream = 10,
  Json = 11,
  Other = 12
};
/// Where the tensors of a session with this serializer go.
Content contentOf(std::string_view Serdes);

/// What is known of a session's messages: which serializer it has, once its
/// hello has passed.
class FrameMessage {
public:
  /// More than everything in front of a payload.
  static constexpr size_t MaxHeader = 96;

  /// Writes all but the payload, which follows, to To; its size. Learns from a
  /// hello.
  size_t encode(const FrameHeader &Header, Bytes FirstPiece,
                unsigned char (&To)[MaxHeader]);
  /// What a message of getAdvice may have, and one of converse may not.
  struct Unary {
    /// The kind of a message that tells none.
    FrameKind Unsaid = FrameKind(0);
    std::string Context = {};
  };
  /// Checks everything; the payload lies in From. Learns from a hello.
  Expected<Frame> decode(Bytes From, Unary *By = nullptr);
  /// Writes the context of a message of getAdvice, which follows the payload.
  static std::string encodeContext(std::string_view Context);
  /// Where the payload begins in a message that begins like this; 0 if it
  /// cannot be told.
  static size_t payloadOffset(Bytes Beginning);
  /// The kind of a message that begins like this, if kind is its first field.
  static FrameKind kindOf(Bytes Beginning);
  /// Its session, or 0 if that cannot be told.
  static uint64_t sessionOf(Bytes Beginning);

private:
  Content fieldOf(FrameKind Kind) const;
  void learn(FrameKind Kind, Bytes Payload);

  Content Tensors = Content::Other;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_WIRE_FRAMEMESSAGE_H
