//===- Serializers.cpp - The serializers of this library ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "serdes/Serializer.h"
#include "serdes/bitstream/Bitstream.h"
#include "serdes/json/JsonSerializer.h"

namespace cbridge {

std::unique_ptr<Serializer> makeSerializer(std::string_view Name) {
  if (Name == "bitstream")
    return std::make_unique<Bitstream>();
  if (Name == "json")
    return std::make_unique<JsonSerializer>();
  return nullptr;
}

Span<const std::string_view> serializerNames() {
  static constexpr std::string_view Names[] = {"bitstream", "json"};
  return Names;
}

} // namespace cbridge
