//===- Announcement.cpp - A file that tells an address --------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/Announcement.h"

#include "channel/PeerLock.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cbridge {

/// Of an address and its newline.
static constexpr size_t MaxLine = 1024;

Status Announcement::write(const std::string &To, const std::string &Address) {
  std::string Unfinished = To + "." + std::to_string(os::randomId());
  Expected<os::File> Made =
      os::openFile(Unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!Made)
    return Made.status().withContext("announce=" + To);
  std::string Line = Address + "\n";
  Status S;
  if (::write(Made->get(), Line.data(), Line.size()) != ssize_t(Line.size()) ||
      ::rename(Unfinished.c_str(), To.c_str()) != 0) {
    S = os::lastError("announce=" + To);
    ::unlink(Unfinished.c_str());
    return S;
  }
  Path = To;
  Written = std::move(*Made);
  return S;
}

void Announcement::remove() {
  if (Written && isNamed(Written, Path))
    ::unlink(Path.c_str());
  Written.close();
}

Expected<std::string> Announcement::read(const std::string &Path) {
  auto Wrong = [&](const char *Why) {
    return Status::error(StatusCode::Io, "announce=" + Path + ": " + Why);
  };
  int Errno = 0;
  // Not to wait for the writer of a FIFO.
  Expected<os::File> File =
      os::openFile(Path, O_RDONLY | O_NONBLOCK, 0, &Errno);
  if (!File)
    return Errno == ENOENT
               ? Status::error(StatusCode::Unavailable, Path + " is not there")
               : File.status().withContext("announce");
  struct stat Info;
  if (::fstat(File->get(), &Info) != 0 || !S_ISREG(Info.st_mode))
    return Wrong("not a file");
  // Whoever writes it says to whom the features' trainer talks.
  if (Info.st_uid != ::geteuid() && Info.st_uid != 0)
    return Wrong("belongs to another user");
  char Line[MaxLine];
  ssize_t Size = ::read(File->get(), Line, sizeof(Line));
  std::string_view Text(Line, Size > 0 ? size_t(Size) : 0);
  size_t End = Text.find('\n');
  if (End == Text.npos || End + 1 != Text.size())
    return Wrong("not one line with an address");
  return std::string(Text.substr(0, End));
}

} // namespace cbridge
