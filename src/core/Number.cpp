//===- Number.cpp - A scalar of any element type --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Number.h>

#include "core/ForElementType.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace cbridge {

Number Number::load(ElementType Type, const unsigned char *From) {
  return forElementType(Type, [&](auto Tag) -> Number {
    decltype(Tag) Value;
    std::memcpy(&Value, From, sizeof(Value));
    return Value;
  });
}

template <typename T> bool Number::convert(T &Value) const {
  if constexpr (std::is_floating_point_v<T>) {
    Value = static_cast<T>(real());
    if (K == Kind::Real)
      // Rounding to float is fine, becoming infinite is not.
      return !std::isinf(Value) || std::isinf(Real);
    constexpr double Limit = 18446744073709551616.0; // 2^64
    if (static_cast<double>(Value) >= Limit)
      return false;
    return K == Kind::Signed ? static_cast<double>(Value) < Limit / 2 &&
                                   static_cast<int64_t>(Value) == Signed
                             : static_cast<uint64_t>(Value) == Unsigned;
  } else if (K == Kind::Real) {
    // Both bounds are exact as doubles: powers of two, or zero.
    double Low = static_cast<double>(std::numeric_limits<T>::min());
    double High = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (!(Real >= Low && Real < High) || Real != std::trunc(Real))
      return false;
    Value = static_cast<T>(Real);
    return true;
  } else if (K == Kind::Signed) {
    if (Signed < 0 && !std::is_signed_v<T>)
      return false;
    Value = static_cast<T>(Signed);
    return static_cast<int64_t>(Value) == Signed;
  } else {
    Value = static_cast<T>(Unsigned);
    return static_cast<uint64_t>(Value) == Unsigned &&
           !(std::is_signed_v<T> && Value < T(0));
  }
}

template <typename T> bool Number::storeAs(unsigned char *To) const {
  T Value{};
  if (!convert(Value))
    return false;
  std::memcpy(To, &Value, sizeof(Value));
  return true;
}

bool Number::store(ElementType Type, unsigned char *To) const {
  return forElementType(Type,
                        [&](auto Tag) { return storeAs<decltype(Tag)>(To); });
}

double Number::real() const {
  switch (K) {
  case Kind::Signed:
    return static_cast<double>(Signed);
  case Kind::Unsigned:
    return static_cast<double>(Unsigned);
  case Kind::Real:
    return Real;
  }
  return 0;
}

bool Number::isBetween(double Low, double High) const {
  // Which holds all integers of 64 bits.
  static_assert(std::numeric_limits<long double>::digits >= 64);
  long double Value = K == Kind::Signed     ? static_cast<long double>(Signed)
                      : K == Kind::Unsigned ? static_cast<long double>(Unsigned)
                                            : Real;
  return Value >= Low && Value <= High;
}

bool Number::isIndexBelow(size_t Size) const {
  uint64_t Index = 0;
  return to(Index) && Index < Size;
}

std::string Number::toString() const {
  if (K == Kind::Signed)
    return std::to_string(Signed);
  if (K == Kind::Unsigned)
    return std::to_string(Unsigned);
  char Text[32];
  return std::string(Text, std::to_chars(Text, Text + sizeof(Text), Real).ptr);
}

} // namespace cbridge
