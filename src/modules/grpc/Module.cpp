//===- Module.cpp - grpc: and serdes=protobuf as a module -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Export.h"
#include "modules/grpc/Grpc.h"
#include "modules/grpc/method/Methods.h"
#include "modules/grpc/wire/ProtobufSerializer.h"

using namespace cbridge;
using namespace cbridge::exported;

static constexpr cbridge_serializer_type Protobuf =
    exportSerializer<ProtobufSerializer>("protobuf");
static constexpr const cbridge_serializer_type *Serializers[] = {&Protobuf,
                                                                 nullptr};
static constexpr char Help[] =
    "grpc:HOST:PORT or grpc:unix:PATH asks a peer by gRPC";
static constexpr const char *Keys[] = {"mode",     "spawn",      "connect",
                                       "tls_ca",   "tls_cert",   "tls_key",
                                       "tls_name", "token_file", nullptr};
static constexpr const char *ListenKeys[] = {
    "tls_ca",     "tls_cert", "tls_key",  "tls_name",
    "token_file", "role",     "announce", nullptr};
static constexpr cbridge_channel_type Grpc =
    exportChannel<connectGrpc, listenGrpc>("grpc", Help, Keys,
                                           /*ManySessions=*/true,
                                           /*Serdes=*/"protobuf", ListenKeys);
static constexpr const cbridge_channel_type *Channels[] = {&Grpc, nullptr};
static constexpr const char *MethodKeys[] = {"role",    "announce", "proto",
                                             "service", "method",   nullptr};
static constexpr cbridge_runner_type ByMethod = [] {
  cbridge_runner_type T = exportRunner<openMethod>("grpc", Help, MethodKeys);
  T.claims = claimsString<isForMethod>;
  return T;
}();
static constexpr const cbridge_runner_type *Runners[] = {&ByMethod, nullptr};
static constexpr cbridge_module Module = {
    sizeof(Module), CBRIDGE_MODULE_VERSION, "grpc", Runners, Serializers,
    Channels,       /*models=*/nullptr};

CBRIDGE_EXPORT_MODULE(Module)
