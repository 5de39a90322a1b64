//===- Tensors.h - Encoding, decoding and comparing -------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_CONFORMANCE_TENSORS_H
#define CBRIDGE_TESTS_CONFORMANCE_TENSORS_H

#include "core/ForElementType.h"
#include "serdes/Serializer.h"

#include <cmath>
#include <cstring>
#include <string>

namespace cbridge {

/// The bytes of a message as they travel.
inline std::vector<unsigned char> flatten(const Message &M) {
  std::vector<unsigned char> All(M.own().begin(), M.own().end());
  for (Bytes Piece : M.lent())
    All.insert(All.end(), Piece.begin(), Piece.end());
  return All;
}

/// Copies Count elements to tensor I, which has or gets these Extents.
template <typename T>
Status fill(TensorStorage &Tensors, size_t I, Span<const int64_t> Extents,
            Span<const T> Values) {
  if (Status S = Tensors.resize(I, Extents); !S)
    return S;
  MutableBytes To = Tensors.bytes(I);
  if (elementTypeOf<T>() != Tensors.spec(I).type() ||
      To.size() != Values.size() * sizeof(T))
    return Status::error(StatusCode::InvalidArgument, "a wrong test");
  if (To.size())
    std::memcpy(To.data(), Values.data(), To.size());
  return Status();
}

template <typename T>
bool sameElement(const unsigned char *A, const unsigned char *B) {
  if constexpr (std::is_floating_point_v<T>) {
    T ValueA, ValueB;
    std::memcpy(&ValueA, A, sizeof(T));
    std::memcpy(&ValueB, B, sizeof(T));
    if (std::isnan(ValueA) && std::isnan(ValueB))
      return true;
  }
  return std::memcmp(A, B, sizeof(T)) == 0;
}

/// How two tensors differ in shape or elements; empty if they do not. One NaN
/// is as good as another, but -0.0 is not 0.0.
inline std::string difference(const TensorView &A, const TensorView &B) {
  std::string Name = "'" + A.Spec->name() + "' ";
  if (A.Spec->type() != B.Spec->type())
    return Name + "differs in type";
  if (A.Extents.size() != B.Extents.size() ||
      !std::equal(A.Extents.begin(), A.Extents.end(), B.Extents.begin()))
    return Name + "differs in extents";
  for (size_t I = 0; I < A.elementCount(); ++I) {
    bool Same = A.Spec->isString()
                    ? A.string(I) == B.string(I)
                    : forElementType(A.Spec->type(), [&](auto Tag) {
                        size_t At = I * sizeof(Tag);
                        return sameElement<decltype(Tag)>(A.Data.data() + At,
                                                          B.Data.data() + At);
                      });
    if (!Same)
      return Name + "differs in element " + std::to_string(I);
  }
  return "";
}

inline std::string difference(Span<const TensorView> A,
                              Span<const TensorView> B) {
  if (A.size() != B.size())
    return "the number of tensors differs";
  std::string All;
  for (size_t I = 0; I < A.size() && All.empty(); ++I)
    All = difference(A[I], B[I]);
  return All;
}

/// What is wrong with a decoded tensor: extents that its spec does not allow,
/// too many or too few bytes, elements that are none. Reads every byte.
inline std::string inconsistency(const TensorView &V) {
  if (Status S = V.Spec->checkExtents(V.Extents); !S)
    return S.toString();
  Expected<size_t> Count = elementCount(V.Extents);
  if (!Count)
    return Count.status().toString();
  if (V.Spec->isString())
    return checkStringTensor(V.Data, *Count).message();
  if (V.Data.size() != *Count * sizeOf(V.Spec->type()))
    return "'" + V.Spec->name() + "' has the wrong size";
  unsigned char Most = 0;
  for (unsigned char Byte : V.Data)
    Most = std::max(Most, Byte);
  if (V.Spec->type() == ElementType::Bool && Most > 1)
    return "'" + V.Spec->name() + "' has a bool beyond true";
  return "";
}

} // namespace cbridge

#endif // CBRIDGE_TESTS_CONFORMANCE_TENSORS_H
