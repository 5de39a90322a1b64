//===- SharedMemoryTest.cpp - Tests of memory that another process reads --===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/SharedMemory.h"

#include "os/Region.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cbridge;
using os::Region;
using os::SharedMemory;

namespace {

constexpr size_t Large = size_t(1) << 33;

os::File copyOf(int File) {
  return os::File(::fcntl(File, F_DUPFD_CLOEXEC, 3));
}

/// Bytes of memory behind a memory file.
size_t memoryBehind(int File) {
  struct stat Info;
  return ::fstat(File, &Info) == 0 ? size_t(Info.st_blocks) * 512 : 0;
}

TEST(SharedMemoryTest, TheOtherEndSeesWhatIsWritten) {
  auto Ours = *SharedMemory::create(8192);
  auto Theirs = *SharedMemory::open(copyOf(Ours->file()), 8192);
  EXPECT_NE(Ours->data(), Theirs->data());
  EXPECT_EQ(Theirs->size(), 8192u);
  ASSERT_TRUE(Ours->commit(0, 8192).ok());
  std::memcpy(Ours->data() + 5000, "hello", 5);
  EXPECT_EQ(std::memcmp(Theirs->data() + 5000, "hello", 5), 0);
}

TEST(SharedMemoryTest, IsSealed) {
  auto Ours = *SharedMemory::create(8192);
  EXPECT_NE(::ftruncate(Ours->file(), 4096), 0);
  EXPECT_NE(::ftruncate(Ours->file(), 16384), 0);
  EXPECT_NE(::fcntl(Ours->file(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(SharedMemoryTest, TakesNoMemoryUntilItIsCommitted) {
  auto Ours = *SharedMemory::create(Large);
  EXPECT_EQ(memoryBehind(Ours->file()), 0u);
  ASSERT_TRUE(Ours->commit(4096, 8192).ok());
  EXPECT_EQ(memoryBehind(Ours->file()), 8192u);
  EXPECT_FALSE(Ours->commit(Large, 4096).ok()); // behind its end
}

TEST(SharedMemoryTest, RefusesWhatCouldBeFatalToRead) {
  EXPECT_EQ(SharedMemory::open(os::File(), 1).status().code(),
            StatusCode::Protocol);
  auto Ours = *SharedMemory::create(8192);
  EXPECT_EQ(SharedMemory::open(copyOf(Ours->file()), 8193).status().code(),
            StatusCode::Protocol);
  os::File Unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(Unsealed.get(), 8192), 0);
  EXPECT_EQ(SharedMemory::open(std::move(Unsealed), 1).status().code(),
            StatusCode::Protocol);
}

TEST(SharedMemoryTest, AboveALimitOnFilesItFails) {
  rlimit Before, Small;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &Before), 0);
  Small = {8192, Before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &Small), 0);
  Status S = SharedMemory::create(8193).status();
  bool Fits = SharedMemory::create(8192).ok();
  ::setrlimit(RLIMIT_FSIZE, &Before);
  EXPECT_EQ(S.code(), StatusCode::OutOfMemory) << S.toString();
  EXPECT_TRUE(Fits);
}

TEST(SharedMemoryTest, WhatAForkedChildWritesReachesNobody) {
  auto First = *SharedMemory::create(8192),
       Second = *SharedMemory::create(8192);
  auto Third = *SharedMemory::create(8192);
  Second.reset(); // from the middle of the list
  for (auto &Each : {First, Third}) {
    ASSERT_TRUE(Each->commit(0, 8192).ok());
    Each->data()[100] = 1;
  }
  pid_t Child = ::fork();
  if (Child == 0) {
    bool Seen = First->data()[100] == 1 && Third->data()[100] == 1;
    First->data()[100] = Third->data()[100] = 2;
    ::_exit(Seen && First->data()[100] == 2 ? 0 : 1);
  }
  int Code = 0;
  ASSERT_EQ(::waitpid(Child, &Code, 0), Child);
  EXPECT_EQ(Code, 0);
  EXPECT_EQ(First->data()[100], 1);
  EXPECT_EQ(Third->data()[100], 1);
}

TEST(SharedMemoryTest, ARegionGrowsInItsPart) {
  auto Ours = *SharedMemory::create(Large);
  Region R(Ours, 4096, size_t(64) << 20);
  EXPECT_EQ(R.data(), Ours->data() + 4096);
  EXPECT_EQ(R.size(), 0u);
  ASSERT_TRUE(R.grow(10, R.reserved()).ok());
  std::memset(R.data(), 0xAB, 10);
  for (size_t Size = 100; Size <= R.reserved(); Size *= 4) {
    ASSERT_TRUE(R.grow(Size, R.reserved()).ok()) << Size;
    ASSERT_EQ(R.data(), Ours->data() + 4096);
    R.data()[Size - 1] = 0xCD;
  }
  EXPECT_EQ(std::count(R.data(), R.data() + 10, 0xAB), 10);
  EXPECT_EQ(R.grow(R.reserved() + 1, Large).code(), StatusCode::OutOfMemory);
  EXPECT_EQ(R.grow(R.reserved() + 1, R.reserved()).code(),
            StatusCode::OutOfMemory);
  EXPECT_LE(memoryBehind(Ours->file()), R.reserved());
}

TEST(SharedMemoryTest, ARegionKeepsItAlive) {
  auto Ours = *SharedMemory::create(8192);
  std::weak_ptr<SharedMemory> Watched = Ours;
  {
    Region R(std::move(Ours), 0, 8192);
    ASSERT_TRUE(R.grow(8192, 8192).ok());
    Region Moved = std::move(R);
    Moved.data()[8191] = 1;
    EXPECT_FALSE(Watched.expired());
  }
  EXPECT_TRUE(Watched.expired());
}

} // namespace
