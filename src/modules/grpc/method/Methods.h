//===- Methods.h - grpc: by single methods ----------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_METHOD_METHODS_H
#define CBRIDGE_MODULES_GRPC_METHOD_METHODS_H

#include "modules/grpc/wire/MethodMessages.h"

#include <cbridge/Registry.h>

namespace cbridge {

/// Whether a string is for openMethod() and not for the channel: `role=server`,
/// or a `proto=` of the user's own.
bool isForMethod(const RunnerString &R);
/// A model that calls a method, or that serves one: see docs/formats/grpc.md.
Expected<EngineSource> openMethod(const RunnerString &R, const Signature &Sig);

/// The compiler asks: one call per decision, or one stream per runner.
Expected<EngineSource> callMethod(const RunnerString &R, const Signature &Sig,
                                  Method M);
/// The compiler is asked: `role=server`.
Expected<EngineSource> serveMethod(const RunnerString &R, const Signature &Sig,
                                   Method M);

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_METHOD_METHODS_H
