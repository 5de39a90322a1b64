//===- Soak.cpp - Many sessions in bad weather ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Soak.h"

#include "os/File.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

using namespace cbridge;

static const char Help[] =
    "usage: soak [SESSIONS] [--channel=pipe|shm|grpc|all] [--seconds=N] "
    "[--seed=N]\n"
    "\n"
    "Several compilers ask several peers, in processes of their own that are\n"
    "stopped and killed at random. Checks that every answer is right, that no\n"
    "session hangs, and that nothing is left behind. Fails if one of these "
    "does\n"
    "not hold.\n"
    "\n"
    "  SESSIONS     of each channel (default 100000)\n"
    "  --channel=   which channel (default all, one after the other)\n"
    "  --seconds=   stop each channel after so long, however many there were\n"
    "  --seed=      for the same choices again, though not at the same "
    "moments\n";

static volatile std::sig_atomic_t Interrupted = 0;

static std::optional<uint64_t> number(const char *Text) {
  char *End = nullptr;
  uint64_t Value = std::strtoull(Text, &End, 10);
  if (*Text < '0' || *Text > '9' || *End)
    return std::nullopt;
  return Value;
}

static int misused(const char *What) {
  std::fprintf(stderr, "soak: what does '%s' mean?\n%s", What, Help);
  return 2;
}

int main(int Count, char **Arguments) {
  soak::Plan P;
  P.Sessions = 100'000;
  P.Seed = os::randomId();
  std::string_view Channel = "all";
  for (int I = 1; I < Count; ++I) {
    std::string_view Each = Arguments[I];
    auto After = [&](std::string_view Key) -> const char * {
      return Each.substr(0, Key.size()) == Key ? Arguments[I] + Key.size()
                                               : nullptr;
    };
    if (Each == "--help" || Each == "-h") {
      std::fputs(Help, stdout);
      return 0;
    }
    const char *Seconds = After("--seconds="), *Seed = After("--seed=");
    if (const char *Name = After("--channel=")) {
      Channel = Name;
      continue;
    }
    std::optional<uint64_t> Value = number(Seconds ? Seconds
                                           : Seed  ? Seed
                                                   : Arguments[I]);
    if (!Value || (*Value == 0 && !Seconds && !Seed))
      return misused(Arguments[I]);
    if (Seconds)
      P.Longest = std::chrono::seconds(*Value);
    else if (Seed)
      P.Seed = *Value;
    else
      P.Sessions = size_t(*Value);
  }
  bool Known = Channel == "all";
  for (const char *Each : soak::Channels)
    Known |= Channel == Each;
  if (!Known)
    return misused(Channel.data());
  struct sigaction OnInterrupt = {};
  OnInterrupt.sa_handler = [](int) { Interrupted = 1; };
  ::sigaction(SIGINT, &OnInterrupt, nullptr);
  ::sigaction(SIGTERM, &OnInterrupt, nullptr);
  std::printf("soak: seed %llu\n", static_cast<unsigned long long>(P.Seed));
  bool AllWell = true;
  for (const char *Each : soak::Channels) {
    if ((Channel != "all" && Channel != Each) || Interrupted)
      continue;
    P.Channel = Each;
    AllWell &= soak::conduct(P, Interrupted);
  }
  std::puts(AllWell ? "soak: all is well" : "soak: FAILED");
  return AllWell ? 0 : 1;
}
