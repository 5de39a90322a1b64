//===- Module.cpp - unix:PATH as a module ---------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See docs/guide/add-a-channel.md.
//
//===----------------------------------------------------------------------===//
#include "UnixChannel.h"

#include "module/Export.h"

using namespace cbridge::exported;

static constexpr const char *Keys[] = {"spawn", "connect", nullptr};
static constexpr cbridge_channel_type Unix =
    exportChannel<connectSocket, listenSocket>(
        "unix", "unix:PATH asks a peer process over a Unix socket", Keys,
        /*ManySessions=*/true);
static constexpr const cbridge_channel_type *Channels[] = {&Unix, nullptr};
static constexpr cbridge_module Module = {sizeof(Module),
                                          CBRIDGE_MODULE_VERSION,
                                          "unix",
                                          /*runners=*/nullptr,
                                          /*serializers=*/nullptr,
                                          Channels,
                                          /*models=*/nullptr};

CBRIDGE_EXPORT_MODULE(Module)
