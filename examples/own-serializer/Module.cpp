//===- Module.cpp - serdes=flatbuffers as a module ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See docs/guide/add-a-serializer.md.
//
//===----------------------------------------------------------------------===//
#include "FlatbuffersSerializer.h"

#include "module/Export.h"

using namespace cbridge::exported;

static constexpr cbridge_serializer_type Flatbuffers =
    exportSerializer<FlatbuffersSerializer>("flatbuffers");
static constexpr const cbridge_serializer_type *Serializers[] = {&Flatbuffers,
                                                                 nullptr};
static constexpr cbridge_module Module = {
    sizeof(Module),       CBRIDGE_MODULE_VERSION,
    "flatbuffers",
    /*runners=*/nullptr,  Serializers,
    /*channels=*/nullptr, /*models=*/nullptr};

CBRIDGE_EXPORT_MODULE(Module)
