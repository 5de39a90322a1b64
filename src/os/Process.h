//===- Process.h - A child process ------------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_OS_PROCESS_H
#define CBRIDGE_OS_PROCESS_H

#include "os/File.h"

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cbridge::os {

/// A child that this object owns: ended and reaped at the latest with it.
///
/// The child leads a process group of its own. Its standard output is our
/// standard error, since ours may carry the compiler's product. Its standard
/// input is a lifeline: a pipe that never carries anything and closes when we
/// are gone. Move-only.
class Process {
public:
  /// Runs Arguments[0], searched in PATH, without a shell; Environment is added
  /// to ours ("NAME=value").
  static Expected<Process> spawn(const std::vector<std::string> &Arguments,
                                 const std::vector<std::string> &Environment);
  Process(Process &&Other) noexcept
      : Id(std::exchange(Other.Id, -1)), Owner(Other.Owner),
        Lifeline(std::move(Other.Lifeline)) {}
  Process &operator=(Process &&Other) = delete;
  ~Process() { end(std::chrono::seconds(0)); }

  pid_t id() const { return Id; }
  /// "exit status 1", "signal 9"; nothing while it runs.
  std::optional<std::string> exited();
  /// Cuts the lifeline, waits up to Grace, then kills the group and reaps. A
  /// forked copy of us leaves the child alone.
  void end(std::chrono::nanoseconds Grace);

private:
  Process(pid_t Id, File Lifeline);

  pid_t Id, Owner;
  File Lifeline;
};

} // namespace cbridge::os

#endif // CBRIDGE_OS_PROCESS_H
