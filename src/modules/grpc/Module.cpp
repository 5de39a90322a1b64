//===- Module.cpp - serdes=protobuf as a module ---------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Export.h"
#include "modules/grpc/ProtobufSerializer.h"

using namespace cbridge;
using namespace cbridge::exported;

static constexpr cbridge_serializer_type Protobuf =
    exportSerializer<ProtobufSerializer>("protobuf");
static constexpr const cbridge_serializer_type *Serializers[] = {&Protobuf,
                                                                 nullptr};
static constexpr cbridge_module Module = {sizeof(Module),
                                          CBRIDGE_MODULE_VERSION,
                                          "grpc",
                                          /*runners=*/nullptr,
                                          Serializers,
                                          /*channels=*/nullptr};

CBRIDGE_EXPORT_MODULE(Module)
