//===- HostProcess.h - Where models answer clang ----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_HOSTPROCESS_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_HOSTPROCESS_H

#include "interactive/InteractiveHost.h"
#include "os/File.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cbridge::driver {

/// How long an answer of a model may take, if CBRIDGE_ANSWER_TIMEOUT says so.
std::optional<std::chrono::nanoseconds> toldAnswerTimeout();

/// How the model of one channel did.
struct Report {
  uint64_t Decisions = 0;
  uint64_t Replaced = 0;   ///< answers that were not legal
  std::string Failure;     ///< why it did not decide (any more); empty: it did
  std::string Illegal;     ///< the first answer that was not legal
  std::string NotRecorded; ///< why record= does not (any more)
};

/// A child that answers a host's questions by models, so that nothing a model
/// does, be it a crash, can harm who looks after clang. Should that one be
/// gone, the child ends the compilers, who would wait for ever.
class HostProcess {
public:
  /// One runner string for each channel of Host, which the child uses from now
  /// on. Folder is that which compilers ask in, and goes with the last of us.
  static Expected<HostProcess> start(InteractiveHost &Host,
                                     const std::vector<std::string> &Runners,
                                     const std::string &Folder);
  HostProcess(HostProcess &&Other) noexcept
      : Id(std::exchange(Other.Id, -1)), Line(std::move(Other.Line)) {}
  HostProcess &operator=(HostProcess &&) = delete;
  /// Kills it, if it is still there.
  ~HostProcess();

  /// Hangs up when the child has ended.
  int file() const { return Line.get(); }
  /// Ends the child, and gives one report for each channel; fails if it could
  /// not tell.
  Expected<std::vector<Report>> finish(size_t Channels);

private:
  HostProcess(pid_t Id, os::File Line) : Id(Id), Line(std::move(Line)) {}
  std::string reap();

  pid_t Id;
  os::File Line;
};

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_HOSTPROCESS_H
