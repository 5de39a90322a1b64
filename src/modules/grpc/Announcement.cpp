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

/// What every announcement begins with.
static constexpr std::string_view Scheme = "grpc:";

/// Whether the file at Path, which Info describes, may go: nobody loses
/// anything but an address.
static bool mayGo(const std::string &Path, const struct stat &Info) {
  if (!S_ISREG(Info.st_mode))
    return false;
  if (Info.st_size == 0)
    return true;
  Expected<os::File> File =
      os::openFile(Path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  char Begin[Scheme.size()];
  return File && isNamed(*File, Path) &&
         ::read(File->get(), Begin, sizeof(Begin)) == ssize_t(sizeof(Begin)) &&
         std::string_view(Begin, sizeof(Begin)) == Scheme;
}

Status Announcement::write(const std::string &To, const std::string &Address) {
  auto Failed = [&] { return os::lastError("announce=" + To); };
  struct stat Info;
  if (::lstat(To.c_str(), &Info) == 0) {
    if (!mayGo(To, Info))
      return Status::error(StatusCode::Io, To + " is in the way and is no "
                                                "announcement of ours");
  } else if (errno != ENOENT) {
    return Failed();
  }
  std::string Unfinished = To + "." + std::to_string(os::randomId());
  int Errno = 0;
  Expected<os::File> Made = os::openFile(
      Unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, &Errno);
  if (!Made) {
    // Of the name that the user knows.
    errno = Errno;
    return Failed();
  }
  std::string Line = Address + "\n";
  errno = ENOSPC; // if only a part is written
  if (::write(Made->get(), Line.data(), Line.size()) != ssize_t(Line.size()) ||
      ::rename(Unfinished.c_str(), To.c_str()) != 0) {
    Status S = Failed();
    ::unlink(Unfinished.c_str());
    return S;
  }
  Path = To;
  Written = std::move(*Made);
  return Status();
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
