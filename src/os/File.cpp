//===- File.cpp - File descriptors and waiting for them -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/File.h"

#include "os/FileSet.h"
#include "os/Spin.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <new>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace cbridge::os {

void File::close() {
  if (Descriptor >= 0)
    ::close(std::exchange(Descriptor, -1));
}

Status lastError(const std::string &What) {
  char Text[128];
  int Code = errno;
  return Status::error(StatusCode::Io,
                       What + ": " + ::strerror_r(Code, Text, sizeof(Text)));
}

File aboveStandard(File F) {
  if (F.get() < 0 || F.get() > STDERR_FILENO)
    return F;
  File Higher(::fcntl(F.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  int Kept = errno;
  F.close();
  errno = Kept;
  return Higher;
}

Expected<File> openFile(const std::string &Path, int Flags, int Mode,
                        int *Errno) {
  int Descriptor;
  do
    Descriptor = ::open(Path.c_str(), Flags | O_CLOEXEC, Mode);
  while (Descriptor < 0 && errno == EINTR);
  File Opened = aboveStandard(File(Descriptor));
  if (Errno)
    *Errno = Opened ? 0 : errno;
  if (!Opened)
    return lastError(Path);
  return Opened;
}

static Ready waitFor(int File, short Events, Deadline Until, int Cancel) {
  pollfd Files[2] = {{File, Events, 0}, {Cancel, 0, 0}};
  int Count = pollUntil(Files, Cancel >= 0 ? 2 : 1, Until);
  // An unexpected failure of poll is reported by the read or write after it.
  if (Count < 0 || (Count > 0 && Files[0].revents))
    return Ready::Yes;
  return Count > 0 ? Ready::Cancelled : Ready::Timeout;
}

Ready waitReadable(int File, Deadline Until, int Cancel) {
  return waitFor(File, POLLIN, Until, Cancel);
}

Ready waitWritable(int File, Deadline Until, int Cancel) {
  return waitFor(File, POLLOUT, Until, Cancel);
}

void yield() { ::sched_yield(); }

int onlyCore() {
  cpu_set_t Cores;
  if (::sched_getaffinity(0, sizeof(Cores), &Cores) != 0 ||
      CPU_COUNT(&Cores) != 1)
    return -1;
  int Core = 0;
  while (!CPU_ISSET(Core, &Cores))
    ++Core;
  return Core;
}

bool hungUp(int Pipe) {
  pollfd File = {Pipe, 0, 0};
  return ::poll(&File, 1, 0) > 0 && (File.revents & POLLHUP);
}

size_t bytesAvailable(int File) {
  int Count = 0;
  return ::ioctl(File, FIONREAD, &Count) == 0 && Count > 0 ? size_t(Count) : 0;
}

Transfer readSome(int File, MutableBytes To) {
  for (;;) {
    ssize_t Size = ::read(File, To.data(), To.size());
    if (Size > 0)
      return {Transfer::Done, size_t(Size)};
    if (Size == 0)
      return {Transfer::Closed, 0};
    if (errno == EAGAIN)
      return {Transfer::WouldBlock, 0};
    if (errno != EINTR)
      return {Transfer::Failed, 0};
  }
}

Transfer writeSome(int File, Span<const Bytes> Pieces) {
  static_assert(sizeof(Bytes) == sizeof(iovec),
                "a Span has the layout of an iovec: pointer, length");
  auto *Vector = reinterpret_cast<const iovec *>(Pieces.data());
  int Count = int(std::min<size_t>(Pieces.size(), IOV_MAX));
  for (;;) {
    ssize_t Size = Count == 1 ? ::write(File, Vector->iov_base, Vector->iov_len)
                              : ::writev(File, Vector, Count);
    if (Size >= 0)
      return {Transfer::Done, size_t(Size)};
    if (errno == EAGAIN)
      return {Transfer::WouldBlock, 0};
    if (errno == EPIPE)
      return {Transfer::Closed, 0};
    if (errno != EINTR)
      return {Transfer::Failed, 0};
  }
}

bool Backoff::pause(Deadline Until) {
  if (Until.passed())
    return false;
  auto Time = std::min(Next, Until.remaining());
  timespec Span = {Time.count() / 1'000'000'000, Time.count() % 1'000'000'000};
  ::nanosleep(&Span, nullptr);
  Next = std::min<std::chrono::nanoseconds>(Next * 2,
                                            std::chrono::milliseconds(5));
  return true;
}

uint64_t randomId() {
  uint64_t Id = 0;
  while (Id == 0)
    if (::getrandom(&Id, sizeof(Id), 0) != sizeof(Id))
      Id = uint64_t(
               std::chrono::steady_clock::now().time_since_epoch().count()) *
           uint64_t(::getpid());
  return Id;
}

uint64_t processMark() {
  // One word of memory that the kernel clears in a forked child.
  static std::atomic<uint64_t> *const Mark = [] {
    void *Page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool Works =
        Page != MAP_FAILED && ::madvise(Page, 4096, MADV_WIPEONFORK) == 0;
    return Works ? new (Page) std::atomic<uint64_t>(0) : nullptr;
  }();
  if (!Mark)
    return uint64_t(::getpid());
  uint64_t Known = Mark->load(std::memory_order_relaxed);
  if (Known == 0) {
    uint64_t Fresh = randomId();
    Known = Mark->compare_exchange_strong(Known, Fresh) ? Fresh : Known;
  }
  return Known;
}

Expected<std::string> makePrivateDirectory() {
  const char *Root = ::getenv("TMPDIR");
  std::string Path =
      std::string(Root && *Root ? Root : "/tmp") + "/cbridge-XXXXXX";
  if (!::mkdtemp(Path.data()))
    return lastError(Path);
  return Path;
}

void removeDirectory(const std::string &Path) {
  if (DIR *Files = ::opendir(Path.c_str())) {
    while (const dirent *Each = ::readdir(Files)) {
      std::string Name = Each->d_name;
      if (Name == "." || Name == "..")
        continue;
      Name.insert(0, Path + "/");
      if (::unlink(Name.c_str()) != 0 && errno == EISDIR)
        removeDirectory(Name);
    }
    ::closedir(Files);
  }
  ::rmdir(Path.c_str());
}

} // namespace cbridge::os
