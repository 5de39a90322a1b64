//===- UnixChannel.h - unix:PATH --------------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_EXAMPLES_UNIXCHANNEL_H
#define CBRIDGE_EXAMPLES_UNIXCHANNEL_H

#include "channel/Channel.h"

/// `unix:PATH`: frames over a stream socket at PATH, which only this user can
/// connect to. Each connection is a session. `spawn=` and `connect=` are those
/// of `pipe:`.
cbridge::Expected<std::unique_ptr<cbridge::Channel>>
connectSocket(const cbridge::RunnerString &Address,
              const cbridge::ChannelOptions &Options);
/// Makes the socket; fails if another peer serves it.
cbridge::Expected<std::unique_ptr<cbridge::Listener>>
listenSocket(const cbridge::RunnerString &Address,
             const cbridge::ChannelOptions &Options);

#endif // CBRIDGE_EXAMPLES_UNIXCHANNEL_H
