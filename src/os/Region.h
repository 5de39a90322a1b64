//===- Region.h - Address space that grows in place -------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_OS_REGION_H
#define CBRIDGE_OS_REGION_H

#include <cbridge/Span.h>
#include <cbridge/Status.h>

#include <memory>
#include <utility>

namespace cbridge::os {

class SharedMemory;

/// A reserved range of addresses of which a growing prefix is memory. Growing
/// never moves what is there; new bytes are zero. Move-only.
class Region {
public:
  Region() = default;
  /// A part of shared memory, which lives at least as long.
  Region(std::shared_ptr<SharedMemory> In, size_t Offset, size_t Size);
  Region(Region &&Other) noexcept
      : Base(std::exchange(Other.Base, nullptr)),
        Reserved(std::exchange(Other.Reserved, 0)),
        Committed(std::exchange(Other.Committed, 0)),
        Shared(std::move(Other.Shared)) {}
  Region &operator=(Region &&Other) noexcept {
    std::swap(Base, Other.Base);
    std::swap(Reserved, Other.Reserved);
    std::swap(Committed, Other.Committed);
    std::swap(Shared, Other.Shared);
    return *this;
  }
  ~Region();

  /// Makes at least Size bytes usable; the first call reserves Cap bytes of
  /// address space (less if the process may not have as many).
  Status grow(size_t Size, size_t Cap);
  unsigned char *data() const { return Base; }
  size_t size() const { return Committed; }
  size_t reserved() const { return Reserved; }

private:
  Status reserve(size_t Size, size_t Cap);
  Status commit(size_t Size);

  unsigned char *Base = nullptr;
  size_t Reserved = 0, Committed = 0;
  std::shared_ptr<SharedMemory> Shared;
};

} // namespace cbridge::os

#endif // CBRIDGE_OS_REGION_H
