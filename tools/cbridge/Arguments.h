//===- Arguments.h - The words of a command line ----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_ARGUMENTS_H
#define CBRIDGE_TOOLS_CBRIDGE_ARGUMENTS_H

#include <cbridge/Expected.h>
#include <cbridge/Span.h>

#include <map>
#include <string>
#include <vector>

namespace cbridge::tool {

/// Exit statuses, as those of diff(1).
enum { Success = 0, Different = 1, Trouble = 2 };

struct Option {
  std::string_view Name; ///< "--limit"
  bool TakesValue;
};

/// The words of a command line, with its options taken out.
struct Arguments {
  std::vector<std::string> Words;
  std::map<std::string, std::string, std::less<>> Options;

  /// Refuses options that are not in Known. `--` ends them.
  static Expected<Arguments> parse(Span<const std::string> Given,
                                   Span<const Option> Known);
  bool has(std::string_view Name) const {
    return Options.find(Name) != Options.end();
  }
  /// The value as a count.
  Expected<uint64_t> count(std::string_view Name, uint64_t Default) const;
};

/// Prints `cbridge: why` to standard error; gives Trouble.
int fail(const std::string &Why);
inline int fail(const Status &S) { return fail(S.message()); }

/// A command, its help, and what it does with the words behind its name.
struct Command {
  std::string_view Name, Summary, Help;
  int (*Run)(Span<const std::string> Arguments);
};

int doctor(Span<const std::string> Arguments);
int logShow(Span<const std::string> Arguments);
int logStats(Span<const std::string> Arguments);
int logDiff(Span<const std::string> Arguments);
int newPass(Span<const std::string> Arguments);
int cmakePath(Span<const std::string> Arguments);
int pluginPath(Span<const std::string> Arguments);

/// Runs `python -m compiler_bridge` with these arguments, if Arguments[0] is a
/// command that is written in Python; -1 if it is not.
int runPythonCommand(Span<const std::string> Arguments);
/// A line of help for each of them.
std::string pythonCommandHelp();

} // namespace cbridge::tool

#endif // CBRIDGE_TOOLS_CBRIDGE_ARGUMENTS_H
