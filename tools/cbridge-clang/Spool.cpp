//===- Spool.cpp - Standard files that can be used twice ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Spool.h"

#include "os/FileSet.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cbridge::driver {

namespace {

constexpr size_t ChunkSize = size_t(64) << 10;

/// Copies until From ends; false in Ended if it has nothing at the moment.
Status copy(int From, int To, bool &Ended) {
  unsigned char Chunk[ChunkSize];
  for (;;) {
    os::Transfer T = os::readSome(From, Chunk);
    Ended = T.Kind == os::Transfer::Closed;
    if (Ended || T.Kind == os::Transfer::WouldBlock)
      return Status();
    if (T.Kind == os::Transfer::Failed)
      return os::lastError("cannot read");
    if (Status S = writeAll(To, {Chunk, T.Size}); !S)
      return S;
  }
}

} // namespace

bool wantsColour() {
  const char *Terminal = std::getenv("TERM"), *No = std::getenv("NO_COLOR");
  return ::isatty(STDERR_FILENO) && Terminal &&
         std::strcmp(Terminal, "dumb") != 0 && !(No && *No);
}

Status writeAll(int To, Bytes Rest) {
  while (!Rest.empty()) {
    os::Transfer T = os::writeSome(To, {&Rest, 1});
    if (T.Kind == os::Transfer::WouldBlock) { // ours may be anybody's pipe
      os::waitWritable(To, Deadline::never());
      continue;
    }
    if (T.Kind != os::Transfer::Done)
      return os::lastError("cannot write");
    Rest = Rest.subspan(T.Size, Rest.size() - T.Size);
  }
  return Status();
}

Expected<os::File> makeNamelessFile(const std::string &Folder) {
  std::string Path = Folder + "/spool";
  Expected<os::File> F =
      os::openFile(Path, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  if (F)
    ::unlink(Path.c_str());
  return F;
}

Expected<HeldOutput> HeldOutput::open(const std::string &Folder) {
  int Ends[2];
  if (::pipe2(Ends, O_CLOEXEC) != 0)
    return os::lastError("pipe");
  HeldOutput Held;
  Held.Near = os::aboveStandard(os::File(Ends[0]));
  Held.Far = os::aboveStandard(os::File(Ends[1]));
  ::fcntl(Held.Near.get(), F_SETFL, O_NONBLOCK);
  Expected<os::File> Store = makeNamelessFile(Folder);
  if (!Store)
    return Store.status();
  Held.Store = std::move(*Store);
  return Held;
}

Status HeldOutput::pump() {
  if (!Near)
    return Status();
  bool Ended = false;
  Status S = copy(Near.get(), Store.get(), Ended);
  if (!S.ok() || Ended)
    Near.close();
  return S.ok() ? S : S.withContext("the compiler's output");
}

Status HeldOutput::copyTo(int To) {
  if (::fcntl(To, F_GETFD) < 0)
    return Status(); // who has closed it wants nothing, and clang succeeds
  if (::lseek(Store.get(), 0, SEEK_SET) != 0)
    return os::lastError("the compiler's output");
  bool Ended = false;
  return copy(Store.get(), To, Ended);
}

std::string HeldOutput::lineWith(std::string_view Start,
                                 std::string_view Text) const {
  std::string All;
  char Chunk[4096];
  for (ssize_t Size = 1; Size > 0;) {
    Size = ::pread(Store.get(), Chunk, sizeof(Chunk), off_t(All.size()));
    All.append(Chunk, Size > 0 ? size_t(Size) : 0);
  }
  std::string_view Rest = All;
  while (!Rest.empty()) {
    std::string_view Line = Rest.substr(0, Rest.find('\n'));
    Rest.remove_prefix(std::min(Line.size() + 1, Rest.size()));
    if (Line.substr(0, Start.size()) == Start && Line.find(Text) != Line.npos)
      return std::string(Line.substr(Start.size()));
  }
  return "";
}

bool isUsedUpOnce(const std::string &Path) {
  // Null is always the same, and standard files are kept or held back.
  static constexpr const char *Harmless[] = {
      "/dev/null",       "/dev/stdin",      "/dev/stdout", "/dev/stderr",
      "/dev/fd/0",       "/dev/fd/1",       "/dev/fd/2",   "/proc/self/fd/0",
      "/proc/self/fd/1", "/proc/self/fd/2",
  };
  struct stat Info;
  return std::find(std::begin(Harmless), std::end(Harmless), Path) ==
             std::end(Harmless) &&
         ::stat(Path.c_str(), &Info) == 0 && !S_ISREG(Info.st_mode) &&
         !S_ISDIR(Info.st_mode);
}

bool canReadInput() { return ::read(STDIN_FILENO, nullptr, 0) == 0; }

Status spoolInput(const os::File &Store, int Cancel) {
  os::FileSet Files;
  Files.add(STDIN_FILENO);
  Files.add(Cancel);
  unsigned char Chunk[ChunkSize];
  for (;;) {
    Files.wait(Deadline::never());
    if (Files.woken(1, 2))
      return Status();
    os::Transfer T = os::readSome(STDIN_FILENO, Chunk);
    if (T.Kind == os::Transfer::Closed)
      break;
    if (T.Kind == os::Transfer::Failed)
      return os::lastError("standard input");
    if (T.Kind == os::Transfer::Done)
      if (Status S = writeAll(Store.get(), {Chunk, T.Size}); !S)
        return S.withContext("standard input");
  }
  ::lseek(Store.get(), 0, SEEK_SET);
  if (::dup2(Store.get(), STDIN_FILENO) < 0)
    return os::lastError("standard input");
  return Status();
}

} // namespace cbridge::driver
