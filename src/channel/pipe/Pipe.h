//===- Pipe.h - A pair of FIFOs ---------------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_PIPE_PIPE_H
#define CBRIDGE_CHANNEL_PIPE_PIPE_H

#include "channel/Channel.h"

namespace cbridge {

/// `pipe:BASE`: the FIFOs BASE.out (compiler to peer) and BASE.in (peer to
/// compiler), and BASE.lock. One session at a time; see docs/formats/pipe.md.
///
/// `spawn=` starts a peer that the compiler owns; BASE may then be empty. A
/// peer that is not there is an error at once, unless `connect=` says how long
/// to wait for it.
Expected<std::unique_ptr<Channel>> connectPipe(const RunnerString &Address,
                                               const ChannelOptions &Options);
/// Makes the FIFOs; fails if another peer serves them.
Expected<std::unique_ptr<Listener>> listenPipe(const RunnerString &Address,
                                               const ChannelOptions &Options);

} // namespace cbridge

#endif // CBRIDGE_CHANNEL_PIPE_PIPE_H
