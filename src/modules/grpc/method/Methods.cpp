//===- Methods.cpp - grpc: by single methods ------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/method/Methods.h"

#include "modules/grpc/proto/UserMethod.h"
#include "modules/grpc/wire/ObservationMessages.h"

namespace cbridge {

static constexpr std::string_view Roles[] = {"client", "server"};

bool isForMethod(const RunnerString &R) {
  // Those that are wrong, too: the channel would not notice.
  return R.option("role", Roles[0]) != Roles[0] || R.has("announce") ||
         R.has("proto") || R.has("service") || R.has("method");
}

Expected<EngineSource> openMethod(const RunnerString &R, const Signature &Sig) {
  Expected<std::string> Role = R.choice("role", Roles);
  if (!Role)
    return Role.status();
  bool Serving = *Role == "server";
  if (R.has("announce") && !Serving)
    return R.errorAt("announce", "only role=server has an address to announce");
  for (const char *Key : {"service", "method"})
    if (R.has(Key) && !R.has("proto"))
      return R.errorAt(Key, "needs proto=, the file in which it is");
  if (!R.has("proto"))
    return serveMethod(R, Sig, getObservation(Sig));
  Expected<Method> M = userMethod(R, Sig, Serving);
  if (!M)
    return M.status();
  return Serving ? serveMethod(R, Sig, std::move(*M))
                 : callMethod(R, Sig, std::move(*M));
}

} // namespace cbridge
