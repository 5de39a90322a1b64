//===- Remote.h - Models in another process ---------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_REMOTE_REMOTE_H
#define CBRIDGE_ENGINE_REMOTE_REMOTE_H

#include "channel/Channel.h"

#include <cbridge/Registry.h>

namespace cbridge {

/// The scheme that asks a peer over this channel.
Scheme remoteScheme(const ChannelScheme &Over);

} // namespace cbridge

#endif // CBRIDGE_ENGINE_REMOTE_REMOTE_H
