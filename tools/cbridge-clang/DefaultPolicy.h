//===- DefaultPolicy.h - The model that nobody has named --------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_DEFAULTPOLICY_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_DEFAULTPOLICY_H

#include "ClangCall.h"

#include <cbridge/Span.h>

#include <string_view>

namespace cbridge::driver {

/// Inlines for small code, where nobody has named a model. In the plugin, if
/// that was built with it (models/inline-oz.md).
constexpr char DefaultPolicy[] = "native:InlineOz";

/// Whether a plugin, as its file is, has the policy.
bool hasDefaultPolicy(Bytes Plugin);
/// Whether that which would be loaded has.
bool hasDefaultPolicy();

/// Whether the first inner command of those that `clang -###` tells optimizes
/// for size, and not for a linker that will.
bool innerCommandOptimizesForSize(std::string_view Told);

/// Whether clang optimizes for size in this call. Asks it, if a configuration
/// file or the environment may tell. Argv is with its path.
bool optimizesForSize(const ClangCall &Call,
                      const std::vector<std::string> &Argv);

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_DEFAULTPOLICY_H
