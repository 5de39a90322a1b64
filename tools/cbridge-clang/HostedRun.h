//===- HostedRun.h - Runs clang while models answer it ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_HOSTEDRUN_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_HOSTEDRUN_H

#include "CommandLine.h"

#include "os/File.h"

#include <optional>

namespace cbridge::driver {

/// A model of register allocation.
struct Advised {
  Kind K;
  std::string Runner;
};

/// Clang with models, whose output is held back until it is known to be good.
struct HostedRun {
  std::string Clang;
  /// Of the clang without models: with its name.
  std::vector<std::string> Plain;
  /// For a model that runs inside clang: what loads it.
  std::vector<std::string> Options;
  /// Models beside clang.
  std::vector<Advised> Models;
  bool LinksByLld = false;
  bool ReadsStdin = false;
  /// Set by run(): standard input could not be kept for another run.
  bool LostStdin = false;

  /// How it ended, if no model failed.
  struct Outcome {
    bool Succeeded = false;         ///< clang; else nothing was shown
    bool Shown = true;              ///< all that clang printed
    std::vector<std::string> Notes; ///< one line each
  };
  /// Runs clang, and shows what it printed if it succeeded. Else nothing was
  /// shown, and standard input can be read from its beginning. Fails with
  /// ModelError if a model of register allocation did, and with others if clang
  /// cannot be run in this way. Dies by a signal that is sent to this process
  /// or to clang to end it, when clang has ended.
  Expected<Outcome> run();
};

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_HOSTEDRUN_H
