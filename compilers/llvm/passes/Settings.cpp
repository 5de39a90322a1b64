//===- Settings.cpp - What users tell the plugin --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Settings.h"

#include <cbridge/PassModel.h>

#include <llvm/Support/CommandLine.h>

namespace cbridge::passes {

namespace {

using Option = llvm::cl::opt<std::string>;

struct Entry {
  const char *Name, *Variable, *Value, *Help;
};
constexpr Entry Entries[] = {
    {"cbridge-inline-model", "CBRIDGE_INLINE_MODEL", "RUNNER",
     "The model that decides on inlining, e.g. native:FILE.so"},
    {"cbridge-inline-features", "CBRIDGE_INLINE_FEATURES", "NAME,...",
     "Features for the inlining model beyond LLVM's 38, or 'all'"},
    {"cbridge-inline-explain", "CBRIDGE_INLINE_EXPLAIN", "N",
     "Remarks name up to N features without which the inlining model would "
     "have decided otherwise"},
};
constexpr size_t Count = std::size(Entries);

/// LLVM ends the process when a name is registered twice, and two copies of
/// this plugin may meet in one compiler: the second takes the first's options.
class Options {
public:
  Options() {
    auto &Registered = llvm::cl::getRegisteredOptions();
    for (size_t I = 0; I < Count; ++I) {
      auto Found = Registered.find(Entries[I].Name);
      // Never freed: LLVM reads its options until the process ends.
      Each[I] = Found != Registered.end()
                    ? static_cast<Option *>(Found->second)
                    : new Option(llvm::StringRef(Entries[I].Name),
                                 llvm::cl::value_desc(Entries[I].Value),
                                 llvm::cl::desc(Entries[I].Help));
    }
  }
  const std::string &operator[](Setting S) const {
    return Each[static_cast<size_t>(S)]->getValue();
  }

private:
  Option *Each[Count];
};

// Before any code of ours runs, so that the command line can name them.
const Options Given;

} // namespace

std::string valueOf(Setting S) {
  if (isDisabled())
    return "";
  if (!Given[S].empty())
    return Given[S];
  const char *Value = std::getenv(Entries[static_cast<size_t>(S)].Variable);
  return Value ? Value : "";
}

} // namespace cbridge::passes
