//===- ClangCall.h - What clang is asked to do ------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_CLANGCALL_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_CLANGCALL_H

#include <string>
#include <vector>

namespace cbridge::driver {

/// What clang is asked to do, as far as it matters here. In doubt it compiles:
/// a model that is never asked does no harm.
struct ClangCall {
  /// Compiles with optimization, be it to bitcode: functions are inlined.
  bool Optimizes = false;
  /// Some register allocation by the greedy allocator: not with -O0, not with
  /// -flto, which allocates when it links.
  bool AllocatesRegisters = false;
  /// Compiles for small code (-Os, -Oz), and inlines in this call all that will
  /// be: not with -flto.
  bool OptimizesForSize = false;
  /// Names no level of optimization for a compile without -flto: a
  /// configuration file may.
  bool HasNoLevel = false;
  /// Says where configuration files are.
  bool NamesConfiguration = false;
  /// Makes objects (-c) by inner commands that have all effects of the call.
  bool OnlyMakesObjects = false;
  /// A link by lld that optimizes across files.
  bool LinksLtoByLld = false;
  bool ReadsStdin = false;
  /// What may be files that are read or written: inputs, and the values of all
  /// options.
  std::vector<std::string> Files;
  /// clang's inner commands, whose options are others.
  bool IsInner = false;
  /// The advisors of register allocation are chosen by the user: an option of
  /// LLVM may be given once only.
  bool ChoosesEviction = false, ChoosesPriority = false;
  /// -fembed-bitcode, with which clang takes no option of LLVM.
  bool EmbedsBitcode = false;

  /// Words as clang gets them, with those of response files; configuration
  /// files are not read.
  static ClangCall of(const std::vector<std::string> &Words);
};

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_CLANGCALL_H
