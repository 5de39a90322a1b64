//===- Number.h - A scalar of any element type ------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_NUMBER_H
#define CBRIDGE_NUMBER_H

#include <cbridge/TensorSpec.h>

#include <cstring>
#include <type_traits>

namespace cbridge {

namespace detail {
template <typename T, bool IsEnum = std::is_enum_v<T>> struct Scalar {
  using type = T;
};
template <typename T> struct Scalar<T, true> {
  using type = std::underlying_type_t<T>;
};
/// T, or the integer behind an enumeration.
template <typename T> using ScalarOf = typename Scalar<T>::type;
} // namespace detail

/// A scalar on its way between C++ types and element types. Conversions keep
/// the value or fail, except that a double may be rounded to a float.
class Number {
public:
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T> ||
                                                    std::is_enum_v<T>>>
  Number(T Value) {
    if constexpr (std::is_floating_point_v<T>) {
      K = Kind::Real;
      Real = static_cast<double>(Value);
    } else if constexpr (std::is_signed_v<detail::ScalarOf<T>>) {
      K = Kind::Signed;
      Signed = static_cast<int64_t>(Value);
    } else {
      K = Kind::Unsigned;
      Unsigned = static_cast<uint64_t>(Value);
    }
  }
  /// Reads one element of a numeric tensor.
  static Number load(ElementType Type, const unsigned char *From);
  /// Writes it as one element; false, and nothing written, if that would
  /// change the value.
  bool store(ElementType Type, unsigned char *To) const;
  template <typename T> bool to(T &Value) const {
    unsigned char Raw[sizeof(T)];
    if (!store(elementTypeOf<T>(), Raw))
      return false;
    std::memcpy(&Value, Raw, sizeof(T));
    return true;
  }

  double real() const;
  bool isInteger() const { return K != Kind::Real; }
  /// Whether it is in [Low, High], to the last digit.
  bool isBetween(double Low, double High) const;
  /// Whether it is an integer in [0, Size).
  bool isIndexBelow(size_t Size) const;
  std::string toString() const;

private:
  template <typename T> bool storeAs(unsigned char *To) const;
  template <typename T> bool convert(T &Value) const;

  enum class Kind : uint8_t { Signed, Unsigned, Real } K;
  union {
    int64_t Signed;
    uint64_t Unsigned;
    double Real;
  };
};

} // namespace cbridge

#endif // CBRIDGE_NUMBER_H
