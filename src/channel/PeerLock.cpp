//===- PeerLock.cpp - One peer per address --------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/PeerLock.h"

#include "os/Lock.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cbridge {

bool isNamed(const os::File &F, const std::string &Path) {
  struct stat Ours, Named;
  return ::fstat(F.get(), &Ours) == 0 && ::lstat(Path.c_str(), &Named) == 0 &&
         Ours.st_ino == Named.st_ino && Ours.st_dev == Named.st_dev;
}

/// Whether a peer may have made this file: it has no more in it than a state.
static bool isPeerLock(const os::File &F) {
  struct stat Found;
  return ::fstat(F.get(), &Found) == 0 && S_ISREG(Found.st_mode) &&
         Found.st_size <= 16 && Found.st_nlink <= 1;
}

Expected<os::File> takePeerLock(const std::string &Path,
                                const std::string &Address) {
  for (;;) {
    int Errno = 0;
    Expected<os::File> Old = os::openFile(Path, O_RDWR | O_NOFOLLOW, 0, &Errno);
    if (!Old && Errno != ENOENT)
      return Old.status();
    if (Old && !isPeerLock(*Old))
      return Status::error(StatusCode::Io,
                           Path + " is in the way and is no lock of a peer");
    if (Old && !os::tryLock(*Old, PeerByte))
      return Status::error(StatusCode::Unavailable,
                           "another peer serves " + Address);
    if (Old && isNamed(*Old, Path))
      ::unlink(Path.c_str()); // left by a peer that died
    Expected<os::File> Made =
        os::openFile(Path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
                     S_IRUSR | S_IWUSR, &Errno);
    if (!Made && Errno != EEXIST)
      return Made.status();
    // Another peer may have come between any two of these calls.
    if (Made && os::tryLock(*Made, PeerByte) && isNamed(*Made, Path))
      return Made;
  }
}

} // namespace cbridge
