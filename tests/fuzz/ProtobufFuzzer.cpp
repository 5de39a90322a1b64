//===- ProtobufFuzzer.cpp - Any bytes as Protocol Buffers -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SerializerFuzzer.h"
#include "modules/grpc/wire/ProtobufSerializer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  cbridge::ProtobufSerializer Codec;
  cbridge::fuzzDecoder(Codec, Data, Size);
  return 0;
}
