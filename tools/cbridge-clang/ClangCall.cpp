//===- ClangCall.cpp - What clang is asked to do --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ClangCall.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace cbridge::driver {

namespace {

bool startsWith(std::string_view Text, std::string_view Start) {
  return Text.substr(0, Start.size()) == Start;
}

bool endsWith(std::string_view Text, std::string_view End) {
  return Text.size() >= End.size() &&
         Text.substr(Text.size() - End.size()) == End;
}

template <size_t N>
bool isOneOf(std::string_view Word, const std::string_view (&Of)[N]) {
  return std::find(std::begin(Of), std::end(Of), Word) != std::end(Of);
}

/// Options after which clang allocates no registers.
bool stopsEarly(std::string_view Word) {
  static constexpr std::string_view Whole[] = {
      "-E",
      "-M",
      "-MM",
      "-###",
      "-fsyntax-only",
      "--analyze",
      "-emit-ast",
      "--precompile",
      "--version",
      "-dumpversion",
      "-dumpmachine",
      "--help",
      "-help",
      "--help-hidden",
      "-verify-pch",
      "-module-file-info",
  };
  return isOneOf(Word, Whole) || startsWith(Word, "-print-") ||
         startsWith(Word, "--print-") || startsWith(Word, "--autocomplete=");
}

/// What an option says about optimization: "" is -O.
std::optional<std::string_view> levelOf(std::string_view Word) {
  if (startsWith(Word, "-ObjC")) // and -ObjC++: languages
    return std::nullopt;
  for (std::string_view Option : {"-O", "--optimize=", "--optimize"})
    if (startsWith(Word, Option))
      return Word.substr(Option.size());
  return std::nullopt;
}

/// What clang's outer half does by itself.
bool isOfOuterHalf(std::string_view Word) {
  for (std::string_view Start :
       {"-MJ", "-gen-cdb-fragment-path", "-fproc-stat-report",
        "-gen-reproducer", "-fdriver-only"})
    if (startsWith(Word, Start))
      return true;
  return Word == "-v";
}

bool isWordOf(std::string_view Word, std::string_view List) {
  return List.find(" " + std::string(Word) + " ") != List.npos;
}

/// How many words behind an option are its values, as clang 19 has it.
size_t valuesAfter(std::string_view Option) {
  static constexpr std::string_view One =
      " --CLASSPATH --analyzer-output --assert --bootclasspath --classpath"
      " --config --define-macro --dyld-prefix --encoding --extdirs --for-linker"
      " --force-link --imacros --include --include-directory"
      " --include-directory-after --include-prefix --include-with-prefix"
      " --include-with-prefix-after --include-with-prefix-before --language"
      " --library-directory --mhwdiv --no-system-header-prefix --output"
      " --output-class-directory --param --prefix --print-file-name"
      " --print-prog-name --resource --rtlib --serialize-diagnostics --std"
      " --stdlib --sysroot --system-header-prefix --undefine-macro --vfsoverlay"
      " -A -B -D -F -G -I -L -MF -MJ -MQ -MT -T -U -V -Xanalyzer -Xassembler"
      " -Xclang -Xcuda-fatbinary -Xcuda-ptxas -Xlinker"
      " -Xmicrosoft-visualc-tools-root -Xmicrosoft-visualc-tools-version"
      " -Xmicrosoft-windows-sdk-root -Xmicrosoft-windows-sdk-version"
      " -Xmicrosoft-windows-sys-root -Xoffload-linker -Xpreprocessor"
      " -Zlinker-input -alias_list -allowable_client -arch -arch_only"
      " -arcmt-migrate-report-output -b -bundle_loader -ccc-arcmt-migrate"
      " -ccc-gcc-name -ccc-install-dir -ccc-objcmt-migrate -client_name"
      " -compatibility_version -current_version -cxx-isystem"
      " -darwin-target-variant -darwin-target-variant-triple -dependency-dot"
      " -dependency-file -dsym-dir -dumpdir -dylib_file -dylinker_install_name"
      " -e -exported_symbols_list -fdebug-compilation-dir"
      " -fexperimental-openacc-macro-override -filelist"
      " -fmodule-implementation-of -fmodules-user-build-path -fnew-alignment"
      " -force_load -framework -ftrapv-handler -gen-cdb-fragment-path"
      " -hlsl-entry -iapinotes-modules -idirafter -iframework"
      " -iframeworkwithsysroot -imacros -image_base -imultilib -include"
      " -include-pch -init -install_name -interface-stub-version= -iprefix"
      " -iquote -isysroot -isystem -isystem-after -ivfsoverlay -iwithprefix"
      " -iwithprefixbefore -iwithsysroot -l -lazy_framework -lazy_library"
      " -meabi -mllvm -mmlir -module-dependency-dir -mthread-model"
      " -multiply_defined -multiply_defined_unused -o -object-file-name"
      " -pagezero_size -read_only_relocs -reexport_framework -reexport_library"
      " -resource-dir -rpath -seg1addr -seg_addr_table -seg_addr_table_filename"
      " -segs_read_only_addr -segs_read_write_addr -serialize-diagnostics"
      " -specs -stdlib++-isystem -sub_library -sub_umbrella -target -u"
      " -umbrella -undefined -unexported_symbols_list -validator-version"
      " -vfsoverlay -weak_framework -weak_library -weak_reference_mismatches"
      " -working-directory -x -z ";
  static constexpr std::string_view Three =
      " -sectalign -sectcreate -sectorder -segcreate -segprot ";
  if (isWordOf(Option, One) || startsWith(Option, "-Xarch_") ||
      startsWith(Option, "-Xopenmp-target"))
    return 1;
  if (Option == "-sectobjectsymbols" || Option == "-segaddr")
    return 2;
  return isWordOf(Option, Three) ? 3 : 0;
}

/// The file that is named in the same word as the option for it.
std::string_view joinedFile(std::string_view Word) {
  for (std::string_view Option : {"-o", "-MF", "-MJ", "-include", "-imacros",
                                  "--output=", "--include=", "--imacros=", "@"})
    if (startsWith(Word, Option))
      return Word.substr(Option.size());
  return "";
}

bool isCompiled(std::string_view File) {
  static constexpr std::string_view Endings[] = {
      "c",  "i",  "cc",   "cp",  "cxx",  "cpp", "CPP", "c++",
      "C",  "ii", "m",    "mi",  "mm",   "M",   "mii", "ll",
      "bc", "ir", "cppm", "ixx", "c++m", "ccm", "cxxm"};
  size_t Dot = File.rfind('.');
  return Dot != File.npos && isOneOf(File.substr(Dot + 1), Endings);
}

bool isCompiledLanguage(std::string_view Name) {
  return !startsWith(Name, "assembler") && !endsWith(Name, "-header") &&
         Name != "ast" && Name != "pcm";
}

bool isStdin(std::string_view File) {
  static constexpr std::string_view Names[] = {"-", "/dev/stdin", "/dev/fd/0",
                                               "/proc/self/fd/0"};
  return isOneOf(File, Names);
}

} // namespace

ClangCall ClangCall::of(const std::vector<std::string> &Words) {
  ClangCall Call;
  Call.IsInner = !Words.empty() && startsWith(Words[0], "-cc1");
  bool Stops = false, Links = true, HasSource = false, EmitsIr = false;
  bool EmitsAssembly = false, HasOuterHalf = false;
  bool Lto = false, FatLto = false, Lld = false;
  std::optional<std::string_view> Level, InnerLevel;
  std::string_view Language = "none";
  bool OnlyInputs = false;
  auto Use = [&](std::string_view File) {
    Call.ReadsStdin |= File != "-" && isStdin(File);
    if (!File.empty())
      Call.Files.emplace_back(File);
  };
  for (size_t I = 0; I < Words.size(); ++I) {
    std::string_view Word = Words[I];
    if (OnlyInputs || Word == "-" || Word.empty() || Word[0] != '-') {
      Call.ReadsStdin |= isStdin(Word);
      HasSource |=
          Language == "none" ? isCompiled(Word) : isCompiledLanguage(Language);
      Use(Word);
      Use(joinedFile(Word)); // a response file that we could not read
      continue;
    }
    std::vector<std::string_view> Values;
    for (size_t Left = valuesAfter(Word); Left > 0 && I + 1 < Words.size();
         --Left)
      Values.emplace_back(Words[++I]);
    std::string_view Value = Values.empty() ? "" : Values[0];
    EmitsAssembly |= Word == "-S";
    HasOuterHalf |= isOfOuterHalf(Word);
    Call.NamesConfiguration |= startsWith(Word, "--config");
    if (Word == "-Xclang" && levelOf(Value)) // behind what clang tells itself
      InnerLevel = levelOf(Value);
    if (Word == "--")
      OnlyInputs = true;
    else if (Word == "-emit-llvm")
      EmitsIr = true;
    else if (stopsEarly(Word))
      Stops = true;
    else if (Word == "-c" || Word == "-S")
      Links = false;
    else if (std::optional<std::string_view> Told = levelOf(Word))
      Level = Told;
    else if (Word == "-flto" || startsWith(Word, "-flto="))
      Lto = true;
    else if (Word == "-fno-lto")
      Lto = false;
    else if (Word == "-ffat-lto-objects")
      FatLto = true;
    else if (startsWith(Word, "-fuse-ld=") || startsWith(Word, "--ld-path="))
      Lld = Word.find("lld") != Word.npos;
    else if (Word == "-fembed-bitcode" || startsWith(Word, "-fembed-bitcode="))
      Call.EmbedsBitcode =
          !endsWith(Word, "=off") && !endsWith(Word, "=marker");
    else if (Word == "-x" || Word == "--language")
      Language = Value;
    else if (startsWith(Word, "-x"))
      Language = Word.substr(2);
    else if (startsWith(Word, "--language="))
      Language = Word.substr(Word.find('=') + 1);
    else if (Values.empty())
      Use(joinedFile(Word));
    Call.ChoosesEviction |= startsWith(Value, "-regalloc-enable-advisor") ||
                            startsWith(Value, "-regalloc-evict-interactive");
    Call.ChoosesPriority |=
        startsWith(Value, "-regalloc-enable-priority-advisor") ||
        startsWith(Value, "-regalloc-priority-interactive");
    Use(Value);
  }
  bool Compiles = !Call.IsInner && !Stops && HasSource;
  Call.Optimizes = Compiles && Level && *Level != "0";
  if (!InnerLevel)
    InnerLevel = Level;
  Call.OptimizesForSize =
      Compiles && !Lto && (InnerLevel == "s" || InnerLevel == "z");
  Call.HasNoLevel = Compiles && !Lto && !InnerLevel;
  Call.AllocatesRegisters = Call.Optimizes && !EmitsIr && (!Lto || FatLto);
  Call.OnlyMakesObjects = !Call.IsInner && !Stops && !Links && !EmitsAssembly &&
                          !EmitsIr && !HasOuterHalf;
  Call.LinksLtoByLld =
      !Call.IsInner && !Stops && !EmitsIr && Links && Lto && Lld;
  return Call;
}

} // namespace cbridge::driver
