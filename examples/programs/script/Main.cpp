//===- Main.cpp - script FILE: runs a script ------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Parser.h"
#include "Scope.h"

#include <fstream>
#include <iostream>
#include <sstream>

using namespace script;

static std::string readFile(const char *Name) {
  std::ifstream File(Name);
  if (!File)
    throw std::runtime_error(std::string("cannot read ") + Name);
  std::ostringstream Text;
  Text << File.rdbuf();
  return Text.str();
}

static void runScript(const std::string &Source) {
  Block Program = parse(Source); // outlives the functions made from it
  Heap Scopes;
  Scope &Globals = Scopes.make(nullptr);
  defineBuiltins(Globals);
  Value Result;
  runBlock(Program, Globals, Result);
}

int main(int Argc, char **Argv) {
  if (Argc != 2) {
    std::cerr << "usage: script FILE\n";
    return 2;
  }
  try {
    runScript(readFile(Argv[1]));
  } catch (const std::exception &Failure) {
    std::cout << std::flush;
    std::cerr << "script: " << Failure.what() << '\n';
    return 1;
  }
  std::cout << std::flush;
  return std::cout ? 0 : 1;
}
