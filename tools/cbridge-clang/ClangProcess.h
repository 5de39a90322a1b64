//===- ClangProcess.h - Clang, and signals to us ----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_CLANGPROCESS_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_CLANGPROCESS_H

#include "os/File.h"

#include <csignal>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cbridge::driver {

/// Runs a program in place of this one, which fails by returning.
Status execute(const std::string &Path, const std::vector<std::string> &Argv);
/// Ends this process by a signal, as if it had never been caught.
[[noreturn]] void dieBy(int Signal);

/// Clang as a child in our process group, so that a terminal's signals reach
/// both. Signals that end us alone are passed on, and clang is waited for.
///
/// Catches signals and is told of all children as long as it lives; at most
/// one at a time.
class ClangProcess {
public:
  ClangProcess();
  /// Clang must have ended.
  ~ClangProcess() { letSignalsThrough(); }
  ClangProcess(const ClangProcess &) = delete;
  ClangProcess &operator=(const ClangProcess &) = delete;

  /// Where clang runs if not as anybody would run it.
  struct Place {
    std::string Folder; ///< whose mark it bears, and for temporary files
    int Output, Error;  ///< files for what it prints
  };
  Status start(const std::string &Path, const std::vector<std::string> &Argv,
               const Place *In = nullptr);
  /// Can be read when there is something for handleSignals().
  int signals() const { return Signals.get(); }
  void handleSignals();
  /// When handleSignals() is due anyway.
  Deadline nextStep() const { return PassOn; }
  bool ended() const { return Id < 0; }
  /// Until it has ended; kills it if it has not by then.
  void wait(Deadline Until);
  int waitStatus() const { return HowEnded; }
  /// Whether it has been ended from outside, rather than by its own fault.
  bool wasKilled() const;
  /// Signals mean again what they did; those that came in the meantime, too.
  void letSignalsThrough();
  /// The signal that asked us to end; 0: none.
  int endedBySignalToUs() const { return Received; }

private:
  void reap();

  sigset_t Before;
  struct sigaction ChildBefore;
  os::File Signals;
  pid_t Id = -1;
  int HowEnded = 0;
  int Received = 0;
  Deadline PassOn = Deadline::never();
};

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_CLANGPROCESS_H
