//===- PeerLock.h - One peer per address ------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_PEERLOCK_H
#define CBRIDGE_CHANNEL_PEERLOCK_H

#include "os/File.h"

#include <sys/types.h>

namespace cbridge {

/// The byte of a lock file that its peer keeps locked while it lives.
constexpr off_t PeerByte = 0;

/// Makes the lock file at Path anew and locks it. Whoever holds an earlier
/// peer's can tell, since the name is that of another file now. Fails with
/// Unavailable if another peer serves Address.
Expected<os::File> takePeerLock(const std::string &Path,
                                const std::string &Address);

/// Whether Path still names the file that is open as F.
bool isNamed(const os::File &F, const std::string &Path);

} // namespace cbridge

#endif // CBRIDGE_CHANNEL_PEERLOCK_H
