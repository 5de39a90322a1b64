//===- ConformancePeer.cpp - A peer to be started by a runner -------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Peer.h>

#include <csignal>
#include <cstring>

#include <unistd.h>

using namespace cbridge;

/// Answers y = x + 1; -1 asks for its process, -2 kills it.
int main(int Count, char **Arguments) {
  Expected<Peer> P = Peer::open(Count > 1 ? Arguments[1] : "");
  if (!P)
    return 2;
  for (;;) {
    auto R = P->next(Deadline::never());
    if (!R)
      return R.status().code() == StatusCode::PeerClosed ? 0 : 3;
    if ((*R)->done())
      continue;
    int64_t X = (*R)->feature(0).as<int64_t>()[0];
    if (X == -2)
      ::raise(SIGKILL);
    int64_t Y = X == -1 ? int64_t(::getpid()) : X + 1;
    std::memcpy(P->decision().bytes(0).data(), &Y, sizeof(Y));
    (void)P->reply();
  }
}
