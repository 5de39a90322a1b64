//===- TensorCheck.cpp - Whether a weight can be used ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/onnx/TensorCheck.h"

#include "core/Wire.h"

#include <cbridge/TensorSpec.h>

#include <algorithm>
#include <optional>

namespace cbridge::onnx {

namespace {

/// Field numbers of TensorProto.
enum : unsigned {
  Dims = 1,
  DataType = 2,
  FloatData = 4,
  Int32Data = 5,
  StringData = 6,
  Int64Data = 7,
  Name = 8,
  RawData = 9,
  DoubleData = 10,
  UInt64Data = 11,
  DataLocation = 14,
};

/// Values of TensorProto.DataType that we look into.
enum : uint64_t { Float = 1, Half = 10, Double = 11, BFloat = 16 };

/// How many bits an element has; 0 if that is unknown, or if it is a string.
size_t bitsOf(uint64_t Type) {
  constexpr uint8_t Bits[] = {0,  32, 8,  8,   16, 16, 32, 64, 0, 8, 16, 64,
                              32, 64, 64, 128, 16, 8,  8,  8,  8, 4, 4};
  return Type < sizeof(Bits) ? Bits[Type] : 0;
}

/// The exponent's bits of a floating-point type, and those below.
struct Layout {
  uint64_t Exponent, Fraction;
};
std::optional<Layout> layoutOf(uint64_t Type) {
  switch (Type) {
  case Float:
    return Layout{0x7F800000, 0x007FFFFF};
  case Half:
    return Layout{0x7C00, 0x03FF};
  case Double:
    return Layout{0x7FF0000000000000, 0x000FFFFFFFFFFFFF};
  case BFloat:
    return Layout{0x7F80, 0x007F};
  default:
    return std::nullopt;
  }
}

/// What is not finite in the elements that it has seen.
struct Finite {
  Layout Of{};
  size_t Seen = 0;
  std::optional<size_t> Infinite, NotANumber;

  void look(uint64_t Element) {
    if ((Element & Of.Exponent) == Of.Exponent) {
      std::optional<size_t> &First =
          Element & Of.Fraction ? NotANumber : Infinite;
      if (!First)
        First = Seen;
    }
    ++Seen;
  }
  template <typename T> void lookAtAll(Bytes Data) {
    // Fast for the usual case, in which every element is finite.
    T Element;
    const T Exponent = T(Of.Exponent);
    bool Any = false;
    for (size_t At = 0; At + sizeof(T) <= Data.size(); At += sizeof(T)) {
      std::memcpy(&Element, Data.data() + At, sizeof(T));
      Any |= (Element & Exponent) == Exponent;
    }
    if (!Any) {
      Seen += Data.size() / sizeof(T);
      return;
    }
    for (size_t At = 0; At + sizeof(T) <= Data.size(); At += sizeof(T)) {
      std::memcpy(&Element, Data.data() + At, sizeof(T));
      look(Element);
    }
  }
};

/// Reads a tensor twice, since its type may come behind its elements, and keeps
/// none of them: a file may have any number.
class TensorReader {
public:
  explicit TensorReader(Bytes Message) : Message(Message) {}
  Status check(bool &External);

private:
  /// Calls Each(reader) for each field; false if one is broken.
  template <typename Callable> bool fields(Callable Each) const {
    wire::Reader R(Message);
    while (!R.atEnd())
      if (!R.next() || !Each(R))
        return false;
    return true;
  }
  /// Calls Each(number) for a repeated number, packed or not.
  template <typename Callable>
  static bool numbers(const wire::Reader &R, Callable Each);
  bool describe(const wire::Reader &R);
  bool look(const wire::Reader &R, Finite &At) const;
  Status checkSize(size_t Count) const;
  Status checkFinite(size_t Count) const;
  Status wrong(const std::string &Why) const {
    return Status::error(StatusCode::Unsupported,
                         "tensor '" + Label + "': " + Why);
  }

  Bytes Message;
  std::string Label;
  std::vector<int64_t> Extents;
  uint64_t Type = 0;
  std::optional<Bytes> Raw;
  size_t Elements = 0; // that are not in Raw
  bool Elsewhere = false;
};

template <typename Callable>
bool TensorReader::numbers(const wire::Reader &R, Callable Each) {
  if (R.Kind == wire::Type::Varint) {
    Each(R.Number);
    return true;
  }
  if (R.Kind != wire::Type::Bytes)
    return false;
  wire::Reader Inner(R.Content);
  for (uint64_t Value; !Inner.atEnd();) {
    if (!Inner.varint(Value))
      return false;
    Each(Value);
  }
  return true;
}

/// The first look: what the tensor says of itself.
bool TensorReader::describe(const wire::Reader &R) {
  bool Chunk = R.Kind == wire::Type::Bytes;
  auto Count = [this](uint64_t) { ++Elements; };
  switch (R.Field) {
  case Dims:
    return numbers(R, [&](uint64_t Each) {
      if (Extents.size() < 64)
        Extents.push_back(int64_t(Each));
    });
  case DataType:
    Type = R.Number;
    return R.Kind == wire::Type::Varint;
  case Name:
    Label = shortText(R.Content);
    return Chunk;
  case RawData:
    Raw = R.Content;
    return Chunk;
  case FloatData:
    Elements += Chunk ? R.Content.size() / 4 : 1;
    return Chunk || R.Kind == wire::Type::Fixed32;
  case DoubleData:
    Elements += Chunk ? R.Content.size() / 8 : 1;
    return Chunk || R.Kind == wire::Type::Fixed64;
  case Int32Data:
  case Int64Data:
  case UInt64Data:
    return numbers(R, Count);
  case StringData:
    ++Elements;
    return Chunk;
  case DataLocation:
    Elsewhere = R.Number == 1;
    return R.Kind == wire::Type::Varint;
  default:
    return true;
  }
}

/// The second look: the elements of a floating-point type.
bool TensorReader::look(const wire::Reader &R, Finite &At) const {
  bool Chunk = R.Kind == wire::Type::Bytes;
  if (R.Field == RawData && Type == Float)
    At.lookAtAll<uint32_t>(R.Content);
  else if (R.Field == RawData && Type == Double)
    At.lookAtAll<uint64_t>(R.Content);
  else if (R.Field == RawData)
    At.lookAtAll<uint16_t>(R.Content);
  else if (R.Field == FloatData && Chunk)
    At.lookAtAll<uint32_t>(R.Content);
  else if (R.Field == DoubleData && Chunk)
    At.lookAtAll<uint64_t>(R.Content);
  else if (R.Field == FloatData || R.Field == DoubleData)
    At.look(R.Number);
  else if (R.Field == Int32Data)
    return numbers(R, [&](uint64_t Each) { At.look(Each); });
  return true;
}

Status TensorReader::check(bool &External) {
  if (!fields([this](const wire::Reader &R) { return describe(R); }))
    return wrong("is cut off or no tensor");
  if (!Type)
    return wrong("has no element type");
  if (Elsewhere) {
    External = true;
    return Status();
  }
  Expected<size_t> Claimed = elementCount(Extents);
  if (!Claimed)
    return wrong("has impossible extents");
  if (Status S = checkSize(*Claimed); !S)
    return S;
  return checkFinite(*Claimed);
}

Status TensorReader::checkSize(size_t Count) const {
  size_t Bits = bitsOf(Type);
  if (Bits && Count > (SIZE_MAX - 7) / Bits)
    return wrong("has impossible extents");
  size_t Claimed = (Count * Bits + 7) / 8;
  if (Raw && Bits && Raw->size() != Claimed)
    return wrong("claims " + std::to_string(Claimed) + " bytes and has " +
                 std::to_string(Raw->size()));
  // Complex numbers are two elements each, small ones share one.
  bool Plain = Bits >= 8 && Bits <= 64 && Type != 14 && Type != 15;
  if (!Raw && (Plain || Type == 8) && Elements != Count)
    return wrong("claims " + std::to_string(Count) + " elements (" +
                 std::to_string(Claimed) + " bytes) and has " +
                 std::to_string(Elements));
  return Status();
}

Status TensorReader::checkFinite(size_t Count) const {
  std::optional<Layout> Of = layoutOf(Type);
  if (!Of)
    return Status();
  Finite F;
  F.Of = *Of;
  fields([&](const wire::Reader &R) { return look(R, F); });
  if (F.NotANumber)
    return wrong("element " + std::to_string(*F.NotANumber) +
                 " is not a number");
  if (F.Infinite && Count > 1)
    return wrong("element " + std::to_string(*F.Infinite) + " is infinite");
  return Status();
}

} // namespace

std::string shortText(Bytes Content) {
  constexpr size_t Longest = 200;
  std::string Text(reinterpret_cast<const char *>(Content.data()),
                   std::min(Content.size(), Longest));
  return Content.size() > Longest ? Text + "..." : Text;
}

Status checkFloats(Bytes Packed, const std::string &Name) {
  Finite F;
  F.Of = *layoutOf(Float);
  F.lookAtAll<uint32_t>(Packed);
  if (F.NotANumber)
    return Status::error(StatusCode::Unsupported,
                         "attribute '" + Name + "': not a number");
  return Status();
}

Status checkTensorProto(Bytes Message, bool &External) {
  return TensorReader(Message).check(External);
}

} // namespace cbridge::onnx
