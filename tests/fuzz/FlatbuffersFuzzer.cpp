//===- FlatbuffersFuzzer.cpp - Any bytes as FlatBuffers -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FlatbuffersSerializer.h"
#include "SerializerFuzzer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  FlatbuffersSerializer Codec;
  cbridge::fuzzDecoder(Codec, Data, Size);
  return 0;
}
