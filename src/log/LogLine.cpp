//===- LogLine.cpp - A line between the tensors of a log ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "log/LogLine.h"

#include "core/Json.h"

namespace cbridge {

Expected<LogLine> LogLine::decode(std::string_view Line, std::string &Context) {
  LogLine Said;
  JsonReader Reader(Line);
  bool Read = Reader.object([&](std::string_view Key) {
    if (Key == "context") {
      Said.NamesContext = true;
      return Reader.string(Context);
    }
    if (Key == "observation")
      return Reader.number(Said.Observation.emplace());
    if (Key == "outcome")
      return Reader.number(Said.Outcome.emplace());
    return Reader.skipValue();
  });
  if (!Read || !Reader.atEnd())
    return Reader.status();
  return Said;
}

} // namespace cbridge
