//===- SharedMemory.cpp - Memory that another process reads ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/SharedMemory.h"

#include <cerrno>
#include <mutex>

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace cbridge::os {

/// The memory of this process, for the sake of its forked children.
struct SharedMemory::Ours {
  std::mutex Using;
  SharedMemory *First = nullptr;

  static Ours &get() {
    // Never destroyed: a child may be forked while the process exits.
    static auto *const List = [] {
      auto *Made = new Ours;
      ::pthread_atfork([] { get().Using.lock(); }, [] { get().Using.unlock(); },
                       forked);
      return Made;
    }();
    return *List;
  }
};

void SharedMemory::forked() {
  for (SharedMemory *Each = Ours::get().First; Each; Each = Each->Next)
    if (::mmap(Each->Base, Each->Size, PROT_READ | PROT_WRITE,
               MAP_FIXED | MAP_PRIVATE | MAP_NORESERVE, Each->Memory.get(),
               0) == MAP_FAILED)
      ::mprotect(Each->Base, Each->Size, PROT_READ); // rather than disturb
  Ours::get().Using.unlock();
}

SharedMemory::SharedMemory(File Made, unsigned char *Base, size_t Size,
                           bool Mine)
    : Memory(std::move(Made)), Base(Base), Size(Size), Listed(Mine) {
  if (!Listed)
    return;
  Ours &List = Ours::get();
  std::lock_guard<std::mutex> Lock(List.Using);
  Next = List.First;
  Link = &List.First;
  if (Next)
    Next->Link = &Next;
  List.First = this;
}

SharedMemory::~SharedMemory() {
  if (Listed) {
    std::lock_guard<std::mutex> Lock(Ours::get().Using);
    *Link = Next;
    if (Next)
      Next->Link = Link;
  }
  ::munmap(Base, Size);
}

Expected<std::shared_ptr<SharedMemory>> SharedMemory::create(size_t Size) {
  // Growing a file beyond this limit raises a signal.
  struct rlimit Limit;
  if (::getrlimit(RLIMIT_FSIZE, &Limit) == 0 && Size > Limit.rlim_cur)
    return Status::error(StatusCode::OutOfMemory,
                         "shared memory of " + std::to_string(Size) +
                             " bytes is above the limit on files of " +
                             std::to_string(Limit.rlim_cur));
  // A process with a limit on its addresses needs most of them itself.
  if (::getrlimit(RLIMIT_AS, &Limit) == 0 && Limit.rlim_cur != RLIM_INFINITY &&
      Size > Limit.rlim_cur / 8)
    return Status::error(StatusCode::OutOfMemory,
                         "shared memory of " + std::to_string(Size) +
                             " bytes is too much within " +
                             std::to_string(Limit.rlim_cur));
  File Memory = aboveStandard(
      File(::memfd_create("compiler-bridge", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (!Memory)
    return lastError("memfd_create");
  if (::ftruncate(Memory.get(), off_t(Size)) != 0 ||
      ::fcntl(Memory.get(), F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return lastError("shared memory");
  void *Base = ::mmap(nullptr, Size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, Memory.get(), 0);
  if (Base == MAP_FAILED)
    return Status::error(StatusCode::OutOfMemory, "no address space for " +
                                                      std::to_string(Size) +
                                                      " bytes");
  return std::shared_ptr<SharedMemory>(
      new SharedMemory(std::move(Memory), static_cast<unsigned char *>(Base),
                       Size, /*Ours=*/true));
}

Expected<std::shared_ptr<SharedMemory>>
SharedMemory::open(File Made, size_t Smallest, size_t Largest) {
  auto Bad = [](const std::string &Why) {
    return Status::error(StatusCode::Protocol, "shared memory: " + Why);
  };
  int Seals = ::fcntl(Made.get(), F_GET_SEALS);
  struct stat Info;
  struct statfs System;
  // Huge pages may not be there when they are read, which is fatal.
  if (Seals < 0 || ::fstat(Made.get(), &Info) != 0 ||
      ::fstatfs(Made.get(), &System) != 0 || System.f_type != TMPFS_MAGIC)
    return Bad("what came is no memory file");
  if (!(Seals & F_SEAL_SHRINK))
    return Bad("it is not sealed against shrinking");
  if (Info.st_size < 0 || size_t(Info.st_size) < Smallest)
    return Bad("it has " + std::to_string(Info.st_size) + " bytes, at least " +
               std::to_string(Smallest) + " are needed");
  if (size_t(Info.st_size) > Largest)
    return Bad("it has " + std::to_string(Info.st_size) + " bytes, at most " +
               std::to_string(Largest) + " are allowed");
  auto Size = size_t(Info.st_size);
  void *Base = ::mmap(nullptr, Size, PROT_READ, MAP_SHARED | MAP_NORESERVE,
                      Made.get(), 0);
  if (Base == MAP_FAILED)
    return Status::error(StatusCode::OutOfMemory,
                         "no address space for shared memory of " +
                             std::to_string(Size) + " bytes");
  return std::shared_ptr<SharedMemory>(
      new SharedMemory(File(), static_cast<unsigned char *>(Base), Size,
                       /*Ours=*/false));
}

Status SharedMemory::commit(size_t Offset, size_t Length) {
  int Failed;
  do
    Failed = ::fallocate(Memory.get(), 0, off_t(Offset), off_t(Length));
  while (Failed != 0 && errno == EINTR);
  if (Failed == 0)
    return Status();
  return Status::error(StatusCode::OutOfMemory,
                       "no shared memory for " + std::to_string(Length) +
                           " bytes: " + lastError("fallocate").message());
}

} // namespace cbridge::os
