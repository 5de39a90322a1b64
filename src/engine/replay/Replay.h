//===- Replay.h - Decisions from a log --------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_REPLAY_REPLAY_H
#define CBRIDGE_ENGINE_REPLAY_REPLAY_H

#include <cbridge/Registry.h>

namespace cbridge {

/// `replay:FILE` and `replay:DIR/`: the decisions that were recorded there.
Scheme replayScheme();

} // namespace cbridge

#endif // CBRIDGE_ENGINE_REPLAY_REPLAY_H
