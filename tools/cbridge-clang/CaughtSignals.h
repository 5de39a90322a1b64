//===- CaughtSignals.h - Signals that ask us to end -------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_CAUGHTSIGNALS_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_CAUGHTSIGNALS_H

#include "os/File.h"

#include <csignal>

namespace cbridge::driver {

/// Ends this process by a signal, as if it had never been caught.
[[noreturn]] void dieBy(int Signal);
/// Whether this is one by which users end programs.
bool isEnding(int Signal);

/// Catches signals that ask us to end, and is told of all children, as long as
/// it lives; at most one at a time.
class CaughtSignals {
public:
  CaughtSignals();
  ~CaughtSignals() { letThrough(); }
  CaughtSignals(const CaughtSignals &) = delete;
  CaughtSignals &operator=(const CaughtSignals &) = delete;

  /// Can be read when there is something for take(), a child that ended, too;
  /// -1: signals cannot be caught.
  int file() const { return File.get(); }
  /// The signal that children have to be sent now, since it came to us alone;
  /// 0: none.
  int take();
  /// When take() is due anyway.
  Deadline nextStep() const { return PassOn; }
  /// The signal that asked us to end; 0: none.
  int received() const { return Received; }
  /// Signals mean again what they did, to us or in a child; those that came in
  /// the meantime, too.
  void letThrough() const;

private:
  sigset_t Before;
  struct sigaction ChildBefore;
  os::File File;
  int Received = 0;
  Deadline PassOn = Deadline::never();
};

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_CAUGHTSIGNALS_H
