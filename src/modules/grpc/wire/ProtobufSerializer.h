//===- ProtobufSerializer.h - Tensors as Protocol Buffers -------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_WIRE_PROTOBUFSERIALIZER_H
#define CBRIDGE_MODULES_GRPC_WIRE_PROTOBUFSERIALIZER_H

#include "serdes/Serializer.h"

namespace cbridge {

/// A `Tensors` message of proto/compiler_bridge.proto; see
/// docs/formats/protobuf.md. Large tensors are lent and decoded in place; what
/// stands between them is lent from here, until the next encode.
class ProtobufSerializer : public Serializer {
public:
  Status encode(Span<const TensorView> Tensors, Message &To) override;
  Status decode(Bytes Payload, DecodedTensors &To) override;

private:
  /// A tensor as it came.
  struct Sent {
    Bytes Name, Data, Whole;
    bool HasName = false, HasData = false;
    uint64_t TypeNumber = 0;
    std::array<int64_t, MaxRank> Shape;
    size_t Rank = 0;
    size_t Strings = 0, Characters = 0;
    size_t Spec = 0;     // which one it is
    bool Copied = false; // its elements go to the backing

    Status read(Bytes From);
    Status readShape(Bytes Packed);
    Status addExtent(uint64_t Extent);
    Span<const int64_t> shape() const { return {Shape.data(), Rank}; }
    Status check(const TensorSpec &Wanted, size_t &Backing);
    Bytes build(bool IsString, unsigned char *At) const;
  };
  Status find(Sent &S, size_t Position, DecodedTensors &To);

  // Kept for their memory.
  AlignedBuffer Scratch; // all that is not lent, and then lent from here
  std::vector<Bytes> Pieces;
  std::vector<Sent> Came;
  std::vector<bool> Taken;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_WIRE_PROTOBUFSERIALIZER_H
