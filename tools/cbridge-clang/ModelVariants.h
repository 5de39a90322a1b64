//===- ModelVariants.h - Whether a model has several answers ----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_MODELVARIANTS_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_MODELVARIANTS_H

#include <string>

namespace cbridge::driver {

/// Whether an inlining model answers differently by the variant that it is
/// asked for; false if it cannot tell. It is looked at in a process of its own:
/// what is wrong with it does us no harm.
bool hasVariants(const std::string &Runner);

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_MODELVARIANTS_H
