//===- ClangProcess.h - Clang as a child ------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_CLANGPROCESS_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_CLANGPROCESS_H

#include "CaughtSignals.h"

#include <string>
#include <vector>

#include <sys/types.h>

namespace cbridge::driver {

/// Runs a program in place of this one, which fails by returning.
Status execute(const std::string &Path, const std::vector<std::string> &Argv);

/// Clang as a child in our process group, so that a terminal's signals reach
/// both. Signals that end us alone are passed on, and clang is waited for: it
/// must have ended before this object does.
class ClangProcess {
public:
  explicit ClangProcess(CaughtSignals &Signals) : Signals(Signals) {}

  /// Where clang runs if not as anybody would run it.
  struct Place {
    std::string Folder; ///< whose mark it bears, and for temporary files
    int Output, Error;  ///< files for what it prints
    int Input = -1;     ///< its standard input; -1: ours
    /// Those of the environment that are not as they were.
    std::vector<std::pair<std::string, std::string>> Variables = {};
  };
  Status start(const std::string &Path, const std::vector<std::string> &Argv,
               const Place *In = nullptr);
  /// To be called when there are news of signals: passes one on, and notices
  /// that clang has ended.
  void handleSignals();
  /// The second half of that, for one of several.
  void reap();
  void send(int Signal);
  bool ended() const { return Id < 0; }
  /// Until it has ended; kills it if it has not by then.
  void wait(Deadline Until);
  int waitStatus() const { return HowEnded; }
  /// Whether it has been ended from outside, rather than by its own fault.
  bool wasKilled() const;

private:
  CaughtSignals &Signals;
  pid_t Id = -1;
  int HowEnded = 0;
};

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_CLANGPROCESS_H
