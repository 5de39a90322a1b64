//===- Bitstream.h - Raw tensors --------------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_SERDES_BITSTREAM_BITSTREAM_H
#define CBRIDGE_SERDES_BITSTREAM_BITSTREAM_H

#include "serdes/Serializer.h"

namespace cbridge {

/// Raw tensors, each at a multiple of 64 bytes; see docs/formats/bitstream.md.
class Bitstream : public Serializer {
public:
  Status encode(Span<const TensorView> Tensors, Message &To) override;
  Status decode(Bytes Payload, DecodedTensors &To) override;
  bool decodesLent() const override { return true; }
  Status decodeLent(Bytes Payload, Span<const Bytes> Lent,
                    DecodedTensors &To) override;
};

} // namespace cbridge

#endif // CBRIDGE_SERDES_BITSTREAM_BITSTREAM_H
