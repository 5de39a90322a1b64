//===- ClangCall.cpp - What clang is asked to do --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ClangCall.h"

#include <algorithm>
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
      "-emit-llvm",
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

/// Options whose value is the next word.
bool takesNext(std::string_view Word) {
  static constexpr std::string_view Options[] = {"-o",
                                                 "-I",
                                                 "-D",
                                                 "-U",
                                                 "-L",
                                                 "-l",
                                                 "-B",
                                                 "-F",
                                                 "-T",
                                                 "-u",
                                                 "-z",
                                                 "-e",
                                                 "-G",
                                                 "-MF",
                                                 "-MT",
                                                 "-MQ",
                                                 "-MJ",
                                                 "-include",
                                                 "-imacros",
                                                 "-isystem",
                                                 "-iquote",
                                                 "-isysroot",
                                                 "-idirafter",
                                                 "-Xclang",
                                                 "-Xlinker",
                                                 "-Xassembler",
                                                 "-target",
                                                 "-iwithprefix",
                                                 "-include-pch",
                                                 "-arch",
                                                 "-mllvm",
                                                 "--param",
                                                 "-rpath",
                                                 "--sysroot",
                                                 "-Xpreprocessor"};
  return isOneOf(Word, Options);
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
  bool Stops = false, Links = true, HasSource = false;
  bool Optimizes = false, Lto = false, FatLto = false, Lld = false;
  std::string_view Language = "none";
  bool OnlyInputs = false;
  for (size_t I = 0; I < Words.size(); ++I) {
    std::string_view Word = Words[I];
    std::string_view Next =
        I + 1 < Words.size() ? std::string_view(Words[I + 1]) : "";
    if (OnlyInputs || Word == "-" || Word.empty() || Word[0] != '-') {
      Call.ReadsStdin |= isStdin(Word);
      HasSource |=
          Language == "none" ? isCompiled(Word) : isCompiledLanguage(Language);
      continue;
    }
    if (Word == "--")
      OnlyInputs = true;
    else if (stopsEarly(Word))
      Stops = true;
    else if (Word == "-c" || Word == "-S")
      Links = false;
    else if (startsWith(Word, "-O"))
      Optimizes = Word != "-O0";
    else if (Word == "-flto" || startsWith(Word, "-flto="))
      Lto = true;
    else if (Word == "-fno-lto")
      Lto = false;
    else if (Word == "-ffat-lto-objects")
      FatLto = true;
    else if (startsWith(Word, "-fuse-ld=") || startsWith(Word, "--ld-path="))
      Lld = Word.find("lld") != Word.npos;
    else if (Word == "-x") {
      Language = Next;
      ++I;
    } else if (startsWith(Word, "-x"))
      Language = Word.substr(2);
    else if (takesNext(Word)) {
      Call.ChoosesEviction |= startsWith(Next, "-regalloc-enable-advisor") ||
                              startsWith(Next, "-regalloc-evict-interactive");
      Call.ChoosesPriority |=
          startsWith(Next, "-regalloc-enable-priority-advisor") ||
          startsWith(Next, "-regalloc-priority-interactive");
      ++I;
    }
  }
  Call.AllocatesRegisters =
      !Call.IsInner && !Stops && HasSource && Optimizes && (!Lto || FatLto);
  Call.LinksLtoByLld = !Call.IsInner && !Stops && Links && Lto && Lld;
  return Call;
}

} // namespace cbridge::driver
