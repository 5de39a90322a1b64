//===- Catalog.cpp - The schemes of this library --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Model.h>

#include "engine/fixed/Fixed.h"
#include "engine/remote/Remote.h"
#include "engine/replay/Replay.h"

namespace cbridge {

Registry Registry::builtin() {
  Registry R;
  R.add(constantScheme());
  R.add(heuristicScheme());
  R.add(replayScheme());
  for (const ChannelScheme &Channel : channelSchemes())
    R.add(remoteScheme(Channel));
  return R;
}

Expected<Model> Model::open(std::string_view RunnerString, Signature Sig,
                            FallbackSink OnFallback) {
  return open(RunnerString, std::move(Sig), Registry::builtin(),
              std::move(OnFallback));
}

} // namespace cbridge
