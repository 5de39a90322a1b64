//===- UserMethod.h - A method of a user's own .proto -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_PROTO_USERMETHOD_H
#define CBRIDGE_MODULES_GRPC_PROTO_USERMETHOD_H

#include "modules/grpc/wire/MethodMessages.h"

#include <cbridge/RunnerString.h>
#include <cbridge/Signature.h>

namespace cbridge {

/// The method that `proto=`, `service=` and `method=` name, checked against
/// Sig. Serving: the compiler sends the response and receives the request.
Expected<Method> userMethod(const RunnerString &R, const Signature &Sig,
                            bool Serving);

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_PROTO_USERMETHOD_H
