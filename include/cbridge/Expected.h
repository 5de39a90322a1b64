//===- Expected.h - A value, or why there is none ---------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_EXPECTED_H
#define CBRIDGE_EXPECTED_H

#include <cbridge/Status.h>

#include <cassert>
#include <optional>
#include <type_traits>
#include <utility>

namespace cbridge {

/// A T, or the Status that says why there is none. Test it before use.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T Value) : Value(std::move(Value)) {}
  Expected(Status Error) : Error(std::move(Error)) {
    assert(!this->Error.ok() && "an Expected without a value needs an error");
  }
  /// From something convertible to T, such as unique_ptr<Derived>.
  template <typename U, typename = std::enable_if_t<
                            std::is_convertible_v<U &&, T> &&
                            !std::is_same_v<std::decay_t<U>, T> &&
                            !std::is_same_v<std::decay_t<U>, Status>>>
  Expected(U &&Value) : Value(std::forward<U>(Value)) {}

  explicit operator bool() const noexcept { return Value.has_value(); }
  bool ok() const noexcept { return Value.has_value(); }
  const Status &status() const noexcept { return Error; }

  T &operator*() & { return *Value; }
  const T &operator*() const & { return *Value; }
  T &&operator*() && { return std::move(*Value); }
  T *operator->() { return &*Value; }
  const T *operator->() const { return &*Value; }
  template <typename U = T> T valueOr(U &&Other) const & {
    return Value ? *Value : static_cast<T>(std::forward<U>(Other));
  }

private:
  std::optional<T> Value;
  Status Error;
};

} // namespace cbridge

#endif // CBRIDGE_EXPECTED_H
