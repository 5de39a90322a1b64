//===- PythonCommands.cpp - Commands that are written in Python -----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

namespace cbridge::tool {

namespace {

struct PythonCommand {
  std::string_view Name, Summary;
};

/// One line per command of `python -m compiler_bridge`.
const std::vector<PythonCommand> PythonCommands = {
    {"compile", "turn an ONNX model into C++"},
    {"corpus", "make and use corpora of modules"},
    {"inspect", "show what is in an ONNX model"},
    {"new-model", "write a random ONNX model for a signature"},
    {"score", "compare what policies make of a corpus"},
    {"search", "look for the best decisions of each module"},
    {"train", "train a policy on a corpus"},
    {"verify", "compare what engines make of an ONNX model"},
};

/// Whether the interpreter has the package; tells if it does not.
bool hasPackage(const char *Python) {
  std::fflush(nullptr);
  pid_t Child = ::fork();
  if (Child == 0) {
    ::execlp(Python, Python, "-c",
             "import importlib.util as u, sys; "
             "sys.exit(not u.find_spec('compiler_bridge'))",
             nullptr);
    ::_exit(errno == ENOENT ? 127 : 126);
  }
  int Status = 0;
  while (Child > 0 && ::waitpid(Child, &Status, 0) < 0 && errno == EINTR)
    continue;
  int Code = Child > 0 && WIFEXITED(Status) ? WEXITSTATUS(Status) : 126;
  std::string Name = "'" + std::string(Python) + "'";
  if (Code == 127)
    fail("there is no interpreter " + Name + "; name one in CBRIDGE_PYTHON");
  else if (Code == 126)
    fail("cannot run " + Name);
  else if (Code)
    fail(Name + " has no package compiler_bridge; install it with '" +
         std::string(Python) +
         " -m pip install .' in the sources of CompilerBridge, or name another "
         "interpreter in CBRIDGE_PYTHON");
  return Code == 0;
}

} // namespace

std::string pythonCommandHelp() {
  std::string Text;
  for (const PythonCommand &C : PythonCommands)
    Text += "  " + std::string(C.Name) +
            std::string(C.Name.size() < 12 ? 12 - C.Name.size() : 1, ' ') +
            std::string(C.Summary) + "\n";
  return Text;
}

int runPythonCommand(Span<const std::string> Arguments) {
  bool Known = false;
  for (const PythonCommand &C : PythonCommands)
    Known |= C.Name == Arguments[0];
  if (!Known)
    return -1;
  const char *Chosen = std::getenv("CBRIDGE_PYTHON");
  const char *Python = Chosen && *Chosen ? Chosen : "python3";
  if (!hasPackage(Python))
    return Trouble;
  std::vector<std::string> Words = {Python, "-m", "compiler_bridge"};
  Words.insert(Words.end(), Arguments.begin(), Arguments.end());
  std::vector<char *> Argv;
  for (std::string &Word : Words)
    Argv.push_back(Word.data());
  Argv.push_back(nullptr);
  ::execvp(Python, Argv.data());
  return fail("cannot run '" + std::string(Python) +
              "': " + std::strerror(errno));
}

} // namespace cbridge::tool
