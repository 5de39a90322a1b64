//===- DefaultPolicy.cpp - The model that nobody has named ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DefaultPolicy.h"

#include "ElfSections.h"

#include "os/ReadFile.h"
#include "shared/Capture.h"
#include "shared/PluginPath.h"

#include <cstdlib>
#include <memory>
#include <string_view>

#include <dirent.h>

namespace cbridge::driver {

namespace {

/// What a plugin with the policy exports, and the end of a name before it.
constexpr std::string_view Symbol("\0cbridge_policy_InlineOz\0", 25);
constexpr size_t MaxSize = size_t(1) << 30;
constexpr std::chrono::seconds Patience(60);

/// Whether there are configuration files beside clang, which it reads without
/// being told.
bool hasConfiguration(const std::string &Clang) {
  std::unique_ptr<char, void (*)(void *)> Real(
      ::realpath(Clang.c_str(), nullptr), std::free);
  std::string Folder = Real ? Real.get() : "";
  Folder.resize(Folder.rfind('/') + 1);
  std::unique_ptr<DIR, int (*)(DIR *)> Open(::opendir(Folder.c_str()),
                                            ::closedir);
  while (const dirent *Each = Open ? ::readdir(Open.get()) : nullptr) {
    std::string_view Name = Each->d_name, End = ".cfg";
    if (Name.size() > End.size() &&
        Name.substr(Name.size() - End.size()) == End)
      return true;
  }
  return false;
}

/// Whether the environment changes the options that clang is given.
bool hasOverrides() {
  const char *Told = std::getenv("CCC_OVERRIDE_OPTIONS");
  return Told && *Told;
}

} // namespace

bool hasDefaultPolicy(Bytes Plugin) {
  bool Has = false;
  Status S = withSections(Plugin, [&](const auto &Found) {
    Has = Found.exportedNames().find(Symbol) != std::string_view::npos;
    return Status();
  });
  return S.ok() && Has;
}

bool hasDefaultPolicy() {
  Expected<std::string> Path = tool::findLlvmPlugin();
  if (!Path)
    return false;
  Expected<os::FileContent> Content = os::readFile(*Path, MaxSize);
  return Content && hasDefaultPolicy(Content->bytes());
}

bool innerCommandOptimizesForSize(std::string_view Told) {
  size_t At = Told.find("\"-cc1\"");
  if (At == Told.npos)
    return false;
  // Linkers have levels, too.
  std::string_view Inner = Told.substr(At, Told.find('\n', At) - At);
  constexpr std::string_view Option = "\"-O";
  size_t Last = Inner.rfind(Option);
  if (Last == Inner.npos || Inner.find("\"-flto") != Inner.npos)
    return false;
  std::string_view Level = Inner.substr(Last + Option.size(), 2);
  return Level == "s\"" || Level == "z\"";
}

bool optimizesForSize(const ClangCall &Call,
                      const std::vector<std::string> &Argv) {
  const bool Overridden = hasOverrides();
  if (!Call.OptimizesForSize && !Call.HasNoLevel &&
      !(Overridden && Call.Optimizes))
    return false;
  if (!Overridden && !Call.NamesConfiguration && !hasConfiguration(Argv[0]))
    return Call.OptimizesForSize;
  std::vector<std::string> Question = Argv;
  Question.insert(Question.begin() + 1, "-###");
  Expected<tool::Captured> Told =
      tool::capture(std::move(Question), {}, Deadline::in(Patience));
  return Told && Told->ExitStatus == 0 &&
         innerCommandOptimizesForSize(Told->Output);
}

} // namespace cbridge::driver
