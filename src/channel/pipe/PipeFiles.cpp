//===- PipeFiles.cpp - The files of pipe:BASE -----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/pipe/PipeFiles.h"

#include <fcntl.h>
#include <sys/stat.h>
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

Expected<os::File> openFifo(const std::string &Path, int Flags, int *Errno) {
  Expected<os::File> F =
      os::openFile(Path, Flags | O_NONBLOCK | O_NOFOLLOW, 0, Errno);
  if (!F)
    return F;
  struct stat Info;
  if (::fstat(F->get(), &Info) != 0 || !S_ISFIFO(Info.st_mode))
    return Status::error(StatusCode::Io, Path + " is not a FIFO");
  // The largest that needs no privilege. Smaller pipes work, too, slower.
  ::fcntl(F->get(), F_SETPIPE_SZ, 1 << 20);
  return F;
}

} // namespace cbridge::pipe
