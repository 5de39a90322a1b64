//===- Methods.cpp - grpc: by single methods ------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/Methods.h"

namespace cbridge {

bool isForMethod(const RunnerString &R) {
  return R.option("role") == "server" || R.has("proto");
}

Expected<EngineSource> openMethod(const RunnerString &R, const Signature &Sig) {
  static constexpr std::string_view Roles[] = {"client", "server"};
  Expected<std::string> Role = R.choice("role", Roles);
  if (!Role)
    return Role.status();
  bool Serving = *Role == "server";
  // TODO-BASE: userMethod, callMethod, serveMethod
  (void)Sig;
  return Status::error(StatusCode::Unsupported,
                       Serving ? "role=server" : "proto=");
}

} // namespace cbridge
