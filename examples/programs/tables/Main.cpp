//===- Main.cpp - tables: runs statements from stdin ----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Statement.h"

#include <iostream>

using namespace tables;

static bool isBlank(const std::string &Text) {
  return Text.find_first_not_of(" \t\r\n") == std::string::npos;
}

static void run(Database &Data, const std::string &Source) {
  try {
    std::cout << execute(Data, parseStatement(Source));
  } catch (const Error &Wrong) {
    std::cout << "error: " << Wrong.what() << '\n';
  }
  std::cout << '\n';
}

int main() {
  Database Data;
  std::string Pending;
  for (std::string Line; std::getline(std::cin, Line);) {
    if (Line.compare(0, 2, "--") == 0)
      continue;
    Pending += Line + '\n';
    size_t End = Pending.find(';');
    if (End == std::string::npos)
      continue;
    run(Data, Pending.substr(0, End));
    Pending.erase(0, End + 1);
  }
  if (!isBlank(Pending))
    std::cout << "error: the last statement lacks its ';'\n";
  return std::cout.flush() ? 0 : 1;
}
