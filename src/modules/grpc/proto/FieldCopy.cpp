//===- FieldCopy.cpp - Elements and how they travel -----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/proto/FieldCopy.h"

#include "core/ForElementType.h"

namespace cbridge {

namespace {

template <typename T> T load(const unsigned char *From) {
  if constexpr (std::is_same_v<T, bool>) {
    return *From != 0;
  } else {
    T Value;
    std::memcpy(&Value, From, sizeof(T));
    return Value;
  }
}

/// The element at From as a T, which holds it.
template <typename T> T loadAs(ElementType Type, const unsigned char *From) {
  return forElementType(Type, [&](auto Tag) {
    using Ours = decltype(Tag);
    if constexpr (fits(elementTypeOf<Ours>(), elementTypeOf<T>()))
      return static_cast<T>(load<Ours>(From));
    else
      return T(); // was refused when it was bound
  });
}

template <typename T>
void storeAs(ElementType Type, unsigned char *To, T Value) {
  forElementType(Type, [&](auto Tag) {
    using Ours = decltype(Tag);
    if constexpr (fits(elementTypeOf<T>(), elementTypeOf<Ours>())) {
      auto Element = static_cast<Ours>(Value);
      std::memcpy(To, &Element, sizeof(Element));
    }
  });
}

template <typename Bits, typename T> uint64_t bitsOf(T Value) {
  static_assert(sizeof(Bits) == sizeof(T));
  Bits To;
  std::memcpy(&To, &Value, sizeof(To));
  return To;
}

template <typename T, typename Bits> T fromBits(Bits From) {
  static_assert(sizeof(Bits) == sizeof(T));
  T To;
  std::memcpy(&To, &From, sizeof(To));
  return To;
}

uint64_t zigzag(int64_t Value) {
  return (uint64_t(Value) << 1) ^ uint64_t(Value >> 63);
}
int64_t unzigzag(uint64_t Value) {
  return int64_t(Value >> 1) ^ -int64_t(Value & 1);
}

} // namespace

int64_t integerAt(ElementType Type, const unsigned char *From) {
  return forElementType(Type, [&](auto Tag) {
    return static_cast<int64_t>(load<decltype(Tag)>(From));
  });
}

uint64_t toWire(ProtoKind Kind, ElementType Type, const unsigned char *From) {
  switch (Kind) {
  case ProtoKind::Double:
    return bitsOf<uint64_t>(loadAs<double>(Type, From));
  case ProtoKind::Float:
    return bitsOf<uint32_t>(loadAs<float>(Type, From));
  case ProtoKind::Bool:
    return loadAs<bool>(Type, From);
  case ProtoKind::UInt64:
  case ProtoKind::Fixed64:
    return loadAs<uint64_t>(Type, From);
  case ProtoKind::SInt32:
  case ProtoKind::SInt64:
    return zigzag(loadAs<int64_t>(Type, From));
  case ProtoKind::SFixed32:
    return uint32_t(loadAs<int32_t>(Type, From));
  default: // numbers below zero have all ten bytes
    return uint64_t(loadAs<int64_t>(Type, From));
  }
}

void fromWire(ProtoKind Kind, uint64_t Value, ElementType Type,
              unsigned char *To) {
  switch (Kind) {
  case ProtoKind::Double:
    return storeAs(Type, To, fromBits<double>(Value));
  case ProtoKind::Float:
    return storeAs(Type, To, fromBits<float>(uint32_t(Value)));
  case ProtoKind::Bool:
    return storeAs(Type, To, Value != 0);
  case ProtoKind::Int64:
  case ProtoKind::SFixed64:
    return storeAs(Type, To, int64_t(Value));
  case ProtoKind::UInt64:
  case ProtoKind::Fixed64:
    return storeAs(Type, To, Value);
  case ProtoKind::UInt32:
  case ProtoKind::Fixed32:
    return storeAs(Type, To, uint32_t(Value));
  case ProtoKind::SInt32:
    return storeAs(Type, To, int32_t(unzigzag(uint32_t(Value))));
  case ProtoKind::SInt64:
    return storeAs(Type, To, unzigzag(Value));
  default:
    return storeAs(Type, To, int32_t(Value));
  }
}

bool travelsAsIs(ProtoKind Kind, ElementType Type) {
  return wireTypeOf(Kind) != wire::Type::Varint && elementTypeOf(Kind) == Type;
}

} // namespace cbridge
