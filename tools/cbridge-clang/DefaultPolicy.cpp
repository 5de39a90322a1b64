//===- DefaultPolicy.cpp - The model that nobody has named ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DefaultPolicy.h"

#include "os/ReadFile.h"
#include "shared/Capture.h"
#include "shared/PluginPath.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include <dirent.h>
#include <elf.h>

namespace cbridge::driver {

namespace {

/// What a plugin with the policy exports, and the end of a name before it.
constexpr std::string_view Symbol("\0cbridge_policy_InlineOz\0", 25);
constexpr size_t MaxSize = size_t(1) << 30;
constexpr std::chrono::seconds Patience(60);

template <typename T> std::optional<T> readAt(Bytes Elf, uint64_t Offset) {
  T Value;
  if (Elf.size() < sizeof(T) || Offset > Elf.size() - sizeof(T))
    return std::nullopt;
  std::memcpy(&Value, Elf.data() + Offset, sizeof(T));
  return Value;
}

/// The names in the dynamic symbol table of an ELF file of this machine; empty
/// if there is none.
std::string_view exportedNames(Bytes Elf) {
  auto H = readAt<Elf64_Ehdr>(Elf, 0);
  if (!H || std::memcmp(H->e_ident, ELFMAG, SELFMAG) != 0 ||
      H->e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  auto Section = [&](size_t I) {
    return readAt<Elf64_Shdr>(Elf, H->e_shoff + I * sizeof(Elf64_Shdr));
  };
  for (size_t I = 0; I < H->e_shnum; ++I) {
    std::optional<Elf64_Shdr> Table = Section(I);
    if (!Table || Table->sh_type != SHT_DYNSYM)
      continue;
    std::optional<Elf64_Shdr> Names = Section(Table->sh_link);
    if (!Names || Names->sh_offset > Elf.size() ||
        Names->sh_size > Elf.size() - Names->sh_offset)
      return {};
    return {reinterpret_cast<const char *>(Elf.data()) + Names->sh_offset,
            Names->sh_size};
  }
  return {};
}

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

} // namespace

bool hasDefaultPolicy(Bytes Plugin) {
  return exportedNames(Plugin).find(Symbol) != std::string_view::npos;
}

bool hasDefaultPolicy() {
  Expected<std::string> Path = tool::findLlvmPlugin();
  if (!Path)
    return false;
  Expected<os::FileContent> Content = os::readFile(*Path, MaxSize);
  return Content && hasDefaultPolicy(Content->bytes());
}

bool optimizesForSize(const ClangCall &Call,
                      const std::vector<std::string> &Argv) {
  if (Call.OptimizesForSize || !Call.HasNoLevel)
    return Call.OptimizesForSize;
  if (!Call.NamesConfiguration && !hasConfiguration(Argv[0]))
    return false;
  std::vector<std::string> Question = Argv;
  Question.insert(Question.begin() + 1, "-###");
  Expected<tool::Captured> Told =
      tool::capture(std::move(Question), {}, Deadline::in(Patience));
  if (!Told || Told->ExitStatus != 0)
    return false;
  // Its inner command, of which the last level counts.
  std::string_view Text = Told->Output, Option = "\"-O";
  size_t At = Text.rfind(Option);
  if (At == Text.npos || Text.find("\"-flto") != Text.npos)
    return false;
  std::string_view Level = Text.substr(At + Option.size(), 2);
  return Level == "s\"" || Level == "z\"";
}

} // namespace cbridge::driver
