//===- Library.cpp - Shared libraries that are loaded on demand -----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/Library.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <dlfcn.h>
#include <sys/stat.h>

namespace cbridge::os {

Status checkLibrary(const std::string &File) {
  // A name without a folder is looked for by the loader.
  struct stat About;
  if (File.find('/') != File.npos && ::stat(File.c_str(), &About) == 0 &&
      !S_ISREG(About.st_mode))
    return Status::error(StatusCode::Unsupported, "is no regular file");
  return Status();
}

Expected<void *> loadLibrary(const std::string &File) {
  if (Status S = checkLibrary(File); !S)
    return S;
  if (void *Handle = ::dlopen(File.c_str(), RTLD_NOW | RTLD_LOCAL))
    return Handle;
  const char *Said = ::dlerror();
  std::string Why = Said ? Said : "cannot be loaded";
  if (Why.compare(0, File.size() + 2, File + ": ") == 0)
    Why.erase(0, File.size() + 2);
  return Status::error(StatusCode::Unsupported, std::move(Why));
}

void *librarySymbol(void *Library, const char *Name) {
  return ::dlsym(Library, Name);
}

std::string libraryFile(const void *Symbol) {
  Dl_info Info = {};
  return ::dladdr(Symbol, &Info) && Info.dli_fname ? Info.dli_fname : "";
}

std::string ownFolder() {
  std::string File = libraryFile(reinterpret_cast<const void *>(&ownFolder));
  // Of a program, it is what somebody called it by.
  if (File.empty() || File[0] != '/')
    File = "/proc/self/exe";
  std::unique_ptr<char, void (*)(void *)> Path(
      ::realpath(File.c_str(), nullptr), std::free);
  std::string Folder = Path ? Path.get() : "";
  return Folder.substr(0, Folder.rfind('/') + 1);
}

std::vector<std::string> libraryPlaces() {
  std::vector<std::string> List;
  // Of a library in lib/, of a program in bin/, of a Python package.
  if (std::string Own = ownFolder(); !Own.empty())
    List = {Own + "compiler-bridge", Own + "../lib/compiler-bridge",
            Own + "lib"};
  const char *Given = ::secure_getenv("CBRIDGE_MODULE_PATH");
  for (std::string_view Rest = Given ? Given : ""; !Rest.empty();) {
    size_t End = std::min(Rest.find(':'), Rest.size());
    // Where a compiler happens to be started must not matter.
    if (Rest[0] == '/')
      List.emplace_back(Rest.substr(0, End));
    Rest.remove_prefix(std::min(End + 1, Rest.size()));
  }
  return List;
}

} // namespace cbridge::os
