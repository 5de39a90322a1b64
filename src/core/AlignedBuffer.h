//===- AlignedBuffer.h - Bytes aligned for any tensor -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CORE_ALIGNEDBUFFER_H
#define CBRIDGE_CORE_ALIGNEDBUFFER_H

#include <cbridge/Span.h>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace cbridge {

/// Tensors start at multiples of this, in memory and on the wire.
constexpr size_t TensorAlignment = 64;

constexpr size_t alignUp(size_t Size) {
  return (Size + TensorAlignment - 1) / TensorAlignment * TensorAlignment;
}

/// Heap memory aligned to TensorAlignment whose growth can fail but does not
/// throw. Growing moves and keeps the bytes. Move-only.
class AlignedBuffer {
public:
  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer &&Other) noexcept
      : Base(std::exchange(Other.Base, nullptr)),
        Capacity(std::exchange(Other.Capacity, 0)) {}
  AlignedBuffer &operator=(AlignedBuffer &&Other) noexcept {
    std::swap(Base, Other.Base);
    std::swap(Capacity, Other.Capacity);
    return *this;
  }
  ~AlignedBuffer() { std::free(Base); }

  unsigned char *data() const { return Base; }
  size_t capacity() const { return Capacity; }

  /// At least Size bytes, of which the first Keep survive; false if there is
  /// not enough memory, in which case nothing has changed.
  [[nodiscard]] bool reserve(size_t Size, size_t Keep) {
    if (Size <= Capacity)
      return true;
    auto *Bigger = static_cast<unsigned char *>(
        std::aligned_alloc(TensorAlignment, alignUp(Size)));
    if (!Bigger)
      return false;
    if (Keep)
      std::memcpy(Bigger, Base, Keep);
    std::free(Base);
    Base = Bigger;
    Capacity = alignUp(Size);
    return true;
  }

private:
  unsigned char *Base = nullptr;
  size_t Capacity = 0;
};

} // namespace cbridge

#endif // CBRIDGE_CORE_ALIGNEDBUFFER_H
