//===- Main.cpp - The cbridge command -------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"

#include <csignal>
#include <cstdio>

using namespace cbridge;
using namespace cbridge::tool;

namespace {

const Command LogCommands[] = {
    {"show", "print the decisions of a log",
     "usage: cbridge log show [--limit N] FILE|DIR\n\n"
     "Prints the decisions of a log, or of all logs of a directory.\n\n"
     "  --limit N  print at most N decisions\n",
     logShow},
    {"stats", "count and summarize decisions, features and rewards",
     "usage: cbridge log stats [--json] FILE|DIR\n\n"
     "Summarizes a log, or all logs of a directory.\n\n"
     "  --json     print one JSON object\n",
     logStats},
    {"diff", "find the first decision in which two logs differ",
     "usage: cbridge log diff A B\n\n"
     "Compares features and decisions, not rewards, of two logs or directories "
     "of logs, by\ncontext and ordinal. Exit status: 0 if they are the same, 1 "
     "if they differ, 2 if there is\ntrouble.\n",
     logDiff},
};

void print(std::string_view Text) {
  std::fwrite(Text.data(), 1, Text.size(), stdout);
}

bool isHelp(const std::string &Word) {
  return Word == "--help" || Word == "-h";
}

int runLog(Span<const std::string> Arguments);

const Command Commands[] = {
    {"cmake-path", "print where CMake finds the C++ library",
     "usage: cbridge cmake-path\n\n"
     "Prints the folder of the CMake package CompilerBridge, for programs and "
     "passes that use the\nlibrary:\n\n"
     "  cmake -B build -DCompilerBridge_DIR=$(cbridge cmake-path)\n",
     cmakePath},
    {"doctor", "tell what works here, and what is missing",
     "usage: cbridge doctor\n\n"
     "Tries clang, the plugin, the drop-in compiler, the runners, Python and "
     "the models that the\nenvironment names, and tells what to do about what "
     "does not work. Exit status: 0 if a model\ncan decide in clang, 1 if "
     "not.\n",
     doctor},
    {"log", "look at recorded decisions", "", runLog},
    {"new-pass", "write an LLVM pass that asks a model, to begin with",
     "usage: cbridge new-pass [-o FOLDER] NAME\n\n"
     "Writes a small LLVM pass of class NAME that asks a model, and what is "
     "needed to build it,\ninto a new folder NAME. Nothing that exists is "
     "overwritten.\n\n"
     "  -o FOLDER  write it there instead\n",
     newPass},
    {"plugin-path", "print where the plugin for a compiler is",
     "usage: cbridge plugin-path llvm\n\n"
     "Prints the file of the pass plugin, for opt-19 and clang-19:\n\n"
     "  clang-19 -fpass-plugin=$(cbridge plugin-path llvm) ...\n",
     pluginPath},
};

std::string listed(Span<const Command> Of) {
  std::string Text;
  for (const Command &C : Of)
    Text += "  " + std::string(C.Name) +
            std::string(C.Name.size() < 12 ? 12 - C.Name.size() : 1, ' ') +
            std::string(C.Summary) + "\n";
  return Text;
}

std::string names(Span<const Command> Of) {
  std::string Text;
  for (const Command &C : Of)
    Text += (Text.empty() ? "" : ", ") + std::string(C.Name);
  return Text;
}

/// One without a help text has commands of its own, each with its help.
int runCommand(const Command &C, Span<const std::string> Arguments) {
  if (!C.Help.empty())
    for (const std::string &Word : Arguments)
      if (isHelp(Word)) {
        print(C.Help);
        return Success;
      }
  return C.Run(Arguments);
}

int runLog(Span<const std::string> Arguments) {
  if (Arguments.empty() || isHelp(Arguments[0]) || Arguments[0] == "help") {
    print("usage: cbridge log COMMAND\n\n" + listed(LogCommands) +
          "\n'cbridge log COMMAND --help' tells more.\n");
    return Arguments.empty() ? Trouble : Success;
  }
  for (const Command &C : LogCommands)
    if (C.Name == Arguments[0])
      return runCommand(C, Arguments.subspan(1, Arguments.size() - 1));
  return fail("unknown command 'log " + Arguments[0] + "'; there are " +
              names(LogCommands));
}

int run(Span<const std::string> Arguments) {
  if (Arguments.empty() || isHelp(Arguments[0]) || Arguments[0] == "help") {
    print("usage: cbridge COMMAND\n\n" + listed(Commands) +
          pythonCommandHelp() +
          "\n  --version   print the version\n  --help      print this text\n"
          "\n'cbridge COMMAND --help' tells more.\n");
    return Arguments.empty() ? Trouble : Success;
  }
  if (Arguments[0] == "--version") {
    print("cbridge " CBRIDGE_VERSION "\n");
    return Success;
  }
  if (Arguments[0][0] == '-')
    return fail("unknown option '" + Arguments[0] + "'; see --help");
  for (const Command &C : Commands)
    if (C.Name == Arguments[0])
      return runCommand(C, Arguments.subspan(1, Arguments.size() - 1));
  if (int Result = runPythonCommand(Arguments); Result >= 0)
    return Result;
  return fail("unknown command '" + Arguments[0] + "'; see --help");
}

} // namespace

int main(int Count, char **Words) {
  // Python, which may have started us, ignores it: `| head` must end us.
  std::signal(SIGPIPE, SIG_DFL);
  std::vector<std::string> Arguments(Words + 1, Words + Count);
  int Result = run(Arguments);
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    return fail("cannot write to standard output");
  return Result;
}
