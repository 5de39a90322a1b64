//===- Frame.cpp - What travels on a channel ------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/Frame.h"

#include <cstring>
#include <string>

namespace cbridge {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "frames are little-endian");

namespace {

enum Offset {
  MagicAt = 0,
  VersionAt = 4,
  KindAt = 6,
  FlagsAt = 8,
  RunnerAt = 12,
  SessionAt = 16,
  SequenceAt = 24,
  LengthAt = 32,
  RewardAt = 40,
};

template <typename T> void put(unsigned char *To, Offset At, T Value) {
  std::memcpy(To + At, &Value, sizeof(Value));
}

template <typename T> T get(const unsigned char *From, Offset At) {
  T Value;
  std::memcpy(&Value, From + At, sizeof(Value));
  return Value;
}

Status malformed(const std::string &Why) {
  return Status::error(StatusCode::Protocol, "malformed frame: " + Why);
}

} // namespace

void FrameHeader::encodeUsed(unsigned char (&To)[UsedSize]) const {
  put(To, MagicAt, Magic);
  put(To, VersionAt, Version);
  put(To, KindAt, Kind);
  put(To, FlagsAt, Flags);
  put(To, RunnerAt, Runner);
  put(To, SessionAt, Session);
  put(To, SequenceAt, Sequence);
  put(To, LengthAt, Length);
  put(To, RewardAt, Reward);
}

void FrameHeader::encode(unsigned char (&To)[Size]) const {
  unsigned char Used[UsedSize];
  encodeUsed(Used);
  std::memcpy(To, Used, UsedSize);
  std::memset(To + UsedSize, 0, Size - UsedSize);
}

Expected<FrameHeader> FrameHeader::decode(const unsigned char *From) {
  Expected<FrameHeader> H = decodeUsed(From);
  if (H)
    for (size_t I = UsedSize; I < Size; ++I)
      if (From[I] != 0)
        return malformed("reserved bytes are not zero");
  return H;
}

Expected<FrameHeader> FrameHeader::decodeUsed(const unsigned char *From) {
  if (get<uint32_t>(From, MagicAt) != Magic)
    return malformed("it does not start with \"CBRG\"");
  if (auto V = get<uint16_t>(From, VersionAt); V != Version)
    return malformed("version " + std::to_string(V) + ", expected " +
                     std::to_string(Version));
  FrameHeader H;
  auto Kind = get<uint16_t>(From, KindAt);
  if (Kind < uint16_t(FrameKind::Hello) || Kind > uint16_t(FrameKind::Bye))
    return malformed("unknown kind " + std::to_string(Kind));
  H.Kind = FrameKind(Kind);
  H.Flags = get<uint32_t>(From, FlagsAt);
  H.Runner = get<uint32_t>(From, RunnerAt);
  H.Session = get<uint64_t>(From, SessionAt);
  H.Sequence = get<uint64_t>(From, SequenceAt);
  H.Length = get<uint64_t>(From, LengthAt);
  H.Reward = get<double>(From, RewardAt);
  if (H.Flags & ~(HasReward | EndsSession | CutShort))
    return malformed("unknown flags");
  return H;
}

} // namespace cbridge
