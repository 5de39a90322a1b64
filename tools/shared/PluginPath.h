//===- PluginPath.h - Where the plugins for compilers are -------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_SHARED_PLUGINPATH_H
#define CBRIDGE_TOOLS_SHARED_PLUGINPATH_H

#include <cbridge/Expected.h>

#include <string>

namespace cbridge::tool {

/// The folder of the running program, whatever it was called by; with a slash
/// at the end.
std::string programFolder();

/// The pass plugin for LLVM, near the running program: in a build tree, where
/// it was installed, in a Python package; then in CBRIDGE_MODULE_PATH.
Expected<std::string> findLlvmPlugin();

/// The folder of the CMake package, where the running program is installed.
Expected<std::string> findCMakePackage();

} // namespace cbridge::tool

#endif // CBRIDGE_TOOLS_SHARED_PLUGINPATH_H
