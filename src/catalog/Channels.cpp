//===- Channels.cpp - The channels of this library ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/pipe/Pipe.h"
#include "channel/shm/Shm.h"

namespace cbridge {

const std::vector<ChannelScheme> &channelSchemes() {
  // Never destroyed: compilers may still ask while they exit.
  static const auto *const Schemes = new std::vector<ChannelScheme>{
      {"pipe",
       "pipe:BASE asks a peer process over the FIFOs BASE.out and BASE.in",
       {"spawn", "connect"},
       /*ManySessions=*/false,
       connectPipe,
       listenPipe},
      {"shm",
       "shm:NAME asks a peer process through shared memory",
       {"spawn", "connect"},
       /*ManySessions=*/true,
       connectShm,
       listenShm},
  };
  return *Schemes;
}

} // namespace cbridge
