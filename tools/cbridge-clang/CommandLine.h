//===- CommandLine.h - What is ours of a command line -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_COMMANDLINE_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_COMMANDLINE_H

#include <cbridge/Expected.h>
#include <cbridge/Span.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace cbridge::driver {

/// The decisions that a model can take.
enum class Kind { Inline, Evict, Priority };

struct KindInfo {
  Kind K;
  const char *Name;     ///< of the option: --cbridge-NAME=
  const char *Variable; ///< of the environment
};
constexpr std::array<KindInfo, 3> Kinds = {{
    {Kind::Inline, "inline", "CBRIDGE_INLINE_MODEL"},
    {Kind::Evict, "evict", "CBRIDGE_EVICT_MODEL"},
    {Kind::Priority, "priority", "CBRIDGE_PRIORITY_MODEL"},
}};

/// How many ways one source may be compiled.
constexpr unsigned MaxBudget = 64;

/// A command line, with what is ours taken out.
struct CommandLine {
  bool IsCxx = false;
  bool WantsHelp = false, WantsVersion = false;
  bool Disabled = false; ///< CBRIDGE_DISABLE: plain clang
  /// How many ways a source is compiled, to keep the smallest object.
  unsigned Budget = 1;
  /// For clang, without the program's name.
  std::vector<std::string> Arguments;
  /// The same with the words of response files in their place.
  std::vector<std::string> Words;

  /// Refuses options that only look like ours.
  static Expected<CommandLine> parse(Span<char *const> Argv);

  /// The runner string for a kind of decision; empty: LLVM's own heuristic.
  const std::string &model(Kind K) const { return Models[size_t(K)]; }
  void dropModel(Kind K) { Models[size_t(K)].clear(); }
  void setModel(Kind K, std::string Runner) {
    Models[size_t(K)] = std::move(Runner);
    Told[size_t(K)] = true;
  }
  /// Whether users have said which model decides, be it none.
  bool isTold(Kind K) const { return Told[size_t(K)]; }
  /// Has a policy inline that users have not named.
  void useDefault(std::string Policy) {
    Models[size_t(Kind::Inline)] = std::move(Policy);
  }
  /// Whether an option has told the budget.
  bool hasToldBudget() const { return ToldBudget; }

private:
  Status takeOption(const std::string &Word);
  Status takeVariables();
  std::array<std::string, 3> Models;
  std::array<bool, 3> Told = {};
  bool ToldBudget = false;
};

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_COMMANDLINE_H
