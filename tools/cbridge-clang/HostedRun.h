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

/// What to run: clang with the models' options, and without if that fails.
struct HostedRun {
  std::string Clang;
  /// Of the clang that needs no host: with its name.
  std::vector<std::string> Plain;
  std::vector<Advised> Models;
  bool ReadsStdin = false;
  /// Set by run(): standard input could not be kept for another run.
  bool LostStdin = false;

  /// How it ended, if it was good.
  struct Outcome {
    int WaitStatus = 0;
    bool Shown = true;              ///< all that clang printed
    std::vector<std::string> Notes; ///< one line each
  };
  /// Runs clang, and shows what it printed if all went well. Else the failure
  /// says why, nothing was shown, and standard input can be read from its
  /// beginning. Dies by a signal that is sent to this process to end it, when
  /// clang has ended.
  Expected<Outcome> run();
};

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_HOSTEDRUN_H
