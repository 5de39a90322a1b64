//===- PipeFiles.cpp - The files of pipe:BASE -----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/pipe/PipeFiles.h"

#include <unistd.h>

namespace cbridge::pipe {

char readState(const os::File &Lock) {
  char State = 0;
  return ::pread(Lock.get(), &State, 1, StateByte) == 1 ? State : 0;
}

Status writeState(const os::File &Lock, char State) {
  if (::pwrite(Lock.get(), &State, 1, StateByte) != 1)
    return os::lastError("lock file");
  return Status();
}

} // namespace cbridge::pipe
