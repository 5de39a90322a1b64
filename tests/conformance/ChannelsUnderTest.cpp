//===- ChannelsUnderTest.cpp - The channels and their raw ends ------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ChannelsUnderTest.h"

namespace cbridge::conformance {

RawEnd::~RawEnd() = default;

static Deadline soon() { return Deadline::in(std::chrono::seconds(10)); }

bool RawEnd::send(std::string_view Data) { return send(Data, soon()); }

bool RawEnd::send(FrameHeader Header, std::string_view Payload) {
  return send(frameBytes(Header, Payload));
}

std::optional<RawFrame> RawEnd::receiveFrame(Deadline Until) {
  std::string Encoded;
  if (!receive(FrameHeader::Size, Encoded, Until))
    return std::nullopt;
  Expected<FrameHeader> Header = FrameHeader::decode(
      reinterpret_cast<const unsigned char *>(Encoded.data()));
  RawFrame F;
  if (!Header || !receive(Header->Length, F.Payload, Until))
    return std::nullopt;
  F.Header = *Header;
  return F;
}

bool RawEnd::awaitHangUp(Deadline Until) {
  for (std::string Dropped; receive(1, Dropped, Until); Dropped.clear()) {
  }
  return !Until.passed();
}

std::string headerBytes(const FrameHeader &Header) {
  unsigned char Encoded[FrameHeader::Size];
  Header.encode(Encoded);
  return {reinterpret_cast<char *>(Encoded), sizeof(Encoded)};
}

std::string frameBytes(FrameHeader Header, std::string_view Payload) {
  Header.Length = Payload.size();
  return headerBytes(Header) + std::string(Payload);
}

const std::vector<ChannelUnderTest> &channelsUnderTest() {
  static const auto *const Channels = new std::vector<ChannelUnderTest>{
      pipeUnderTest(), shmUnderTest(),       unixUnderTest(),
#ifdef CBRIDGE_HAS_GRPC
      grpcUnderTest(), grpcUnaryUnderTest(),
#endif
  };
  return *Channels;
}

} // namespace cbridge::conformance
