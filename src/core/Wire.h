//===- Wire.h - The wire format of Protocol Buffers -------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written by hand, since generated classes would copy every tensor twice. The
// tests compare with generated classes.
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CORE_WIRE_H
#define CBRIDGE_CORE_WIRE_H

#include <cbridge/Span.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace cbridge::wire {

enum class Type : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

constexpr size_t MaxVarint = 10;

constexpr size_t varintSize(uint64_t Value) {
  size_t Size = 1;
  for (; Value >= 0x80; Value >>= 7)
    ++Size;
  return Size;
}

/// Of a field whose number is below 16.
constexpr size_t TagSize = 1;
constexpr unsigned char tag(unsigned Field, Type T) {
  return static_cast<unsigned char>(Field << 3 | unsigned(T));
}

/// A field of that many bytes, with its tag and length.
constexpr size_t bytesSize(size_t Size) {
  return TagSize + varintSize(Size) + Size;
}

/// Writes where there is room.
class Writer {
public:
  explicit Writer(unsigned char *To) : At(To) {}
  unsigned char *at() const { return At; }

  void varint(uint64_t Value) {
    for (; Value >= 0x80; Value >>= 7)
      *At++ = static_cast<unsigned char>(Value | 0x80);
    *At++ = static_cast<unsigned char>(Value);
  }
  void varintField(unsigned Field, uint64_t Value) {
    *At++ = tag(Field, Type::Varint);
    varint(Value);
  }
  void fixed64Field(unsigned Field, uint64_t Value) {
    *At++ = tag(Field, Type::Fixed64);
    std::memcpy(At, &Value, sizeof(Value));
    At += sizeof(Value);
  }
  /// The tag and the length of Size bytes that follow.
  void beginBytes(unsigned Field, size_t Size) {
    *At++ = tag(Field, Type::Bytes);
    varint(Size);
  }
  void bytesField(unsigned Field, const void *Data, size_t Size) {
    beginBytes(Field, Size);
    bytes(Data, Size);
  }
  void bytes(const void *Data, size_t Size) {
    if (Size)
      std::memcpy(At, Data, Size);
    At += Size;
  }
  void zeros(size_t Size) {
    std::memset(At, 0, Size);
    At += Size;
  }

private:
  unsigned char *At;
};

/// Reads fields from bytes that come from outside.
class Reader {
public:
  explicit Reader(Bytes From)
      : Begin(From.data()), At(From.data()), End(From.data() + From.size()) {}

  bool atEnd() const { return At == End; }
  size_t offset() const { return size_t(At - Begin); }
  /// The next field's number, type and value; false if there is no whole one.
  bool next() {
    uint64_t Tag;
    if (!varint(Tag) || Tag >> 32 || Tag >> 3 == 0)
      return false;
    Field = uint32_t(Tag >> 3);
    Kind = Type(Tag & 7);
    switch (Kind) {
    case Type::Varint:
      return varint(Number);
    case Type::Fixed64:
      return fixed(sizeof(uint64_t));
    case Type::Fixed32:
      return fixed(sizeof(uint32_t));
    case Type::Bytes:
      uint64_t Size;
      if (!varint(Size) || Size > size_t(End - At))
        return false;
      Content = {At, size_t(Size)};
      At += Size;
      return true;
    }
    return false; // groups, and types that there are not
  }
  bool varint(uint64_t &To) {
    To = 0;
    for (unsigned Shift = 0; Shift < 7 * MaxVarint; Shift += 7) {
      if (At == End)
        return false;
      unsigned char Byte = *At++;
      // The tenth has one bit left.
      if (Shift == 63 && Byte > 1)
        return false;
      To |= uint64_t(Byte & 0x7F) << Shift;
      if (Byte < 0x80)
        return true;
    }
    return false;
  }
  bool is(unsigned Number, Type T) const {
    return Field == Number && Kind == T;
  }

  uint32_t Field = 0;
  Type Kind = Type::Varint;
  uint64_t Number = 0; ///< of Varint, Fixed64, Fixed32
  Bytes Content;       ///< of Bytes

private:
  bool fixed(size_t Size) {
    if (Size > size_t(End - At))
      return false;
    Number = 0;
    std::memcpy(&Number, At, Size);
    At += Size;
    return true;
  }

  const unsigned char *Begin, *At, *End;
};

/// Whether generated classes accept it as a `string`.
bool isUtf8(std::string_view Text);

} // namespace cbridge::wire

#endif // CBRIDGE_CORE_WIRE_H
