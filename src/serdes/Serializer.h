//===- Serializer.h - Tensors to bytes and back -----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_SERDES_SERIALIZER_H
#define CBRIDGE_SERDES_SERIALIZER_H

#include "tensor/Message.h"

#include <cbridge/TensorStorage.h>

#include <array>
#include <memory>

namespace cbridge {

/// The tensors of one decoded message. Views point into the message's bytes,
/// or into Backing if a serializer had to build the elements.
struct DecodedTensors {
  using SpecList = std::shared_ptr<const std::vector<TensorSpec>>;

  explicit DecodedTensors(SpecList Specs) { describe(std::move(Specs)); }
  /// What the next message is expected to hold.
  void describe(SpecList List) {
    if (List == Specs)
      return;
    Specs = std::move(List);
    Extents.resize(Specs->size());
    Views.assign(Specs->size(), TensorView());
    Plain = true;
    for (size_t I = 0; I < Specs->size(); ++I) {
      const TensorSpec &Spec = (*Specs)[I];
      Plain &= Spec.isFixed() && Spec.type() != ElementType::Bool;
      if (Plain)
        set(I, Spec.shape(),
            {nullptr, Spec.elementCount() * sizeOf(Spec.type())});
    }
  }
  void set(size_t I, Span<const int64_t> Shape, Bytes Data) {
    for (size_t D = 0; D < Shape.size(); ++D)
      Extents[I][D] = Shape[D];
    Views[I] = {&(*Specs)[I], {Extents[I].data(), Shape.size()}, Data};
  }

  SpecList Specs;
  /// All tensors are fixed and any bytes are right for them: views lack only
  /// their data.
  bool Plain = false;
  std::vector<std::array<int64_t, MaxRank>> Extents;
  std::vector<TensorView> Views;
  AlignedBuffer Backing;
};

/// Turns tensors into bytes and back. Both ends know the specs, which travel
/// once per session. Keeps scratch memory, so: one thread at a time.
class Serializer {
public:
  virtual ~Serializer();
  /// Writes the payload. The tensors are read up to the next multiple of 64
  /// bytes and may be lent, so they must stay until it is sent.
  virtual Status encode(Span<const TensorView> Tensors, Message &To) = 0;
  /// Checks everything: Payload comes from outside.
  virtual Status decode(Bytes Payload, DecodedTensors &To) = 0;
  /// Whether decodeLent() works.
  virtual bool decodesLent() const { return false; }
  /// The same for a payload that ends in pieces of memory which the other
  /// process may change at any time: tensors that need not be checked stay
  /// there.
  virtual Status decodeLent(Bytes Payload, Span<const Bytes> Lent,
                            DecodedTensors &To);
};

/// The serializer called Name: of this library, or of a module. Fails with
/// InvalidArgument if there is none, saying where it was looked for; and with
/// another code if its module cannot be used.
Expected<std::unique_ptr<Serializer>> makeSerializer(std::string_view Name);
/// The names of those of this library, the default first.
Span<const std::string_view> serializerNames();

} // namespace cbridge

#endif // CBRIDGE_SERDES_SERIALIZER_H
