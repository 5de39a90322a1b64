//===- RttPeer.cpp - A model in C++ for the round-trip benchmark ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dot.h"
#include "Floor.h"

#include <cbridge/Peer.h>

#include <cstdio>
#include <cstring>
#include <string>

using namespace cbridge;

static int serve(const char *Address) {
  PeerOptions Options;
  Options.Lend = true;
  Expected<Peer> P = Peer::open(Address, Options);
  if (!P) {
    std::fprintf(stderr, "%s\n", P.status().toString().c_str());
    return 1;
  }
  std::puts("ready");
  std::fflush(stdout);
  while (auto R = P->next(Deadline::never())) {
    if ((*R)->done())
      continue;
    float Y = bench::dot((*R)->feature(0).as<float>());
    std::memcpy(P->decision().bytes(0).data(), &Y, sizeof(Y));
    (void)P->reply();
  }
  return 0;
}

static int serveFloor(const std::string &Spec) {
  std::puts("ready");
  std::fflush(stdout);
  std::vector<size_t> Sizes;
  for (int Twice = 0; Twice < 2; ++Twice)
    for (size_t Size = 500; Size <= 50'000; Size += 500)
      Sizes.push_back(Size);
  Sizes.insert(Sizes.end(), 2000, 64);
  bench::Floor::open(Spec, /*Host=*/false)->serve(bench::dot, Sizes);
  return 0;
}

int main(int Count, char **Arguments) {
  if (Count == 3 && std::string(Arguments[1]) == "bridge")
    return serve(Arguments[2]);
  if (Count == 3 && std::string(Arguments[1]) == "floor")
    return serveFloor(Arguments[2]);
  std::fprintf(stderr, "usage: RttPeer bridge ADDRESS\n"
                       "       RttPeer floor FLOOR\n");
  return 2;
}
