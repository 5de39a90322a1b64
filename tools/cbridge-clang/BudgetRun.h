//===- BudgetRun.h - The smallest of several compiles -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_BUDGETRUN_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_BUDGETRUN_H

#include "HostedRun.h"
#include "InnerCommand.h"

namespace cbridge::driver {

/// One source, compiled several ways, of which the smallest object is kept:
/// without a model, by an inlining model, and by what an InlineClimb makes of
/// these two. Of objects of one size that of the earliest way is kept,
/// whichever was ready first.
struct BudgetRun {
  InnerCommand Command;
  /// What loads the model, and its name for users.
  std::vector<std::string> Options;
  std::string Model;
  /// How many ways at most. With more than two, the model must be one that
  /// may be told more than it takes.
  size_t Ways;

  /// Runs two of them at a time, if there are cores for us. If it succeeds,
  /// the object is in its place, and what its clang printed was shown. If clang
  /// fails without a model, nothing was shown, and the outcome tells no more
  /// than that. Ways that fail, or whose model does, are no candidates; there
  /// is a note if no model was one. Fails if objects cannot be had in this way.
  /// Signals are treated as by HostedRun.
  Expected<HostedRun::Outcome> run();
};

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_BUDGETRUN_H
