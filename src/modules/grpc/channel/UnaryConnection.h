//===- UnaryConnection.h - grpc: with mode=unary ----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_CHANNEL_UNARYCONNECTION_H
#define CBRIDGE_MODULES_GRPC_CHANNEL_UNARYCONNECTION_H

#include "modules/grpc/Grpc.h"

namespace cbridge {

constexpr const char AdviceMethod[] =
    "/compiler_bridge.v1.CompilerBridge/getAdvice";

/// How single calls get to their server.
struct CallRoute {
  GrpcAddress To;
  Security By;
  size_t MaxMessage;
};

/// A compiler's end that asks by calls of getAdvice. Stream, the call of
/// converse, begins and ends the session; a server that has no converse is
/// asked without a session. First is what Stream uses.
std::unique_ptr<Channel> askByCalls(std::unique_ptr<Channel> Stream,
                                    std::shared_ptr<grpc::Channel> First,
                                    CallRoute Route);

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_CHANNEL_UNARYCONNECTION_H
