//===- HelloFuzzer.cpp - Fuzzes the handshake and frame headers -----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/Frame.h"
#include "channel/Handshake.h"

#include <cstdlib>
#include <cstring>

using namespace cbridge;

static void mustHold(bool Condition) {
  if (!Condition)
    std::abort();
}

static Bytes bytesOf(const std::string &Text) {
  return {reinterpret_cast<const unsigned char *>(Text.data()), Text.size()};
}

static void fuzzHello(Bytes Payload) {
  Expected<Hello> H = Hello::decode(Payload);
  if (!H)
    return mustHold(H.status().code() == StatusCode::Protocol);
  mustHold(H->Sig.validate().ok());
  Expected<Hello> Again = Hello::decode(bytesOf(H->encode()));
  mustHold(Again.ok());
  mustHold(Again->Serdes == H->Serdes && Again->Sig == H->Sig);
  mustHold(Again->Sig.fingerprint() == H->Sig.fingerprint());
}

static void fuzzWelcome(Bytes Payload) {
  Expected<std::vector<TensorSpec>> W = decodeWelcome(Payload);
  if (!W)
    return mustHold(W.status().code() == StatusCode::Protocol);
  for (const TensorSpec &Spec : *W)
    mustHold(Spec.validate().ok());
  Expected<std::vector<TensorSpec>> Again =
      decodeWelcome(bytesOf(encodeWelcome(*W)));
  mustHold(Again.ok() && *Again == *W);
}

static void fuzzHeader(Bytes Payload) {
  if (Payload.size() < FrameHeader::Size)
    return;
  Expected<FrameHeader> H = FrameHeader::decode(Payload.data());
  if (!H)
    return mustHold(H.status().code() == StatusCode::Protocol);
  unsigned char Again[FrameHeader::Size];
  H->encode(Again);
  mustHold(std::memcmp(Again, Payload.data(), FrameHeader::Size) == 0);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  fuzzHello({Data, Size});
  fuzzWelcome({Data, Size});
  fuzzHeader({Data, Size});
  return 0;
}
