//===- ResponseFile.cpp - Arguments that are in files ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ResponseFile.h"

#include "os/File.h"
#include "os/ReadFile.h"

#include <sys/mman.h>

namespace cbridge::driver {

namespace {

constexpr size_t MaxSize = size_t(256) << 20;
constexpr int MaxDepth = 20; // files that name each other

bool isSpace(char C) { return C == ' ' || C == '\t' || C == '\r' || C == '\n'; }

std::string quoted(const std::string &Word) {
  std::string Text = "\"";
  for (char C : Word) {
    if (C == '"' || C == '\\')
      Text += '\\';
    Text += C;
  }
  return Text + "\"\n";
}

/// "@FILE" of a file that is gone with clang: nobody has to remove it.
std::optional<std::string> inMemory(const std::string &Text) {
  int File = ::memfd_create("arguments", 0); // clang inherits it
  if (File < 0)
    return std::nullopt;
  Bytes Rest(reinterpret_cast<const unsigned char *>(Text.data()), Text.size());
  while (!Rest.empty()) {
    os::Transfer T = os::writeSome(File, {&Rest, 1});
    if (T.Kind != os::Transfer::Done || T.Size == 0)
      return std::nullopt;
    Rest = Rest.subspan(T.Size, Rest.size() - T.Size);
  }
  return "@/proc/self/fd/" + std::to_string(File);
}

std::optional<ResponseFile>
readAt(const std::string &Argument,
       const std::function<bool(const std::string &)> &IsOurs, int Depth) {
  if (Depth > MaxDepth)
    return std::nullopt;
  Expected<os::FileContent> Content = os::readFile(Argument.substr(1), MaxSize);
  if (!Content)
    return std::nullopt;
  ResponseFile File;
  std::string_view Text = Content->text();
  constexpr std::string_view ByteOrderMark = "\xEF\xBB\xBF";
  if (Text.substr(0, ByteOrderMark.size()) == ByteOrderMark)
    Text.remove_prefix(ByteOrderMark.size()); // as clang does
  std::string Copy;
  bool Changed = false;
  for (const std::string &Word : splitWords(std::string(Text))) {
    if (IsOurs(Word)) {
      Changed = true;
      continue;
    }
    std::optional<ResponseFile> Inner;
    if (Word.size() > 1 && Word[0] == '@')
      Inner = readAt(Word, IsOurs, Depth + 1);
    if (Inner) {
      Changed |= Inner->Argument != Word;
      Copy += quoted(Inner->Argument);
      File.Words.insert(File.Words.end(), Inner->Words.begin(),
                        Inner->Words.end());
    } else {
      Copy += quoted(Word);
      File.Words.push_back(Word);
    }
  }
  std::optional<std::string> InMemory;
  if (Changed)
    InMemory = inMemory(Copy);
  File.Argument = InMemory.value_or(Argument);
  return File;
}

} // namespace

std::vector<std::string> splitWords(const std::string &Text) {
  std::vector<std::string> Words;
  for (size_t I = 0; I < Text.size();) {
    if (isSpace(Text[I])) {
      ++I;
      continue;
    }
    std::string Word;
    char Quote = 0;
    for (; I < Text.size() && (Quote || !isSpace(Text[I])); ++I) {
      char C = Text[I];
      if (C == '\\' && Quote != '\'' && I + 1 < Text.size())
        Word += Text[++I];
      else if (Quote ? C == Quote : C == '"' || C == '\'')
        Quote = Quote ? 0 : C;
      else
        Word += C;
    }
    Words.push_back(std::move(Word));
  }
  return Words;
}

std::optional<ResponseFile>
readResponseFile(const std::string &Argument,
                 const std::function<bool(const std::string &)> &IsOurs) {
  return readAt(Argument, IsOurs, 0);
}

} // namespace cbridge::driver
