//===- Json.cpp - Reading and writing JSON --------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "core/Json.h"

#include <limits>

namespace cbridge {

namespace {

void appendUtf8(std::string &To, unsigned Point) {
  if (Point < 0x80) {
    To += static_cast<char>(Point);
  } else if (Point < 0x800) {
    To += static_cast<char>(0xC0 | (Point >> 6));
    To += static_cast<char>(0x80 | (Point & 0x3F));
  } else if (Point < 0x10000) {
    To += static_cast<char>(0xE0 | (Point >> 12));
    To += static_cast<char>(0x80 | ((Point >> 6) & 0x3F));
    To += static_cast<char>(0x80 | (Point & 0x3F));
  } else {
    To += static_cast<char>(0xF0 | (Point >> 18));
    To += static_cast<char>(0x80 | ((Point >> 12) & 0x3F));
    To += static_cast<char>(0x80 | ((Point >> 6) & 0x3F));
    To += static_cast<char>(0x80 | (Point & 0x3F));
  }
}

} // namespace

bool JsonReader::fail(std::string Why) {
  if (Failure.ok()) {
    FailedAt = size_t(At - Begin);
    Failure = Status::error(StatusCode::Protocol, "JSON, byte " +
                                                      std::to_string(FailedAt) +
                                                      ": " + std::move(Why));
  }
  At = End;
  return false;
}

bool JsonReader::expect(char C) {
  return accept(C) || fail(std::string("expected '") + C + "'");
}

bool JsonReader::atEnd() {
  skipSpace();
  return !failed() && (At == End || fail("unexpected text at the end"));
}

bool JsonReader::literal(std::string_view Word) {
  skipSpace();
  if (size_t(End - At) < Word.size() ||
      std::string_view(At, Word.size()) != Word)
    return false;
  At += Word.size();
  return true;
}

bool JsonReader::boolean(bool &Value) {
  Value = literal("true");
  return Value || literal("false") || fail("expected true or false");
}

bool JsonReader::notFinite(double &Value) {
  using Limits = std::numeric_limits<double>;
  if (literal("\"NaN\""))
    Value = Limits::quiet_NaN();
  else if (literal("\"Infinity\""))
    Value = Limits::infinity();
  else if (literal("\"-Infinity\""))
    Value = -Limits::infinity();
  else
    return fail("expected a number in range");
  return true;
}

bool JsonReader::codeUnit(unsigned &Value) {
  if (End - At < 4)
    return fail("truncated \\u escape");
  auto [Rest, Error] = std::from_chars(At, At + 4, Value, 16);
  if (Error != std::errc() || Rest != At + 4)
    return fail("bad \\u escape");
  At += 4;
  return true;
}

bool JsonReader::escape(std::string &Value) {
  if (At == End)
    return fail("truncated escape");
  switch (char C = *At++) {
  case '"':
  case '\\':
  case '/':
    Value += C;
    return true;
  case 'b':
    Value += '\b';
    return true;
  case 'f':
    Value += '\f';
    return true;
  case 'n':
    Value += '\n';
    return true;
  case 'r':
    Value += '\r';
    return true;
  case 't':
    Value += '\t';
    return true;
  case 'u': {
    unsigned Unit = 0, Low = 0;
    if (!codeUnit(Unit))
      return false;
    if (Unit >= 0xD800 && Unit < 0xDC00) {
      if (End - At < 2 || At[0] != '\\' || At[1] != 'u')
        return fail("half a surrogate pair");
      At += 2;
      if (!codeUnit(Low))
        return false;
      if (Low < 0xDC00 || Low >= 0xE000)
        return fail("half a surrogate pair");
      Unit = 0x10000 + ((Unit - 0xD800) << 10) + (Low - 0xDC00);
    } else if (Unit >= 0xDC00 && Unit < 0xE000) {
      return fail("half a surrogate pair");
    }
    appendUtf8(Value, Unit);
    return true;
  }
  default:
    return fail("unknown escape");
  }
}

bool JsonReader::key(std::string_view &Value, std::string &Unescaped) {
  skipSpace();
  if (At != End && *At == '"')
    for (const char *P = At + 1; P != End; ++P) {
      if (*P == '"') {
        Value = {At + 1, size_t(P - At - 1)};
        At = P + 1;
        return true;
      }
      if (*P == '\\' || static_cast<unsigned char>(*P) < 0x20)
        break;
    }
  if (!string(Unescaped))
    return false;
  Value = Unescaped;
  return true;
}

bool JsonReader::string(std::string &Value) {
  Value.clear();
  if (!expect('"'))
    return false;
  while (At != End) {
    char C = *At++;
    if (C == '"')
      return true;
    if (static_cast<unsigned char>(C) < 0x20)
      return fail("control character in a string");
    if (Value.size() >= MaxString)
      return fail("a string of more than 16 MiB");
    if (C != '\\')
      Value += C;
    else if (!escape(Value))
      return false;
  }
  return fail("unterminated string");
}

bool JsonReader::skipValue(int Depth) {
  if (Depth > MaxDepth)
    return fail("nested too deeply");
  skipSpace();
  if (At == End)
    return fail("expected a value");
  std::string Ignored;
  switch (*At) {
  case '{':
    return object([&](std::string_view) { return skipValue(Depth + 1); });
  case '[':
    return array([&] { return skipValue(Depth + 1); });
  case '"':
    return string(Ignored);
  case 't':
  case 'f':
    return literal("true") || literal("false") || fail("unknown word");
  case 'n':
    return literal("null") || fail("unknown word");
  default:
    double Number;
    return number(Number);
  }
}

void appendJsonString(std::string &To, std::string_view Text) {
  static constexpr char Hex[] = "0123456789abcdef";
  To += '"';
  for (char C : Text) {
    auto Byte = static_cast<unsigned char>(C);
    if (C == '"' || C == '\\') {
      To += '\\';
      To += C;
    } else if (C == '\n') {
      To += "\\n";
    } else if (Byte < 0x20) {
      To += "\\u00";
      To += Hex[Byte >> 4];
      To += Hex[Byte & 15];
    } else {
      To += C;
    }
  }
  To += '"';
}

} // namespace cbridge
