//===- ModelInterface.h - Whether a model tells its inputs ------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_MODELINTERFACE_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_MODELINTERFACE_H

#include <string>

namespace cbridge::driver {

/// Whether a model tells what it takes, so that it may be told more than that.
/// It is looked at in a process of its own: what is wrong with it does us no
/// harm.
bool describesItself(const std::string &Runner);

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_MODELINTERFACE_H
