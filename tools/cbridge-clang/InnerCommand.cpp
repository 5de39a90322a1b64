//===- InnerCommand.cpp - What clang would run to make an object ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InnerCommand.h"

#include "ResponseFile.h"
#include "Spool.h"

#include "shared/Capture.h"

#include <algorithm>
#include <string_view>

namespace cbridge::driver {

namespace {

constexpr std::chrono::minutes Patience(1);
constexpr std::string_view DependencyFile = "-dependency-file";

bool startsWith(std::string_view Text, std::string_view Start) {
  return Text.substr(0, Start.size()) == Start;
}

bool has(std::string_view Text, std::string_view Part) {
  return Text.find(Part) != Text.npos;
}

/// What -### prints about clang itself.
bool isAboutClang(std::string_view Line) {
  for (std::string_view Start :
       {"Target: ", "Thread model: ", "InstalledDir: ", "Build config: ",
        "Configuration file: ", "System configuration file directory: ",
        "User configuration file directory: ", " (in-process)"})
    if (startsWith(Line, Start))
      return true;
  return has(Line, "clang version ");
}

/// False of a part of a command: names may have newlines in them, and what is
/// behind such a one may look like anything.
bool endsItsQuotes(std::string_view Line) {
  bool Quoted = false;
  for (size_t I = 0; I < Line.size(); ++I)
    if (Line[I] == '\\')
      ++I;
    else
      Quoted ^= Line[I] == '"';
  return !Quoted;
}

/// Options by which other files than the object are written, or things are in
/// it that are not of one run alone. Those that name a file for all runs to
/// read are none.
bool hasOtherEffects(std::string_view Word) {
  static constexpr std::string_view Starts[] = {
      "-add-plugin",
      "-as-secure-log-file",
      "-coverage-notes-file",
      "-dependency-dot",
      "-diagnostic-log-file",
      "-dwarf-debug-flags", // has our -### in it
      "-emit-symbol-graph",
      "-fembed-bitcode",
      "-flto", // with -ffat-lto-objects
      "-fmodule-output",
      "-fpass-plugin=",
      "-ftime-trace",
      "-header-include-file",
      "-load",
      "-module-dependency-dir",
      "-opt-record-file",
      "-plugin",
      "-record-command-line", // the same
      "-serialize-diagnostic-file",
      "-split-dwarf-file",
      "-split-dwarf-output",
      "-stack-usage-file",
      "-stats-file",
      "-working-directory", // names would be others
  };
  return std::any_of(std::begin(Starts), std::end(Starts),
                     [&](auto Start) { return startsWith(Word, Start); });
}

/// The same of options of LLVM; rather too many of them.
bool mayWriteFiles(std::string_view LlvmOption) {
  for (std::string_view Part : {"file", "output", "-log", "channel", "dump"})
    if (has(LlvmOption, Part))
      return true;
  return false;
}

bool inlines(const std::vector<std::string> &Words) {
  bool Optimizes = false, Inlines = true;
  for (const std::string &Word : Words) {
    if (startsWith(Word, "-O"))
      Optimizes = Word != "-O0";
    Inlines &= Word != "-fno-inline" && Word != "-fno-inline-functions";
  }
  return Optimizes && Inlines;
}

/// What is written to these is held back, and only that of one run is shown.
bool isStandardFile(std::string_view File) {
  return File == "-" || startsWith(File, "/dev/") || startsWith(File, "/proc/");
}

/// Where the value of an option is that is there once, or not at all: 0.
std::optional<size_t> valueOf(const std::vector<std::string> &Words,
                              std::string_view Option) {
  size_t At = 0;
  for (size_t I = 0; I < Words.size(); ++I)
    if (Words[I] == Option) {
      if (At != 0 || I + 1 == Words.size())
        return std::nullopt;
      At = I + 1;
    }
  return At;
}

} // namespace

std::optional<InnerCommand> InnerCommand::of(const std::string &Told) {
  InnerCommand Command;
  for (size_t At = 0; At < Told.size();) {
    size_t End = Told.find('\n', At);
    if (End == Told.npos)
      return std::nullopt; // cut off
    std::string Line = Told.substr(At, End - At);
    At = End + 1;
    if (startsWith(Line, " \"")) {
      if (!Command.Words.empty() || !endsItsQuotes(Line))
        return std::nullopt;
      Command.Words = splitWords(Line);
    } else if (has(Line, "warning: ") || has(Line, "note: ")) {
      Command.Warnings += Line + "\n";
    } else if (!isAboutClang(Line)) {
      return std::nullopt;
    }
  }
  std::optional<InnerCommand> Checked = of(std::move(Command.Words));
  if (Checked)
    Checked->Warnings = std::move(Command.Warnings);
  return Checked;
}

std::optional<InnerCommand> InnerCommand::of(std::vector<std::string> Argv) {
  InnerCommand Command;
  Command.Words = std::move(Argv);
  const std::vector<std::string> &Words = Command.Words;
  if (Words.size() < 3 || Words[1] != "-cc1" || Words.back() == "-" ||
      std::find(Words.begin(), Words.end(), "-emit-obj") == Words.end() ||
      !inlines(Words))
    return std::nullopt;
  for (size_t I = 2; I < Words.size(); ++I)
    if (hasOtherEffects(Words[I]) ||
        (Words[I - 1] == "-mllvm" && mayWriteFiles(Words[I])))
      return std::nullopt;
  std::optional<size_t> Object = valueOf(Words, "-o"),
                        ForMake = valueOf(Words, DependencyFile);
  if (!Object || *Object == 0 || Words[*Object] == "-" || !ForMake ||
      (*ForMake != 0 && isStandardFile(Words[*ForMake])))
    return std::nullopt;
  Command.Object = Words[*Object];
  return Command;
}

std::optional<InnerCommand>
InnerCommand::ask(const std::vector<std::string> &Argv) {
  std::vector<std::string> Question = Argv;
  Question.insert(Question.begin() + 1, "-###");
  if (wantsColour())
    Question.insert(Question.begin() + 1, "-fcolor-diagnostics");
  Expected<tool::Captured> Told =
      tool::capture(std::move(Question), {}, Deadline::in(Patience));
  if (!Told || Told->ExitStatus != 0)
    return std::nullopt;
  return of(Told->Output);
}

std::vector<std::string>
InnerCommand::plain(const std::string &NewObject) const {
  std::vector<std::string> Argv = Words;
  Argv[*valueOf(Argv, "-o")] = NewObject;
  return Argv;
}

std::vector<std::string>
InnerCommand::withOptions(const std::string &NewObject,
                          const std::vector<std::string> &More) const {
  std::vector<std::string> Argv = plain(NewObject);
  if (size_t At = *valueOf(Argv, DependencyFile))
    Argv.erase(Argv.begin() + ptrdiff_t(At) - 1,
               Argv.begin() + ptrdiff_t(At) + 1);
  Argv.insert(Argv.begin() + 2, More.begin(), More.end());
  return Argv;
}

} // namespace cbridge::driver
