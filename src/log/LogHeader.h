//===- LogHeader.h - The first line of a log --------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_LOG_LOGHEADER_H
#define CBRIDGE_LOG_LOGHEADER_H

#include <cbridge/Signature.h>

#include <optional>

namespace cbridge {

/// What the first line of a log says; see docs/formats/log.md.
struct LogHeader {
  /// Features and recorded decision, of which there may be none.
  Signature Sig;
  std::optional<TensorSpec> Advice, Score;

  /// The line for a log of Sig's decisions, with its end.
  static std::string encode(const Signature &Sig);
  static Expected<LogHeader> decode(std::string_view Line);
};

/// Readers take no longer ones.
constexpr size_t MaxLogLine = size_t(16) << 20;

/// Text in quotes, escaped as LLVM does.
void appendLogString(std::string &To, std::string_view Text);

/// How many words stand in front of the tensor's elements: its extents, and the
/// size of strings.
inline size_t shapeWords(const TensorSpec &Spec) {
  return Spec.isFixed() ? 0 : Spec.shape().size() + (Spec.isString() ? 1 : 0);
}

} // namespace cbridge

#endif // CBRIDGE_LOG_LOGHEADER_H
