//===- SignatureJson.cpp - Specs as JSON ----------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "core/SignatureJson.h"

namespace cbridge {

void appendSpecs(std::string &To, const std::vector<TensorSpec> &Specs) {
  To += '[';
  for (size_t I = 0; I < Specs.size(); ++I) {
    To += I ? ",{\"name\":" : "{\"name\":";
    appendJsonString(To, Specs[I].name());
    To += ",\"type\":\"";
    To += toString(Specs[I].type());
    To += "\",\"shape\":[";
    for (size_t D = 0; D < Specs[I].shape().size(); ++D)
      To += (D ? "," : "") + std::to_string(Specs[I].shape()[D]);
    To += "]}";
  }
  To += ']';
}

bool readSpec(JsonReader &Reader, std::vector<TensorSpec> &Specs) {
  std::string Name, Type = "float";
  std::vector<int64_t> Shape;
  bool Read = Reader.object([&](std::string_view Key) {
    if (Key == "name")
      return Reader.string(Name);
    if (Key == "type")
      return Reader.string(Type);
    if (Key == "shape")
      return Reader.array([&] {
        if (Shape.size() > MaxRank)
          return Reader.fail("a shape of more than 8 extents");
        return Reader.number(Shape.emplace_back());
      });
    return Reader.skipValue();
  });
  if (!Read)
    return false;
  Expected<ElementType> Parsed = parseElementType(Type);
  if (!Parsed)
    return Reader.fail(Parsed.status().message());
  TensorSpec Spec(std::move(Name), *Parsed, std::move(Shape));
  if (Status S = Spec.validate(); !S)
    return Reader.fail(S.message());
  Specs.push_back(std::move(Spec));
  return true;
}

bool readSpecs(JsonReader &Reader, std::vector<TensorSpec> &Specs) {
  return Reader.array([&] {
    if (Specs.size() == MaxTensors)
      return Reader.fail("more than " + std::to_string(MaxTensors) +
                         " tensors");
    return readSpec(Reader, Specs);
  });
}

} // namespace cbridge
