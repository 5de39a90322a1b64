//===- Frame.h - What travels on a channel ----------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_FRAME_H
#define CBRIDGE_CHANNEL_FRAME_H

#include <cbridge/Expected.h>
#include <cbridge/Span.h>

#include <cstdint>

namespace cbridge {

/// What a frame is for; see docs/formats/frame.md.
enum class FrameKind : uint16_t {
  Hello = 1,   ///< compiler: here is my signature
  Welcome = 2, ///< peer: and this is what I will answer
  Request = 3, ///< compiler: features
  Reply = 4,   ///< peer: a decision
  Failure = 5, ///< either: I cannot, and this is why
  Context = 6, ///< compiler: what the following requests are about
  End = 7,     ///< compiler: an episode is over
  Bye = 8,     ///< compiler: the session is over
};

/// The 64 bytes in front of every payload, little-endian.
struct FrameHeader {
  static constexpr size_t Size = 64;
  /// The rest is zero.
  static constexpr size_t UsedSize = 48;
  static constexpr uint32_t Magic = 0x47524243; // "CBRG"
  static constexpr uint16_t Version = 1;
  /// Flags: Reward is set; the peer will not answer in this session again; the
  /// episode was cut short.
  static constexpr uint32_t HasReward = 1, EndsSession = 2, CutShort = 4;

  FrameKind Kind = FrameKind::Hello;
  uint32_t Flags = 0;
  uint32_t Runner = 0;   ///< which runner of the session asks
  uint64_t Session = 0;  ///< chosen at random by the compiler
  uint64_t Sequence = 0; ///< counts requests; a reply repeats its request's
  uint64_t Length = 0;   ///< bytes of payload
  double Reward = 0;     ///< of the runner's previous decision, if HasReward

  void encode(unsigned char (&To)[Size]) const;
  /// Checks magic, version, kind, flags and the bytes that must be zero.
  static Expected<FrameHeader> decode(const unsigned char *From);
  /// The same for the first UsedSize bytes only.
  void encodeUsed(unsigned char (&To)[UsedSize]) const;
  static Expected<FrameHeader> decodeUsed(const unsigned char *From);
};

/// A received frame. Payload is aligned to 64 bytes and valid until the
/// channel's next receive.
struct Frame {
  FrameHeader Header;
  Bytes Payload;
  /// More of the payload, if the channel was told to lend it: memory of the
  /// other process, which may change it at any time.
  Span<const Bytes> Lent;
};

} // namespace cbridge

#endif // CBRIDGE_CHANNEL_FRAME_H
