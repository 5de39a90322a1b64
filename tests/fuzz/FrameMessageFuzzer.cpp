//===- FrameMessageFuzzer.cpp - Any bytes as Observation and Advice -------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/Handshake.h"
#include "modules/grpc/wire/FrameMessage.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace cbridge;

static void mustHold(bool Condition) {
  if (!Condition)
    std::abort();
}

static Bytes bytesOf(const std::string &Text) {
  return {reinterpret_cast<const unsigned char *>(Text.data()), Text.size()};
}

/// One that has seen the hello of a session with this serializer.
static FrameMessage formatFor(const char *Serdes) {
  FrameMessage Format;
  std::string Text = Hello{Serdes, Signature({TensorSpec::create<float>("x")},
                                             TensorSpec::create<float>("y"))}
                         .encode();
  FrameHeader H;
  H.Length = Text.size();
  unsigned char To[FrameMessage::MaxHeader];
  (void)Format.encode(H, bytesOf(Text), To);
  return Format;
}

static bool same(const FrameHeader &A, const FrameHeader &B) {
  return A.Kind == B.Kind && A.Flags == B.Flags && A.Runner == B.Runner &&
         A.Session == B.Session && A.Sequence == B.Sequence &&
         A.Length == B.Length &&
         std::memcmp(&A.Reward, &B.Reward, sizeof(A.Reward)) == 0;
}

/// Whatever is decoded lies inside and survives another trip.
static void fuzz(const char *Serdes, Bytes Data, FrameMessage::Unary *By) {
  FrameMessage Format = formatFor(Serdes);
  Expected<Frame> F = Format.decode(Data, By);
  if (!F)
    return mustHold(F.status().code() == StatusCode::Protocol);
  mustHold(F->Header.Length == F->Payload.size());
  mustHold(F->Payload.empty() || (F->Payload.data() >= Data.data() &&
                                  F->Payload.data() + F->Payload.size() <=
                                      Data.data() + Data.size()));
  unsigned char To[FrameMessage::MaxHeader];
  size_t Size = Format.encode(F->Header, F->Payload, To);
  mustHold(Size <= FrameMessage::MaxHeader);
  std::string Whole(reinterpret_cast<char *>(To), Size);
  Whole.append(F->Payload.begin(), F->Payload.end());
  mustHold(FrameMessage::kindOf(bytesOf(Whole)) == F->Header.Kind);
  mustHold(FrameMessage::sessionOf(bytesOf(Whole)) == F->Header.Session);
  std::string Context = By ? By->Context : "";
  Whole += FrameMessage::encodeContext(Context);
  FrameMessage::Unary Again;
  Expected<Frame> Second = Format.decode(bytesOf(Whole), By ? &Again : nullptr);
  mustHold(Second.ok() && same(Second->Header, F->Header));
  mustHold(Again.Context == Context);
  mustHold(std::equal(F->Payload.begin(), F->Payload.end(),
                      Second->Payload.begin(), Second->Payload.end()));
}

/// The first byte chooses the session's serializer.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  if (Size == 0)
    return 0;
  const char *const Serializers[] = {"protobuf", "bitstream", "json", "morse"};
  const char *Serdes = Serializers[Data[0] % 4];
  // No byte longer than it claims.
  std::vector<unsigned char> Whole(Data + 1, Data + Size);
  size_t Beginning = std::min(Whole.size(), FrameMessage::MaxHeader);
  mustHold(FrameMessage::payloadOffset({Whole.data(), Beginning}) <= Beginning);
  (void)FrameMessage::kindOf(Whole);
  (void)FrameMessage::sessionOf(Whole);
  fuzz(Serdes, Whole, nullptr); // of converse
  FrameMessage::Unary Observation, Advice;
  Advice.Unsaid = FrameKind::Reply;
  fuzz(Serdes, Whole, &Observation);
  fuzz(Serdes, Whole, &Advice);
  return 0;
}
