//===- TensorStorage.h - Memory for a list of tensors -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TENSORSTORAGE_H
#define CBRIDGE_TENSORSTORAGE_H

#include <cbridge/TensorSpec.h>

#include <memory>

namespace cbridge {

class TensorMemory;

/// One tensor's spec, extents and bytes. Owns nothing. A string tensor's bytes
/// are `count + 1` offsets (uint64_t) followed by the characters they delimit.
struct TensorView {
  const TensorSpec *Spec = nullptr;
  Span<const int64_t> Extents;
  Bytes Data;

  /// Elements according to the extents.
  size_t elementCount() const;
  /// The elements, or an empty span if T is not their type.
  template <typename T> Span<const T> as() const {
    if (elementTypeOf<T>() != Spec->type())
      return {};
    // Not in braces, which would make two elements of a Span<const bool>.
    return Span<const T>(reinterpret_cast<const T *>(Data.data()),
                         Data.size() / sizeof(T));
  }
  /// Element I of a string tensor.
  std::string_view string(size_t I) const;
};

/// The memory of a list of tensors, zero at first.
///
/// Fixed tensors lie in one block, each at a multiple of 64 bytes, and never
/// move. A dynamic or string tensor has an address range of its own that grows
/// in place up to MaxTensorBytes. Every tensor may be read up to the next
/// multiple of 64 bytes. Once sizes have been reached before, nothing
/// allocates. Not thread-safe.
class TensorStorage {
public:
  /// A dynamic tensor may not grow beyond this, nor may all fixed ones
  /// together.
  static constexpr size_t MaxTensorBytes = size_t(1) << 30;

  /// Check status(): there may not be enough memory.
  explicit TensorStorage(std::vector<TensorSpec> Specs);
  /// In memory that others see as well.
  TensorStorage(std::vector<TensorSpec> Specs, TensorMemory &In);
  TensorStorage(TensorStorage &&) noexcept;
  TensorStorage &operator=(TensorStorage &&) noexcept;
  ~TensorStorage();

  const Status &status() const;
  size_t size() const;
  const TensorSpec &spec(size_t I) const;
  const std::vector<TensorSpec> &specs() const;
  MutableBytes bytes(size_t I);
  TensorView view(size_t I) const;
  /// All views, in order; valid until the next resize.
  Span<const TensorView> views() const;

  /// Gives a dynamic tensor its extents. Elements are not kept in place when
  /// inner extents change. No-op for fixed tensors whose extents match.
  Status resize(size_t I, Span<const int64_t> Extents);
  /// Fills a string tensor; Extents must count as many as Values.
  Status setStrings(size_t I, Span<const std::string_view> Values,
                    Span<const int64_t> Extents);
  /// Copies extents and bytes of a tensor of the same type.
  Status assign(size_t I, const TensorView &From);

private:
  struct Tensors;
  void allocate(TensorMemory *In);
  std::unique_ptr<Tensors> T;
};

/// Whether Data is a well-formed string tensor of Count elements.
Status checkStringTensor(Bytes Data, size_t Count);

} // namespace cbridge

#endif // CBRIDGE_TENSORSTORAGE_H
