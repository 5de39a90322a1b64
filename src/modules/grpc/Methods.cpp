//===- Methods.cpp - grpc: by single methods ------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/Methods.h"

namespace cbridge {

static constexpr std::string_view Roles[] = {"client", "server"};

bool isForMethod(const RunnerString &R) {
  // Those that are wrong, too: the channel would not notice.
  return R.option("role", Roles[0]) != Roles[0] || R.has("announce") ||
         R.has("proto");
}

Expected<EngineSource> openMethod(const RunnerString &R, const Signature &Sig) {
  Expected<std::string> Role = R.choice("role", Roles);
  if (!Role)
    return Role.status();
  bool Serving = *Role == "server";
  if (R.has("announce") && !Serving)
    return R.errorAt("announce", "only role=server has an address to announce");
  if (!R.has("proto"))
    return serveMethod(R, Sig, getObservation(Sig));
  // TODO-BASE: userMethod, callMethod
  return Status::error(StatusCode::Unsupported, "proto=");
}

} // namespace cbridge
