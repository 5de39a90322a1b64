//===- ServedPeer.cpp - A peer that runs beside the test ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ServedPeer.h"

namespace cbridge::conformance {

bool serve(Peer &P, const Policy &Answer, const std::function<bool()> &Stop) {
  while (!Stop()) {
    auto R = P.next(Deadline::in(milliseconds(5)));
    if (R)
      Answer(P, **R);
    else if (R.status().code() == StatusCode::PeerClosed)
      return true;
    else if (R.status().code() != StatusCode::Timeout)
      return false;
  }
  return true;
}

} // namespace cbridge::conformance
