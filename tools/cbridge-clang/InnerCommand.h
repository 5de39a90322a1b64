//===- InnerCommand.h - What clang would run to make an object --*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_INNERCOMMAND_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_INNERCOMMAND_H

#include <optional>
#include <string>
#include <vector>

namespace cbridge::driver {

/// The command by which clang makes one object of one source, with inlining,
/// as clang itself tells it: whatever options, response and configuration files
/// and the environment say is settled in it.
struct InnerCommand {
  /// With the program.
  std::vector<std::string> Words;
  std::string Object;
  /// What clang had to say about its own command line.
  std::string Warnings;

  /// Told is what clang prints for -###. Nothing if it would run something
  /// else, or write files other than the object and that for make, of which
  /// each run would have its own.
  static std::optional<InnerCommand> of(const std::string &Told);
  /// The same for a command that is there already, with the program.
  static std::optional<InnerCommand> of(std::vector<std::string> Argv);
  /// Asks clang; nothing also if it fails. Argv is with its path.
  static std::optional<InnerCommand> ask(const std::vector<std::string> &Argv);

  /// The same command with another name for the object.
  std::vector<std::string> plain(const std::string &NewObject) const;
  /// With more options, and without the file for make.
  std::vector<std::string>
  withOptions(const std::string &NewObject,
              const std::vector<std::string> &More) const;
};

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_INNERCOMMAND_H
