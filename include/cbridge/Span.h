//===- Span.h - A view of consecutive elements ------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_SPAN_H
#define CBRIDGE_SPAN_H

#include <cassert>
#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>

namespace cbridge {

/// A pointer and a length. Owns nothing; whoever hands one out says how long
/// the elements live.
template <typename T> class Span {
public:
  using value_type = std::remove_cv_t<T>;

  constexpr Span() noexcept = default;
  constexpr Span(T *Data, size_t Size) noexcept : Data(Data), Size(Size) {}
  template <size_t N>
  constexpr Span(T (&Array)[N]) noexcept : Data(Array), Size(N) {}
  /// From anything with data() and size() that fit: vector, array, string.
  template <typename C, typename = std::enable_if_t<std::is_convertible_v<
                            decltype(std::declval<C &>().data()), T *>>>
  constexpr Span(C &&Container) noexcept
      : Data(Container.data()), Size(Container.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  /// From `{1, 2, 3}`, for the length of the call. Not of bools, to which a
  /// pointer and a length would convert.
  template <typename U = T,
            typename = std::enable_if_t<std::is_const_v<U> &&
                                        !std::is_same_v<U, const bool>>>
  constexpr Span(std::initializer_list<value_type> List) noexcept
      : Data(List.begin()), Size(List.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

  constexpr T *data() const noexcept { return Data; }
  constexpr size_t size() const noexcept { return Size; }
  constexpr bool empty() const noexcept { return Size == 0; }
  constexpr T &operator[](size_t I) const {
    assert(I < Size && "index past the end of a Span");
    return Data[I];
  }
  constexpr T *begin() const noexcept { return Data; }
  constexpr T *end() const noexcept { return Data + Size; }
  constexpr Span subspan(size_t Offset, size_t Count) const {
    assert(Offset <= Size && Count <= Size - Offset);
    return Span(Data + Offset, Count);
  }

private:
  T *Data = nullptr;
  size_t Size = 0;
};

using Bytes = Span<const unsigned char>;
using MutableBytes = Span<unsigned char>;

} // namespace cbridge

#endif // CBRIDGE_SPAN_H
