//===- Arguments.cpp - The words of a command line ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"

#include <charconv>
#include <cstdio>

namespace cbridge::tool {

static Status wrong(const std::string &Why) {
  return Status::error(StatusCode::InvalidArgument, Why);
}

Expected<Arguments> Arguments::parse(Span<const std::string> Given,
                                     Span<const Option> Known) {
  Arguments Parsed;
  bool OptionsEnded = false;
  for (size_t I = 0; I < Given.size(); ++I) {
    const std::string &Word = Given[I];
    if (OptionsEnded || Word.size() < 2 || Word[0] != '-') {
      Parsed.Words.push_back(Word);
      continue;
    }
    if (Word == "--") {
      OptionsEnded = true;
      continue;
    }
    size_t Equals = Word.find('=');
    std::string Name = Word.substr(0, Equals);
    const Option *Found = nullptr;
    for (const Option &Each : Known)
      if (Each.Name == Name)
        Found = &Each;
    if (!Found)
      return wrong("unknown option '" + Name + "'; see --help");
    std::string Value;
    if (Equals != std::string::npos && !Found->TakesValue)
      return wrong("option '" + Name + "' takes no value");
    if (Equals != std::string::npos)
      Value = Word.substr(Equals + 1);
    else if (Found->TakesValue && ++I == Given.size())
      return wrong("option '" + Name + "' needs a value");
    else if (Found->TakesValue)
      Value = Given[I];
    Parsed.Options[Name] = Value;
  }
  return Parsed;
}

Expected<uint64_t> Arguments::count(std::string_view Name,
                                    uint64_t Default) const {
  auto Found = Options.find(Name);
  if (Found == Options.end())
    return Default;
  const std::string &Text = Found->second;
  uint64_t Value = 0;
  auto [Rest, Error] =
      std::from_chars(Text.data(), Text.data() + Text.size(), Value);
  if (Error != std::errc() || Rest != Text.data() + Text.size())
    return wrong("option '" + std::string(Name) + "': '" + Text +
                 "' is no number");
  return Value;
}

int fail(const std::string &Why) {
  std::fprintf(stderr, "cbridge: %s\n", Why.c_str());
  return Trouble;
}

} // namespace cbridge::tool
