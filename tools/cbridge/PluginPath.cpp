//===- PluginPath.cpp - Where plugins and the CMake package are -----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"

#include "shared/PluginPath.h"

#include <cstdio>

namespace cbridge::tool {

int pluginPath(Span<const std::string> Arguments) {
  if (Arguments.size() != 1)
    return fail("plugin-path takes the name of a compiler; there is llvm");
  if (Arguments[0] != "llvm")
    return fail("there is no plugin for '" + Arguments[0] +
                "'; there is one for llvm");
  Expected<std::string> Path = findLlvmPlugin();
  if (!Path)
    return fail(Path.status());
  std::printf("%s\n", Path->c_str());
  return Success;
}

int cmakePath(Span<const std::string> Arguments) {
  if (!Arguments.empty())
    return fail("cmake-path takes no arguments; see --help");
  Expected<std::string> Path = findCMakePackage();
  if (!Path)
    return fail(Path.status());
  std::printf("%s\n", Path->c_str());
  return Success;
}

} // namespace cbridge::tool
