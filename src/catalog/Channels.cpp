//===- Channels.cpp - The channels of this library ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "catalog/Modules.h"
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

Expected<const ChannelScheme *> findChannelScheme(std::string_view Name) {
  for (const ChannelScheme &Each : channelSchemes())
    if (Each.Name == Name)
      return &Each;
  auto Has = [](const Module &M, std::string_view Wanted) {
    return M.channel(Wanted) != nullptr;
  };
  Expected<const Module *> Found = moduleWith(Name, Has, "channel");
  if (!Found)
    return Found.status();
  return (*Found)->channel(Name);
}

} // namespace cbridge
