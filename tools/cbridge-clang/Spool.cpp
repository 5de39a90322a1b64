//===- Spool.cpp - Standard files that can be used twice ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Spool.h"

#include "os/FileSet.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cbridge::driver {

namespace {

constexpr size_t ChunkSize = size_t(64) << 10;

Expected<os::File> makeNameless(const std::string &Folder) {
  std::string Path = Folder + "/spool";
  Expected<os::File> F =
      os::openFile(Path, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  if (F)
    ::unlink(Path.c_str());
  return F;
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

Expected<HeldOutput> HeldOutput::open(const std::string &Folder) {
  int Ends[2];
  if (::pipe2(Ends, O_CLOEXEC) != 0)
    return os::lastError("pipe");
  HeldOutput Held;
  Held.Near = os::aboveStandard(os::File(Ends[0]));
  Held.Far = os::aboveStandard(os::File(Ends[1]));
  ::fcntl(Held.Near.get(), F_SETFL, O_NONBLOCK);
  Expected<os::File> Store = makeNameless(Folder);
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
  if (::lseek(Store.get(), 0, SEEK_SET) != 0)
    return os::lastError("the compiler's output");
  bool Ended = false;
  return copy(Store.get(), To, Ended);
}

Expected<os::File> spoolInput(const std::string &Folder) {
  Expected<os::File> Store = makeNameless(Folder);
  if (!Store)
    return Store.status();
  for (bool Ended = false; !Ended;) {
    if (Status S = copy(STDIN_FILENO, Store->get(), Ended); !S)
      return S.withContext("standard input");
    if (!Ended)
      os::waitReadable(STDIN_FILENO, Deadline::never());
  }
  ::lseek(Store->get(), 0, SEEK_SET);
  return Store;
}

} // namespace cbridge::driver
