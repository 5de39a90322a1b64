//===- Module.cpp - grpc: and serdes=protobuf as a module -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Export.h"
#include "modules/grpc/Grpc.h"
#include "modules/grpc/ProtobufSerializer.h"

using namespace cbridge;
using namespace cbridge::exported;

static constexpr cbridge_serializer_type Protobuf =
    exportSerializer<ProtobufSerializer>("protobuf");
static constexpr const cbridge_serializer_type *Serializers[] = {&Protobuf,
                                                                 nullptr};
static constexpr const char *Keys[] = {"spawn", "connect", nullptr};
static constexpr cbridge_channel_type Grpc =
    exportChannel<connectGrpc, listenGrpc>(
        "grpc", "grpc:HOST:PORT or grpc:unix:PATH asks a peer by gRPC", Keys,
        /*ManySessions=*/true, /*Serdes=*/"protobuf");
static constexpr const cbridge_channel_type *Channels[] = {&Grpc, nullptr};
static constexpr cbridge_module Module = {sizeof(Module),
                                          CBRIDGE_MODULE_VERSION,
                                          "grpc",
                                          /*runners=*/nullptr,
                                          Serializers,
                                          Channels};

CBRIDGE_EXPORT_MODULE(Module)
