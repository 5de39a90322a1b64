//===- RunnerStringFuzzer.cpp - Fuzzes runner strings ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/RunnerString.h>

#include <cstdint>
#include <cstdlib>

using namespace cbridge;

static void mustHold(bool Condition) {
  if (!Condition)
    std::abort();
}

/// The keys of a string that parse() took.
static std::vector<std::string> keysOf(const std::string &Text) {
  std::vector<std::string> Keys;
  for (size_t At = Text.find('?'); At != Text.npos; At = Text.find('&', At + 1))
    Keys.push_back(Text.substr(At + 1, Text.find('=', At) - At - 1));
  return Keys;
}

template <typename T>
static void mustBeSame(const Expected<T> &A, const Expected<T> &B) {
  mustHold(A.ok() == B.ok());
  mustHold(A ? *A == *B : A.status().toString() == B.status().toString());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  using namespace std::chrono_literals;
  std::string Text(reinterpret_cast<const char *>(Data), Size);
  Expected<RunnerString> R = RunnerString::parse(Text);
  if (!R) {
    mustHold(R.status().code() == StatusCode::InvalidArgument);
    mustHold(!R.status().message().empty());
    return 0;
  }
  mustHold(R->text() == Text);
  Expected<RunnerString> Again = RunnerString::parse(R->text());
  mustHold(Again.ok());
  mustHold(Again->scheme() == R->scheme() && Again->target() == R->target());
  mustHold(Text.compare(0, R->scheme().size() + 1, R->scheme() + ":") == 0);
  mustHold(!R->errorAtScheme("x").ok() && !R->errorAtTarget("x").ok());

  std::vector<std::string> Keys = keysOf(Text);
  for (const std::string &Key : Keys) {
    mustHold(R->has(Key) && Again->has(Key));
    mustHold(R->option(Key) == Again->option(Key));
    mustHold(R->option(Key).find('\0') == std::string::npos);
    mustHold(R->words(Key) == Again->words(Key));
    mustBeSame(R->duration(Key, 1s), Again->duration(Key, 1s));
    mustBeSame(R->byteSize(Key, 1), Again->byteSize(Key, 1));
    mustBeSame(R->choice(Key, {"a", "b"}), Again->choice(Key, {"a", "b"}));
    if (Expected<std::chrono::nanoseconds> D = R->duration(Key, 1s))
      mustHold(*D >= 0s);
    mustHold(!R->errorAt(Key, "x").ok());
  }
  std::vector<std::string_view> Known(Keys.begin(), Keys.end());
  mustHold(R->checkKeys(Known).ok());
  mustHold(R->checkKeys({"no such key"}).ok() == Keys.empty());
  return 0;
}
