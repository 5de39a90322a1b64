//===- Json.h - Reading and writing JSON ------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CORE_JSON_H
#define CBRIDGE_CORE_JSON_H

#include "core/FloatText.h"

#include <cbridge/Expected.h>

#include <charconv>
#include <string>
#include <string_view>

namespace cbridge {

/// Pulls typed values out of JSON text, without a tree and without recursion
/// beyond MaxDepth. After the first failure every call returns false and
/// status() tells what and where.
class JsonReader {
public:
  explicit JsonReader(std::string_view Text)
      : Begin(Text.data()), At(Begin), End(Begin + Text.size()) {}

  /// Calls Member(key) for each member; it must consume the value.
  template <typename Callback> bool object(Callback Member) {
    if (!expect('{'))
      return false;
    if (accept('}'))
      return true;
    std::string Unescaped;
    std::string_view Key;
    do {
      if (!key(Key, Unescaped) || !expect(':') || !Member(Key))
        return fail("bad member");
    } while (accept(','));
    return expect('}');
  }
  /// Calls Element() for each element; it must consume it.
  template <typename Callback> bool array(Callback Element) {
    if (!expect('['))
      return false;
    if (accept(']'))
      return true;
    do {
      if (!Element())
        return fail("bad element");
    } while (accept(','));
    return expect(']');
  }

  bool string(std::string &Value);
  bool boolean(bool &Value);
  /// A number that T holds. Floating-point types also take "NaN", "Infinity"
  /// and "-Infinity".
  template <typename T> bool number(T &Value) {
    skipSpace();
    if (!startsNumber())
      return specialNumber(Value);
    if constexpr (std::is_same_v<T, float>) {
      return readFloat(At, End, Value) || specialNumber(Value);
    } else {
      auto [Rest, Error] = std::from_chars(At, End, Value);
      if (Error != std::errc())
        return specialNumber(Value);
      At = Rest;
      return true;
    }
  }
  /// Any value, which is checked and dropped.
  bool skipValue(int Depth = 0);
  /// Only space is left.
  bool atEnd();

  bool accept(char C) {
    skipSpace();
    if (At == End || *At != C)
      return false;
    ++At;
    return true;
  }
  bool expect(char C);
  /// Records the first failure. Always false.
  bool fail(std::string Why);
  bool failed() const { return !Failure.ok(); }
  const Status &status() const { return Failure; }
  /// The byte at which the first failure was found.
  size_t failedAt() const { return FailedAt; }

private:
  static constexpr int MaxDepth = 64;
  // Strings grow by throwing allocations: what is outside does not decide how
  // much that is.
  static constexpr size_t MaxString = size_t(16) << 20;
  void skipSpace() {
    while (At != End &&
           (*At == ' ' || *At == '\n' || *At == '\t' || *At == '\r'))
      ++At;
  }
  /// A digit, perhaps behind a minus: from_chars also takes "-inf".
  bool startsNumber() const {
    const char *Digit = At != End && *At == '-' ? At + 1 : At;
    return Digit != End && *Digit >= '0' && *Digit <= '9';
  }
  template <typename T> bool specialNumber(T &Value) {
    if constexpr (std::is_floating_point_v<T>) {
      double Special;
      if (!notFinite(Special))
        return false;
      Value = static_cast<T>(Special);
      return true;
    } else {
      return fail("expected an integer in range");
    }
  }
  /// A string that is only copied if it has escapes.
  bool key(std::string_view &Value, std::string &Unescaped);
  bool notFinite(double &Value);
  bool escape(std::string &Value);
  bool codeUnit(unsigned &Value);
  bool literal(std::string_view Word);

  const char *Begin, *At, *End;
  Status Failure;
  size_t FailedAt = 0;
};

/// Text in quotes, with what JSON wants escaped. Other bytes stay as they are.
void appendJsonString(std::string &To, std::string_view Text);

} // namespace cbridge

#endif // CBRIDGE_CORE_JSON_H
