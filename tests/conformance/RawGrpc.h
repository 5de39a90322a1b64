//===- RawGrpc.h - What the raw ends of grpc: have in common ----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CONFORMANCE_RAWGRPC_H
#define CBRIDGE_CONFORMANCE_RAWGRPC_H

#include "ChannelsUnderTest.h"

#include "core/Wire.h"
#include "modules/grpc/wire/FrameMessage.h"

#include <grpcpp/support/byte_buffer.h>

#include <grpc/support/time.h>

#include <cstring>

namespace cbridge::conformance {

// Follows docs/formats/grpc.md: gRPC's own framing, messages by hand.

inline constexpr const char Converse[] =
    "/compiler_bridge.v1.CompilerBridge/converse";
inline constexpr const char GetAdvice[] =
    "/compiler_bridge.v1.CompilerBridge/getAdvice";

inline gpr_timespec timeOf(Deadline D) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(D.remaining().count(), GPR_TIMESPAN));
}

inline grpc::ByteBuffer bufferOf(const std::string &Text) {
  grpc::Slice Whole(Text);
  return {&Whole, 1};
}

inline std::string textOf(const grpc::ByteBuffer &Buffer) {
  std::vector<grpc::Slice> Slices;
  std::string All;
  if (Buffer.Dump(&Slices).ok())
    for (const grpc::Slice &S : Slices)
      All.append(reinterpret_cast<const char *>(S.begin()), S.size());
  return All;
}

inline Bytes asBytes(const std::string &Text) {
  return {reinterpret_cast<const unsigned char *>(Text.data()), Text.size()};
}

/// `grpc:unix:PATH`, `grpc:HOST:PORT` as gRPC writes it, without options.
inline std::string serverOf(const std::string &Address) {
  return Address.substr(sizeof("grpc:") - 1);
}

/// The bytes that the suites send and receive are frames; here they become
/// messages. What is no frame is a message as it is.
class RawGrpc : public RawEnd {
public:
  using RawEnd::send;
  bool send(std::string_view Data, Deadline Until) override {
    Unsent += Data;
    while (auto Next = nextMessage())
      if (!sendMessage(Next->second, Next->first, Until))
        return false;
    return true;
  }
  bool receive(size_t Size, std::string &To, Deadline Until) override {
    while (Received.size() < Size)
      if (!receiveMessage(Until))
        return false;
    To.append(Received, 0, Size);
    Received.erase(0, Size);
    return true;
  }

protected:
  /// Of what is no frame, the kind is 0.
  virtual bool sendMessage(const std::string &Message, FrameKind Kind,
                           Deadline Until) = 0;
  /// Until a message has come; false if none does.
  virtual bool receiveMessage(Deadline Until) = 0;

  void came(const grpc::ByteBuffer &Buffer) {
    std::string Text = textOf(Buffer);
    FrameMessage::Unary By;
    // What is not understood shows as the frame that does not come.
    if (Expected<Frame> F = Format.decode(asBytes(Text), &By))
      Received += frameBytes(F->Header,
                             {reinterpret_cast<const char *>(F->Payload.data()),
                              F->Payload.size()});
  }

private:
  std::optional<std::pair<FrameKind, std::string>> nextMessage() {
    static const std::string Magic = headerBytes(FrameHeader()).substr(0, 4);
    if (Unsent.empty())
      return std::nullopt;
    if (Unsent.compare(0, 4, Magic, 0, std::min<size_t>(4, Unsent.size())) != 0)
      return std::pair{FrameKind(0), std::exchange(Unsent, std::string())};
    if (Unsent.size() < FrameHeader::Size)
      return std::nullopt;
    FrameHeader H;
    auto Field = [this](size_t At, auto &To) {
      std::memcpy(&To, Unsent.data() + At, sizeof(To));
    };
    uint16_t Kind, Version;
    Field(4, Version);
    Field(6, Kind);
    Field(8, H.Flags);
    Field(12, H.Runner);
    Field(16, H.Session);
    Field(24, H.Sequence);
    Field(32, H.Length);
    Field(40, H.Reward);
    H.Kind = FrameKind(Kind);
    // What has no field in a message is one that nobody knows.
    bool Strange = Version != FrameHeader::Version || H.Flags > 7;
    for (size_t At = 48; At < FrameHeader::Size; ++At)
      Strange |= Unsent[At] != 0;
    bool Absurd = H.Length > (uint64_t(1) << 40);
    size_t Size = FrameHeader::Size + (Absurd ? 0 : size_t(H.Length));
    if (Unsent.size() < Size)
      return std::nullopt;
    std::string Payload =
        Unsent.substr(FrameHeader::Size, Size - FrameHeader::Size);
    Unsent.erase(0, Size);
    unsigned char Header[FrameMessage::MaxHeader];
    size_t HeaderSize = Format.encode(H, asBytes(Payload), Header);
    std::string Whole(reinterpret_cast<char *>(Header), HeaderSize);
    return std::pair{H.Kind, (Strange ? "\x78\x01" : "") + Whole + Payload};
  }

  FrameMessage Format;
  std::string Unsent, Received;
};

/// A peer that serves Address; null if it cannot.
std::unique_ptr<RawEnd> makeGrpcPeer(const std::string &Address);

} // namespace cbridge::conformance

#endif // CBRIDGE_CONFORMANCE_RAWGRPC_H
