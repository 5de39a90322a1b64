//===- SocketPlace.cpp - The path of a socket that we serve ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/SocketPlace.h"

#include "channel/PeerLock.h"

#include <sys/stat.h>
#include <unistd.h>

namespace cbridge {

Status SocketPlace::take(const std::string &At, const std::string &Address) {
  Path = At;
  Expected<os::File> Taken = takePeerLock(lockPath(), Address);
  if (!Taken)
    return Taken.status();
  struct stat Info;
  if (::lstat(Path.c_str(), &Info) == 0) {
    if (!S_ISSOCK(Info.st_mode)) {
      ::unlink(lockPath().c_str());
      return Status::error(StatusCode::Io,
                           Path + " is in the way and is not a socket");
    }
    ::unlink(Path.c_str());
  }
  Lock = std::move(*Taken);
  return Status();
}

void SocketPlace::shutOut() const { ::chmod(Path.c_str(), 0600); }

bool SocketPlace::isOurs() const { return Lock && isNamed(Lock, lockPath()); }

void SocketPlace::remove() const {
  ::unlink(Path.c_str());
  ::unlink(lockPath().c_str());
}

} // namespace cbridge
