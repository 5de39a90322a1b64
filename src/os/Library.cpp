//===- Library.cpp - Shared libraries that are loaded on demand -----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/Library.h"

#include "os/File.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cbridge::os {

template <typename T> static bool readAt(int From, uint64_t Offset, T &To) {
  return ::pread(From, &To, sizeof(To), off_t(Offset)) == ssize_t(sizeof(To));
}

/// How many bytes of a file the loader maps; 0 if it refuses the file itself.
static uint64_t bytesMapped(int Library, uint64_t Size) {
  Elf64_Ehdr Header;
  if (!readAt(Library, 0, Header) ||
      std::memcmp(Header.e_ident, ELFMAG, SELFMAG) != 0 ||
      Header.e_ident[EI_CLASS] != ELFCLASS64 ||
      Header.e_ident[EI_DATA] != ELFDATA2LSB ||
      Header.e_phentsize != sizeof(Elf64_Phdr))
    return 0;
  auto End = [](uint64_t Offset, uint64_t Length) {
    return Offset + std::min(Length, UINT64_MAX - Offset);
  };
  uint64_t Most =
      End(Header.e_phoff, uint64_t(Header.e_phnum) * sizeof(Elf64_Phdr));
  // Where they lie outside, there are no segments to read.
  if (Most > Size)
    return Most;
  for (uint64_t I = 0; I < Header.e_phnum; ++I) {
    Elf64_Phdr Segment;
    if (!readAt(Library, Header.e_phoff + I * sizeof(Segment), Segment))
      return 0;
    if (Segment.p_type == PT_LOAD)
      Most = std::max(Most, End(Segment.p_offset, Segment.p_filesz));
  }
  return Most;
}

Status checkLibrary(const std::string &File) {
  // A name without a folder is looked for by the loader.
  struct stat About;
  if (File.find('/') == File.npos || ::stat(File.c_str(), &About) != 0)
    return Status();
  if (!S_ISREG(About.st_mode))
    return Status::error(StatusCode::Unsupported, "is no regular file");
  // The loader says best why a file cannot be opened.
  Expected<os::File> Opened = openFile(File, O_RDONLY | O_NONBLOCK);
  if (!Opened || ::fstat(Opened->get(), &About) != 0)
    return Status();
  auto Size = uint64_t(About.st_size);
  if (uint64_t Claimed = bytesMapped(Opened->get(), Size); Claimed > Size)
    return Status::error(StatusCode::Unsupported,
                         "is cut off: it has " + std::to_string(Size) +
                             " bytes, its program headers claim " +
                             std::to_string(Claimed));
  return Status();
}

/// Sanitizers end the process rather than let a library find anything first.
static bool isSanitized() {
  return ::dlsym(RTLD_DEFAULT, "__asan_init") ||
         ::dlsym(RTLD_DEFAULT, "__tsan_init") ||
         ::dlsym(RTLD_DEFAULT, "__msan_init");
}

Expected<void *> loadLibrary(const std::string &File, Binding B) {
  if (Status S = checkLibrary(File); !S)
    return S;
  int Flags = RTLD_NOW | RTLD_LOCAL;
  if (B == Binding::ToItself && !isSanitized())
    Flags |= RTLD_DEEPBIND;
  if (void *Handle = ::dlopen(File.c_str(), Flags))
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
  // Of a library in lib/, of a program in bin/, of a Python package, of a
  // program in that, of a program in a build tree (tools/NAME/).
  if (std::string Own = ownFolder(); !Own.empty())
    List = {Own + "compiler-bridge", Own + "../lib/compiler-bridge",
            Own + "lib", Own + "../lib", Own + "../../lib/compiler-bridge"};
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
