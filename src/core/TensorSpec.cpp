//===- TensorSpec.cpp - Name, element type and shape of a tensor ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/TensorSpec.h>

#include <array>
#include <limits>

namespace cbridge {

namespace {

struct TypeInfo {
  std::string_view Name;
  size_t Size;
};

// Indexed by ElementType.
constexpr std::array<TypeInfo, 12> Types = {{{"bool", 1},
                                             {"int8_t", 1},
                                             {"int16_t", 2},
                                             {"int32_t", 4},
                                             {"int64_t", 8},
                                             {"uint8_t", 1},
                                             {"uint16_t", 2},
                                             {"uint32_t", 4},
                                             {"uint64_t", 8},
                                             {"float", 4},
                                             {"double", 8},
                                             {"string", 0}}};

std::string shapeText(Span<const int64_t> Shape) {
  std::string Text = "[";
  for (size_t I = 0; I < Shape.size(); ++I) {
    if (I)
      Text += ',';
    Text += Shape[I] == Dynamic ? "?" : std::to_string(Shape[I]);
  }
  return Text + "]";
}

Status shapeError(const TensorSpec &Spec, const std::string &Why) {
  return Status::error(StatusCode::ShapeMismatch,
                       "'" + Spec.name() + "': " + Why);
}

} // namespace

std::string_view toString(ElementType Type) {
  return Types[static_cast<size_t>(Type)].Name;
}

size_t sizeOf(ElementType Type) {
  return Types[static_cast<size_t>(Type)].Size;
}

Expected<ElementType> parseElementType(std::string_view Name) {
  for (size_t I = 0; I < Types.size(); ++I)
    if (Types[I].Name == Name)
      return static_cast<ElementType>(I);
  return Status::error(StatusCode::InvalidArgument,
                       "'" + std::string(Name) + "' is no element type");
}

Expected<size_t> elementCount(Span<const int64_t> Extents) {
  // Bounded so that a count of 8-byte elements still fits in an int64_t.
  constexpr uint64_t Limit = uint64_t(std::numeric_limits<int64_t>::max()) / 16;
  uint64_t Count = 1;
  bool Overflow = false, Empty = false;
  for (int64_t Extent : Extents) {
    if (Extent < 0)
      return Status::error(StatusCode::ShapeMismatch,
                           "negative extent in " + shapeText(Extents));
    if (Extent == 0)
      Empty = true;
    else if (Count > Limit / uint64_t(Extent))
      Overflow = true;
    else
      Count *= uint64_t(Extent);
  }
  // No elements are no excuse for extents that nobody can count.
  if (Empty && !Overflow)
    return size_t(0);
  if (Overflow)
    return Status::error(StatusCode::ShapeMismatch,
                         "shape " + shapeText(Extents) + " is too large");
  return size_t(Count);
}

bool TensorSpec::hasFixedSize() const {
  if (isString())
    return false;
  for (int64_t Extent : Shape)
    if (Extent == Dynamic)
      return false;
  return true;
}

size_t TensorSpec::elementCount() const {
  size_t Count = 1;
  for (int64_t Extent : Shape)
    Count *= Extent == Dynamic ? 0 : size_t(Extent);
  return Count;
}

std::string TensorSpec::typeAndShape() const {
  std::string Text(toString(Type));
  return Shape.empty() ? Text : Text + shapeText(Shape);
}

Status TensorSpec::validate() const {
  if (Name.empty())
    return Status::error(StatusCode::InvalidArgument,
                         "a tensor of type " + typeAndShape() + " has no name");
  if (Shape.size() > MaxRank)
    return shapeError(*this, "rank " + std::to_string(Shape.size()) +
                                 " is above " + std::to_string(MaxRank));
  std::vector<int64_t> Known;
  for (int64_t Extent : Shape) {
    if (Extent < Dynamic)
      return shapeError(*this, "extent " + std::to_string(Extent) +
                                   " is neither -1 nor at least 0");
    if (Extent != Dynamic)
      Known.push_back(Extent);
  }
  if (Expected<size_t> Count = cbridge::elementCount(Known); !Count)
    return shapeError(*this, Count.status().message());
  return Status();
}

Status TensorSpec::checkExtents(Span<const int64_t> Extents) const {
  bool Fits = Extents.size() == Shape.size();
  for (size_t I = 0; Fits && I < Shape.size(); ++I)
    Fits = Extents[I] >= 0 && (Shape[I] == Extents[I] || Shape[I] == Dynamic);
  if (!Fits)
    return shapeError(*this, "is " + typeAndShape() + ", got shape " +
                                 shapeText(Extents));
  return Status();
}

} // namespace cbridge
