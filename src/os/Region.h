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

#include <utility>

namespace cbridge::os {

/// A reserved range of addresses of which a growing prefix is memory. Growing
/// never moves what is there; new bytes are zero. Move-only.
class Region {
public:
  Region() = default;
  Region(Region &&Other) noexcept
      : Base(std::exchange(Other.Base, nullptr)),
        Reserved(std::exchange(Other.Reserved, 0)),
        Committed(std::exchange(Other.Committed, 0)) {}
  Region &operator=(Region &&Other) noexcept {
    std::swap(Base, Other.Base);
    std::swap(Reserved, Other.Reserved);
    std::swap(Committed, Other.Committed);
    return *this;
  }
  ~Region();

  /// Makes at least Size bytes usable; the first call reserves Cap bytes of
  /// address space (less if the process may not have as many).
  Status grow(size_t Size, size_t Cap);
  unsigned char *data() const { return Base; }
  size_t size() const { return Committed; }

private:
  Status reserve(size_t Size, size_t Cap);

  unsigned char *Base = nullptr;
  size_t Reserved = 0, Committed = 0;
};

} // namespace cbridge::os

#endif // CBRIDGE_OS_REGION_H
