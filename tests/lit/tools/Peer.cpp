//===- Peer.cpp - A peer that misbehaves on request -----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// usage: peer ADDRESS|- DECISION [N die|hang|fail|leave]
// Answers DECISION, and after N answers does what it is told. With `-` the
// address is that of the runner which has started it.
#include <cbridge/Peer.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

using namespace cbridge;

namespace {

[[noreturn]] void finish(const std::string &What) {
  if (What == "die")
    std::raise(SIGKILL);
  if (What == "hang") { // until whoever started it ends it, or for a minute
    ::alarm(60);
    for (;;)
      ::pause();
  }
  std::exit(0);
}

} // namespace

int main(int Count, char **Words) {
  if (Count != 3 && Count != 5) {
    std::fprintf(stderr,
                 "usage: peer ADDRESS|- DECISION [N die|hang|fail|leave]\n");
    return 2;
  }
  std::string Address = std::strcmp(Words[1], "-") == 0 ? "" : Words[1];
  int64_t Decision = std::atoll(Words[2]);
  long Answers = Count == 5 ? std::atol(Words[3]) : -1;
  std::string Then = Count == 5 ? Words[4] : "";
  ::alarm(120); // a test that forgets it must not keep it

  Expected<Peer> P = Peer::open(Address);
  if (!P) {
    std::fprintf(stderr, "peer: %s\n", P.status().message().c_str());
    return 1;
  }
  for (;;) {
    auto R = P->next(Deadline::never());
    if (!R)
      return R.status().code() == StatusCode::PeerClosed ? 0 : 1;
    if ((*R)->done())
      continue;
    if (Answers >= 0 && Answers-- == 0) {
      if (Then != "fail")
        finish(Then);
      (void)P->fail("the policy raised an exception");
      Answers = 0;
      continue;
    }
    std::memcpy(P->decision().bytes(0).data(), &Decision, sizeof(Decision));
    (void)P->reply();
  }
}
