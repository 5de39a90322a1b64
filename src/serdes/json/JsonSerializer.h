//===- JsonSerializer.h - Readable tensors ----------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_SERDES_JSON_JSONSERIALIZER_H
#define CBRIDGE_SERDES_JSON_JSONSERIALIZER_H

#include "serdes/Serializer.h"

namespace cbridge {

/// Readable tensors that survive the trip exactly; see docs/formats/json.md.
class JsonSerializer : public Serializer {
public:
  Status encode(Span<const TensorView> Tensors, Message &To) override;
  Status decode(Bytes Payload, DecodedTensors &To) override;

private:
  struct Place {
    size_t Offset = 0, Size = 0;
    std::array<int64_t, MaxRank> Extents{};
    bool Seen = false;
  };
  std::vector<Place> Places;         // of decode, kept for its memory
  std::string Text;                  // one string on its way
  AlignedBuffer Offsets, Characters; // of a string tensor on its way
};

} // namespace cbridge

#endif // CBRIDGE_SERDES_JSON_JSONSERIALIZER_H
