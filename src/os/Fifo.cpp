//===- Fifo.cpp - Named pipes ---------------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/Fifo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cbridge::os {

Status makeFifo(const std::string &Path) {
  struct stat Info;
  if (::lstat(Path.c_str(), &Info) == 0) {
    if (!S_ISFIFO(Info.st_mode))
      return Status::error(StatusCode::Io,
                           Path + " is in the way and is not a FIFO");
    ::unlink(Path.c_str());
  }
  if (::mkfifo(Path.c_str(), S_IRUSR | S_IWUSR) != 0)
    return lastError(Path);
  return Status();
}

Expected<File> openFifo(const std::string &Path, int Flags, int *Errno) {
  Expected<File> F = openFile(Path, Flags | O_NONBLOCK | O_NOFOLLOW, 0, Errno);
  if (!F)
    return F;
  struct stat Info;
  if (::fstat(F->get(), &Info) != 0 || !S_ISFIFO(Info.st_mode))
    return Status::error(StatusCode::Io, Path + " is not a FIFO");
  // The largest that needs no privilege. Smaller pipes work, too, slower.
  ::fcntl(F->get(), F_SETPIPE_SZ, 1 << 20);
  return F;
}

void drainFifo(int Fifo) {
  unsigned char Dropped[4096];
  while (readSome(Fifo, Dropped).Kind == Transfer::Done) {
  }
}

} // namespace cbridge::os
