//===- Lock.h - Locks that die with their owner -----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_OS_LOCK_H
#define CBRIDGE_OS_LOCK_H

#include "os/File.h"

#include <sys/types.h>

namespace cbridge::os {

/// One-byte locks of a file, held by an open file: the kernel drops them when
/// its last descriptor is closed, however the process ended.
/// True if the lock is ours now.
bool tryLock(const File &Of, off_t Byte);
void unlock(const File &Of, off_t Byte);
/// Whether somebody else holds it.
bool isLocked(const File &Of, off_t Byte);

} // namespace cbridge::os

#endif // CBRIDGE_OS_LOCK_H
