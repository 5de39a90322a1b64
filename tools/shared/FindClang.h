//===- FindClang.h - The clang that does the work ---------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_SHARED_FINDCLANG_H
#define CBRIDGE_TOOLS_SHARED_FINDCLANG_H

#include <cbridge/Expected.h>

#include <string>
#include <vector>

namespace cbridge::tool {

struct Clang {
  std::string Path;
  /// In front of all others: makes it a compiler of the wanted language.
  std::vector<std::string> Arguments;

  /// Plugins, and options of LLVM itself, are of one version. Asks clang, if
  /// its name does not tell.
  bool isVersion19() const;
};

/// CBRIDGE_CLANG, or clang-19 (clang++-19) in PATH or where Debian has it.
/// Never this program.
Expected<Clang> findClang(bool IsCxx);

} // namespace cbridge::tool

#endif // CBRIDGE_TOOLS_SHARED_FINDCLANG_H
