//===- TensorText.cpp - Tensors for people --------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "log/TensorText.h"

#include "core/Json.h"

#include <cbridge/Number.h>

#include <algorithm>
#include <cmath>

namespace cbridge {

namespace {

std::string shapeText(Span<const int64_t> Extents) {
  std::string Text = "[";
  for (size_t D = 0; D < Extents.size(); ++D)
    Text += (D ? "," : "") + std::to_string(Extents[D]);
  return Text + "]";
}

bool sameElement(const TensorView &A, const TensorView &B, size_t I) {
  if (A.Spec->isString())
    return A.string(I) == B.string(I);
  size_t Size = sizeOf(A.Spec->type());
  const unsigned char *InA = A.Data.data() + I * Size,
                      *InB = B.Data.data() + I * Size;
  if (std::memcmp(InA, InB, Size) == 0)
    return true;
  bool Real = A.Spec->type() == ElementType::Float ||
              A.Spec->type() == ElementType::Double;
  return Real && std::isnan(Number::load(A.Spec->type(), InA).real()) &&
         std::isnan(Number::load(A.Spec->type(), InB).real());
}

} // namespace

std::string elementText(const TensorView &V, size_t I) {
  if (V.Spec->isString()) {
    std::string Text;
    appendJsonString(Text, V.string(I));
    return Text;
  }
  size_t Size = sizeOf(V.Spec->type());
  if (V.Spec->type() == ElementType::Bool)
    return V.Data[I] ? "true" : "false";
  return Number::load(V.Spec->type(), V.Data.data() + I * Size).toString();
}

std::string tensorText(const TensorView &V, size_t Most) {
  size_t Count = V.elementCount();
  if (Count == 1)
    return elementText(V, 0);
  std::string Text = "[";
  for (size_t I = 0; I < std::min(Count, Most); ++I)
    Text += (I ? ", " : "") + elementText(V, I);
  if (Count > Most)
    Text += ", … " + std::to_string(Count) + " elements";
  return Text + "]";
}

std::string tensorDifference(const TensorView &A, const TensorView &B,
                             std::string_view Other) {
  auto Differ = [&](const std::string &What, const std::string &InA,
                    const std::string &InB) {
    return What + " is " + InA + ", " + std::string(Other) + " " + InB;
  };
  if (A.Extents.size() != B.Extents.size() ||
      !std::equal(A.Extents.begin(), A.Extents.end(), B.Extents.begin()))
    return Differ("the shape", shapeText(A.Extents), shapeText(B.Extents));
  if (A.Data.size() == B.Data.size() &&
      (A.Data.empty() ||
       std::memcmp(A.Data.data(), B.Data.data(), A.Data.size()) == 0))
    return "";
  size_t Count = A.elementCount();
  for (size_t I = 0; I < Count; ++I)
    if (!sameElement(A, B, I))
      return Differ(Count == 1 ? "the value" : "element " + std::to_string(I),
                    elementText(A, I), elementText(B, I));
  return "";
}

} // namespace cbridge
