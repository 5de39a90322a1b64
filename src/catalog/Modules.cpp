//===- Modules.cpp - What lives in modules --------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "catalog/Modules.h"

namespace cbridge {

namespace {

/// Schemes and serializers that live in a module of another name:
/// `cbridge-MODULE.so`. What is not listed lives in one of its own name.
struct Home {
  std::string_view Name, Module;
};
constexpr Home Homes[] = {{"protobuf", "grpc"}};

} // namespace

Expected<const Module *> moduleWith(std::string_view Name,
                                    bool (*Has)(const Module &,
                                                std::string_view Name),
                                    const char *What) {
  for (const Module *Each : Module::loaded())
    if (Has(*Each, Name))
      return Each;
  std::string_view File = Name;
  for (const Home &Each : Homes)
    if (Each.Name == Name)
      File = Each.Module;
  Expected<const Module *> Found = Module::find(File);
  if (Found && !Has(**Found, Name))
    return Status::error(StatusCode::Unsupported,
                         "module " + (*Found)->file() + ": has no " + What +
                             " '" + std::string(Name) + "'");
  return Found;
}

} // namespace cbridge
