//===- Shm.h - Shared memory ------------------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_SHM_SHM_H
#define CBRIDGE_CHANNEL_SHM_SHM_H

#include "channel/Channel.h"

namespace cbridge {

/// `shm:NAME`: a Unix socket NAME, over which the two ends exchange memory
/// segments; messages lie in these. Any number of sessions at a time; see
/// docs/formats/shm.md. NAME is a path if there is a slash in it, else a file
/// in the user's own directory.
///
/// `spawn=` starts a peer that the compiler owns; NAME may then be empty. A
/// peer that is not there is an error at once, unless `connect=` says how long
/// to wait for it.
Expected<std::unique_ptr<Channel>> connectShm(const RunnerString &Address,
                                              const ChannelOptions &Options);
/// Makes the socket; fails if another peer serves it.
Expected<std::unique_ptr<Listener>> listenShm(const RunnerString &Address,
                                              const ChannelOptions &Options);

namespace shm {
/// Where the socket of NAME is.
Expected<std::string> socketPath(const std::string &Name);
} // namespace shm

} // namespace cbridge

#endif // CBRIDGE_CHANNEL_SHM_SHM_H
