//===- LogShow.cpp - cbridge log show -------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"

#include "log/TensorText.h"

#include <cbridge/Number.h>
#include <cbridge/TrainingLog.h>

#include <cstdio>

namespace cbridge::tool {

namespace {

void print(const LogRecord &R) {
  std::printf("context '%.*s', decision %llu\n", int(R.Context.size()),
              R.Context.data(), static_cast<unsigned long long>(R.Ordinal));
  auto Print = [](const char *Mark, const TensorView &V) {
    std::printf("  %s%s = %s\n", Mark, V.Spec->name().c_str(),
                tensorText(V).c_str());
  };
  for (const TensorView &V : R.Features)
    Print("", V);
  for (const TensorView &V : R.Decision)
    Print("-> ", V);
  if (R.Reward)
    std::printf("  reward %s\n", Number(*R.Reward).toString().c_str());
}

int show(const std::string &Path, uint64_t &Left) {
  Expected<LogReader> Log = LogReader::open(Path);
  if (!Log && Log.status().code() == StatusCode::Unavailable) {
    std::printf("%s\n", Log.status().message().c_str());
    return Success;
  }
  if (!Log)
    return fail(Log.status());
  for (; Left; --Left) {
    Expected<const LogRecord *> R = Log->next();
    if (!R)
      return fail(R.status());
    if (!*R)
      break;
    print(**R);
  }
  if (Log->cut())
    std::printf("%s was cut off here\n", Path.c_str());
  return Success;
}

} // namespace

int logShow(Span<const std::string> Given) {
  Expected<Arguments> Parsed = Arguments::parse(Given, {{"--limit", true}});
  if (!Parsed)
    return fail(Parsed.status());
  Expected<uint64_t> Limit = Parsed->count("--limit", UINT64_MAX);
  if (!Limit)
    return fail(Limit.status());
  if (Parsed->Words.size() != 1)
    return fail("log show takes one log or directory");
  Expected<std::vector<std::string>> Logs = findLogs(Parsed->Words[0]);
  if (!Logs)
    return fail(Logs.status());
  if (Logs->empty())
    return fail(Parsed->Words[0] + ": no file in it ends in .log");
  uint64_t Left = *Limit;
  for (const std::string &Path : *Logs) {
    if (!Left)
      break;
    if (Logs->size() > 1)
      std::printf("%s\n", Path.c_str());
    if (int Result = show(Path, Left))
      return Result;
  }
  return Success;
}

} // namespace cbridge::tool
