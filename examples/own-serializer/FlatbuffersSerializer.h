//===- FlatbuffersSerializer.h - Tensors as FlatBuffers ---------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_EXAMPLES_FLATBUFFERSSERIALIZER_H
#define CBRIDGE_EXAMPLES_FLATBUFFERSSERIALIZER_H

#include "serdes/Serializer.h"

// Tensors lie at multiples of 64 bytes; FlatBuffers allows 32 unless told.
#define FLATBUFFERS_MAX_ALIGNMENT 64
#include "tensors_generated.h"

/// Tensors as tensors.fbs has them. Numbers are decoded in place.
class FlatbuffersSerializer : public cbridge::Serializer {
public:
  cbridge::Status encode(cbridge::Span<const cbridge::TensorView> Tensors,
                         cbridge::Message &To) override;
  cbridge::Status decode(cbridge::Bytes Payload,
                         cbridge::DecodedTensors &To) override;

private:
  // Kept for their memory.
  flatbuffers::FlatBufferBuilder Builder;
  std::vector<flatbuffers::Offset<cbridge::fb::Tensor>> Tables;
  std::vector<flatbuffers::Offset<flatbuffers::String>> Texts;
};

#endif // CBRIDGE_EXAMPLES_FLATBUFFERSSERIALIZER_H
