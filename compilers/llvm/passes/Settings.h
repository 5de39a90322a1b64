//===- Settings.h - What users tell the plugin ------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PASSES_SETTINGS_H
#define CBRIDGE_PASSES_SETTINGS_H

#include <string>

namespace cbridge::passes {

/// What users tell the plugin: an option of the command line or, since not
/// every tool lets a plugin have options, an environment variable.
enum class Setting {
  InlineModel,    ///< -cbridge-inline-model, CBRIDGE_INLINE_MODEL
  InlineFeatures, ///< -cbridge-inline-features, CBRIDGE_INLINE_FEATURES
  InlineExplain,  ///< -cbridge-inline-explain, CBRIDGE_INLINE_EXPLAIN
};

/// Its value; empty if it was not told, or if CBRIDGE_DISABLE is set.
std::string valueOf(Setting S);

} // namespace cbridge::passes

#endif // CBRIDGE_PASSES_SETTINGS_H
