//===- SharedMemory.h - Memory that another process reads -------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_OS_SHAREDMEMORY_H
#define CBRIDGE_OS_SHAREDMEMORY_H

#include "os/File.h"

#include <memory>

namespace cbridge::os {

/// A mapped memory file. Its size is fixed and sealed when it is made, and may
/// be far larger than memory: the owner commits what it uses. A child that the
/// owner forks gets a copy of its own, so that what it writes reaches nobody.
class SharedMemory {
public:
  /// Memory that we write. Takes no memory yet, only addresses.
  static Expected<std::shared_ptr<SharedMemory>> create(size_t Size);
  /// Memory that another process made, to be read only. Refuses files that
  /// could be cut while we read, which would be fatal.
  static Expected<std::shared_ptr<SharedMemory>>
  open(File Made, size_t SmallestSize, size_t LargestSize = ~size_t(0));
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;
  ~SharedMemory();

  /// Makes sure that there is memory behind a range: a write never fails then.
  Status commit(size_t Offset, size_t Size);

  unsigned char *data() const { return Base; }
  size_t size() const { return Size; }
  int file() const { return Memory.get(); }

private:
  SharedMemory(File Memory, unsigned char *Base, size_t Size, bool Ours);
  static void forked();
  struct Ours;

  File Memory;
  unsigned char *Base;
  size_t Size;
  // The list of those that are ours.
  bool Listed;
  SharedMemory *Next = nullptr, **Link = nullptr;
};

} // namespace cbridge::os

#endif // CBRIDGE_OS_SHAREDMEMORY_H
