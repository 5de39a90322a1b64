//===- Main.cpp - query FILE: asks a document on stdin --------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Filter.h"

#include <fstream>
#include <iostream>
#include <iterator>

using namespace query;

/// Runs one query and prints its results, or what is wrong with it.
static bool answer(const std::string &Query, const Json &Document) {
  bool Indented = Query[0] == '+';
  std::cout << "> " << Query << '\n';
  try {
    Filter Run = parseFilter(std::string_view(Query).substr(Indented));
    Run(Document,
        [&](const Json &Result) { std::cout << Result.str(Indented) << '\n'; });
  } catch (const Error &Wrong) {
    std::cout << "error: " << Wrong.what() << '\n';
    return false;
  }
  return true;
}

int main(int Argc, char **Argv) {
  std::ifstream Queries(Argc == 2 ? Argv[1] : "");
  if (!Queries) {
    std::cerr << "usage: query FILE < DOCUMENT, where FILE has a query per "
                 "line, with a + if its results are to be indented\n";
    return 2;
  }
  std::string Text{std::istreambuf_iterator<char>(std::cin),
                   std::istreambuf_iterator<char>()};
  size_t Asked = 0, Answered = 0;
  try {
    Json Document = Json::parse(Text);
    for (std::string Query; std::getline(Queries, Query);) {
      if (Query.empty() || Query[0] == '#')
        continue;
      ++Asked;
      Answered += answer(Query, Document);
    }
  } catch (const Error &Wrong) {
    std::cerr << "query: " << Wrong.what() << '\n';
    return 1;
  }
  std::cout << Asked << " queries, " << Answered << " answered\n";
  return std::cout.flush() ? 0 : 1;
}
