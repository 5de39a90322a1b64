//===- CompileChild.h - One compile in a process of its own -----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_WORKER_COMPILECHILD_H
#define CBRIDGE_WORKER_COMPILECHILD_H

#include "os/File.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cbridge::worker {

/// What is to be compiled, and how.
struct CompileTask {
  std::vector<std::string> Arguments; ///< of clang -cc1, without that
  /// Set for this compile; without a value, unset.
  std::vector<std::pair<std::string, std::optional<std::string>>> Environment;
  double Seconds = 0; ///< how long it may take
};

struct CompileResult {
  std::string Failure; ///< empty: it succeeded
  bool TookTooLong = false;
  bool OwnerGone = false; ///< nobody waits for it any more
  double Seconds = 0;     ///< of the processor
};

/// Initializes clang, once, so that children need not.
void initializeClang(const char *Argv0);

/// Compiles in a forked child, which a crash, a hang or a leak ends and nobody
/// else. Writes the object and what clang prints to the two files. Gives up if
/// Owner, a pipe, hangs up.
CompileResult compile(const CompileTask &Task, int Object, int Printed,
                      int Owner);

} // namespace cbridge::worker

#endif // CBRIDGE_WORKER_COMPILECHILD_H
