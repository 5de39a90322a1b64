//===- Serializers.cpp - The serializers of this library ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "catalog/Modules.h"
#include "serdes/bitstream/Bitstream.h"
#include "serdes/json/JsonSerializer.h"

namespace cbridge {

Expected<std::unique_ptr<Serializer>> makeSerializer(std::string_view Name) {
  if (Name == "bitstream")
    return std::make_unique<Bitstream>();
  if (Name == "json")
    return std::make_unique<JsonSerializer>();
  auto Has = [](const Module &M, std::string_view Wanted) {
    return M.hasSerializer(Wanted);
  };
  Expected<const Module *> Found = moduleWith(Name, Has, "serializer");
  if (Found)
    return (*Found)->makeSerializer(Name);
  if (Found.status().code() != StatusCode::InvalidArgument)
    return Found.status();
  std::string Known;
  for (std::string_view Each : serializerNames())
    Known += (Known.empty() ? "" : ", ") + std::string(Each);
  return Status::error(StatusCode::InvalidArgument,
                       "there is no serializer '" + std::string(Name) +
                           "'; there are " + Known + ", and " +
                           Found.status().message());
}

Span<const std::string_view> serializerNames() {
  static constexpr std::string_view Names[] = {"bitstream", "json"};
  return Names;
}

} // namespace cbridge
