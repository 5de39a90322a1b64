//===- ObjectFile.cpp - How large an object is, and where it goes ---------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ObjectFile.h"

#include "ElfSections.h"
#include "Spool.h"

#include "os/ReadFile.h"

#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cbridge::driver {

namespace {

constexpr size_t MaxSize = size_t(4) << 30;

std::string folderOf(const std::string &Path) {
  size_t Slash = Path.rfind('/');
  return Slash == Path.npos ? "./" : Path.substr(0, Slash + 1);
}

Status fill(const os::File &To, Bytes Content) {
  if (Status S = writeAll(To.get(), Content); !S)
    return S;
  // Some file systems tell only now that there is no room.
  int Copy = ::dup(To.get());
  return Copy >= 0 && ::close(Copy) == 0 ? Status()
                                         : os::lastError("cannot write");
}

} // namespace

Expected<ObjectSizes> ObjectSizes::of(Bytes Elf) {
  ObjectSizes Sizes;
  Status S = withSections(Elf, [&](const auto &Found) {
    Sizes.Loaded = Found.loadedBytes();
    return Found.addFunctions(Sizes.Functions);
  });
  return S.ok() ? Expected<ObjectSizes>(std::move(Sizes)) : S;
}

Expected<ObjectSizes> ObjectSizes::ofFile(const std::string &Path) {
  Expected<os::FileContent> Content = os::readFile(Path, MaxSize);
  if (!Content)
    return Content.status();
  Expected<ObjectSizes> Sizes = of(Content->bytes());
  return Sizes ? std::move(Sizes) : Sizes.status().withContext(Path);
}

bool canBeReplaced(const std::string &Path) {
  struct stat Info;
  if (::stat(Path.c_str(), &Info) == 0 &&
      (!S_ISREG(Info.st_mode) || ::access(Path.c_str(), W_OK) != 0))
    return false;
  return ::access(folderOf(Path).c_str(), W_OK | X_OK) == 0;
}

Status replaceFile(const std::string &From, const std::string &To) {
  Expected<os::FileContent> Content = os::readFile(From, MaxSize);
  if (!Content)
    return Content.status();
  std::string Beside =
      folderOf(To) + ".cbridge-" + std::to_string(os::randomId()) + ".tmp";
  constexpr int Everybody =
      S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
  Expected<os::File> Made =
      os::openFile(Beside, O_WRONLY | O_CREAT | O_EXCL, Everybody);
  if (!Made)
    return Made.status();
  Status S = fill(*Made, Content->bytes());
  if (S.ok() && std::rename(Beside.c_str(), To.c_str()) != 0)
    S = os::lastError(To);
  if (!S.ok())
    ::unlink(Beside.c_str());
  return S;
}

} // namespace cbridge::driver
