//===- InlineLog.h - Decisions to and from compiles -------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_INLINELOG_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_INLINELOG_H

#include "InlineClimb.h"

#include <cbridge/Expected.h>

namespace cbridge::driver {

/// The features that logs must have to be read here.
extern const char InlineLogFeatures[];

/// What a compile decided, as the plugin has recorded it.
struct InlineLog {
  std::string Context; ///< the module's name; empty if nothing was decided
  std::map<CallPair, InlineDecision> Decisions;

  /// Of the logs in a folder. A pair's decision is that of most of its calls,
  /// and its score the least sure one's.
  static Expected<InlineLog> read(const std::string &Folder);
};

/// The runner that records what another one decides, in a folder.
std::string recording(const std::string &Runner, const std::string &Folder);
/// Writes decisions to a file, and tells the runner that decides so.
Expected<std::string> replaying(const std::string &File,
                                const std::string &Context,
                                const InlineClimb::Way &Decisions);

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_INLINELOG_H
