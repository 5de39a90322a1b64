//===- TensorSpec.h - Name, element type and shape of a tensor --*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TENSORSPEC_H
#define CBRIDGE_TENSORSPEC_H

#include <cbridge/Expected.h>
#include <cbridge/Span.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cbridge {

/// What a tensor's elements are. The numbers are shared with C and on the wire.
enum class ElementType : uint8_t {
  Bool = 0,
  Int8 = 1,
  Int16 = 2,
  Int32 = 3,
  Int64 = 4,
  UInt8 = 5,
  UInt16 = 6,
  UInt32 = 7,
  UInt64 = 8,
  Float = 9,
  Double = 10,
  String = 11,
};

/// "bool", "int8_t" … "uint64_t", "float", "double", "string".
std::string_view toString(ElementType Type);
Expected<ElementType> parseElementType(std::string_view Name);
/// Bytes per element; 0 for strings, whose size varies.
size_t sizeOf(ElementType Type);

/// The ElementType of a C++ type. Integers go by width and signedness, so that
/// `long` and `long long` are both Int64.
template <typename T> constexpr bool isElement() {
  return std::is_same_v<T, bool> || (std::is_integral_v<T> && sizeof(T) <= 8) ||
         std::is_same_v<T, float> || std::is_same_v<T, double>;
}
template <typename T> constexpr ElementType elementTypeOf() {
  static_assert(isElement<T>(), "not an element type of tensors");
  if constexpr (std::is_same_v<T, bool>)
    return ElementType::Bool;
  else if constexpr (std::is_same_v<T, float>)
    return ElementType::Float;
  else if constexpr (std::is_same_v<T, double>)
    return ElementType::Double;
  else {
    constexpr int Log = sizeof(T) == 1   ? 0
                        : sizeof(T) == 2 ? 1
                        : sizeof(T) == 4 ? 2
                                         : 3;
    constexpr int First = static_cast<int>(
        std::is_signed_v<T> ? ElementType::Int8 : ElementType::UInt8);
    return static_cast<ElementType>(First + Log);
  }
}

constexpr size_t MaxRank = 8;
/// An extent that is known only when the tensor is filled.
constexpr int64_t Dynamic = -1;

/// The name, element type and shape of one tensor. A value: copies freely.
/// An empty shape is a scalar.
class TensorSpec {
public:
  TensorSpec(std::string Name, ElementType Type, std::vector<int64_t> Shape)
      : Name(std::move(Name)), Type(Type), Shape(std::move(Shape)),
        Fixed(hasFixedSize()) {}
  template <typename T>
  static TensorSpec create(std::string Name, std::vector<int64_t> Shape = {1}) {
    if constexpr (std::is_same_v<T, std::string>)
      return TensorSpec(std::move(Name), ElementType::String, std::move(Shape));
    else
      return TensorSpec(std::move(Name), elementTypeOf<T>(), std::move(Shape));
  }

  const std::string &name() const { return Name; }
  ElementType type() const { return Type; }
  Span<const int64_t> shape() const { return Shape; }
  bool isString() const { return Type == ElementType::String; }
  /// Neither a dynamic extent nor strings: its size in bytes never changes.
  bool isFixed() const { return Fixed; }
  /// Elements, with dynamic extents counted as 0.
  size_t elementCount() const;
  /// "int64_t[1]", "float[?,300]", "bool" for a scalar.
  std::string typeAndShape() const;
  /// A name, a rank up to MaxRank, extents that are -1 or at least 0, and a
  /// size that does not overflow.
  Status validate() const;
  /// Whether Extents are a shape that this spec allows.
  Status checkExtents(Span<const int64_t> Extents) const;

  bool operator==(const TensorSpec &Other) const {
    return Name == Other.Name && Type == Other.Type && Shape == Other.Shape;
  }
  bool operator!=(const TensorSpec &Other) const { return !(*this == Other); }

private:
  bool hasFixedSize() const;

  std::string Name;
  ElementType Type;
  std::vector<int64_t> Shape;
  bool Fixed;
};

/// The product of the extents; nothing if one is negative or it overflows.
Expected<size_t> elementCount(Span<const int64_t> Extents);

} // namespace cbridge

#endif // CBRIDGE_TENSORSPEC_H
