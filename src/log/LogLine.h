//===- LogLine.h - A line between the tensors of a log ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_LOG_LOGLINE_H
#define CBRIDGE_LOG_LOGLINE_H

#include <cbridge/Expected.h>

#include <optional>
#include <string>
#include <string_view>

namespace cbridge {

/// What a line between the tensors of a log says; see docs/formats/log.md.
struct LogLine {
  bool NamesContext = false;
  /// The number behind "observation", "outcome".
  std::optional<uint64_t> Observation, Outcome;

  /// Context is replaced if the line names one.
  static Expected<LogLine> decode(std::string_view Line, std::string &Context);
};

} // namespace cbridge

#endif // CBRIDGE_LOG_LOGLINE_H
