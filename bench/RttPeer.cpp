//===- RttPeer.cpp - A model in C++ for the round-trip benchmark ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Dot.h"

#include <cbridge/Peer.h>

#include <cstdio>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

using namespace cbridge;

static int serve(const char *Address) {
  Expected<Peer> P = Peer::open(Address);
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

/// The floor: as many floats as the host is known to send, no framing.
static int serveFloor(const std::string &Base, int Repetitions) {
  std::puts("ready");
  std::fflush(stdout);
  int In = ::open((Base + ".out").c_str(), O_RDONLY);
  int Out = ::open((Base + ".in").c_str(), O_WRONLY);
  std::vector<float> X(50'000);
  auto Answer = [&](size_t Size) {
    char *At = reinterpret_cast<char *>(X.data());
    for (size_t Left = Size * sizeof(float); Left;) {
      ssize_t Got = ::read(In, At, Left);
      if (Got <= 0)
        return false;
      At += Got;
      Left -= size_t(Got);
    }
    float Y = bench::dot({X.data(), Size});
    return ::write(Out, &Y, sizeof(Y)) == sizeof(Y);
  };
  for (int Repetition = 0; Repetition <= Repetitions; ++Repetition) {
    for (int Twice = 0; Twice < 2; ++Twice)
      for (size_t Size = 500; Size <= 50'000; Size += 500)
        if (!Answer(Size))
          return 1;
    for (int I = 0; I < 2000; ++I)
      if (!Answer(64))
        return 1;
  }
  return 0;
}

int main(int Count, char **Arguments) {
  if (Count == 3 && std::string(Arguments[1]) == "bridge")
    return serve(Arguments[2]);
  if (Count == 4 && std::string(Arguments[1]) == "floor")
    return serveFloor(Arguments[2], std::stoi(Arguments[3]));
  std::fprintf(stderr, "usage: RttPeer bridge ADDRESS\n"
                       "       RttPeer floor BASE REPETITIONS\n");
  return 2;
}
