//===- Lock.cpp - Locks that die with their owner -------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/Lock.h"

#include <fcntl.h>
#include <unistd.h>

namespace cbridge::os {

static struct flock byteLock(short Type, off_t Byte) {
  struct flock Lock = {};
  Lock.l_type = Type;
  Lock.l_whence = SEEK_SET;
  Lock.l_start = Byte;
  Lock.l_len = 1;
  return Lock;
}

bool tryLock(const File &Of, off_t Byte) {
  struct flock Lock = byteLock(F_WRLCK, Byte);
  return ::fcntl(Of.get(), F_OFD_SETLK, &Lock) == 0;
}

void unlock(const File &Of, off_t Byte) {
  struct flock Lock = byteLock(F_UNLCK, Byte);
  ::fcntl(Of.get(), F_OFD_SETLK, &Lock);
}

bool isLocked(const File &Of, off_t Byte) {
  struct flock Lock = byteLock(F_WRLCK, Byte);
  return ::fcntl(Of.get(), F_OFD_GETLK, &Lock) == 0 && Lock.l_type != F_UNLCK;
}

} // namespace cbridge::os
