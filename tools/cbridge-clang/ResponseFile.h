//===- ResponseFile.h - Arguments that are in files -------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_RESPONSEFILE_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_RESPONSEFILE_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cbridge::driver {

/// The words of a response file, split as clang does it.
std::vector<std::string> splitWords(const std::string &Text);

/// What is left of a response file.
struct ResponseFile {
  /// All that clang will see of it, with files in it replaced by their words.
  std::vector<std::string> Words;
  /// What clang is to be given: "@FILE" as it was, or a copy in memory without
  /// the words that were ours.
  std::string Argument;
};

/// Reads the file that Argument ("@FILE") names. IsOurs takes a word out.
/// Nothing if there is no such file: clang takes it for an input then.
std::optional<ResponseFile>
readResponseFile(const std::string &Argument,
                 const std::function<bool(const std::string &)> &IsOurs);

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_RESPONSEFILE_H
