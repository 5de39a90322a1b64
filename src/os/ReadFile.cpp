//===- ReadFile.cpp - All that is in a file -------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/ReadFile.h"

#include "os/File.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

namespace cbridge::os {

Expected<FileContent> readFile(const std::string &Path, size_t MaxSize) {
  int Errno = 0;
  Expected<File> F = openFile(Path, O_RDONLY | O_NONBLOCK, 0, &Errno);
  if (!F)
    return Errno == ENOENT || Errno == ENOTDIR
               ? Status::error(StatusCode::Unavailable, F.status().message())
               : F.status();
  struct stat About;
  if (::fstat(F->get(), &About) != 0)
    return lastError(Path);
  if (!S_ISREG(About.st_mode))
    return Status::error(StatusCode::Io, Path + ": is no regular file");
  auto Size = size_t(About.st_size);
  if (Size > MaxSize)
    return Status::error(StatusCode::OutOfMemory,
                         Path + ": has more than " +
                             std::to_string(MaxSize >> 20) + " MiB");
  AlignedBuffer Memory;
  // One more tells whether it has grown meanwhile.
  if (!Memory.reserve(Size + 1, 0))
    return Status::error(StatusCode::OutOfMemory,
                         Path + ": no memory for its " + std::to_string(Size) +
                             " bytes");
  for (size_t Have = 0; Have <= Size;) {
    Transfer T = readSome(F->get(), {Memory.data() + Have, Size + 1 - Have});
    if (T.Kind == Transfer::Closed)
      return FileContent(std::move(Memory), Have);
    if (T.Kind != Transfer::Done)
      return lastError(Path);
    Have += T.Size;
  }
  return Status::error(StatusCode::Io, Path + ": is being written");
}

} // namespace cbridge::os
