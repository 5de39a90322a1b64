//===- RegionTest.cpp - Tests of memory that grows in place ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/Region.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace cbridge;
using os::Region;

static constexpr size_t Cap = size_t(1) << 30;

TEST(RegionTest, GrowsInPlaceAndKeepsBytes) {
  Region R;
  ASSERT_TRUE(R.grow(10, Cap).ok());
  unsigned char *Base = R.data();
  std::memset(Base, 0xAB, 10);
  for (size_t Size = 100; Size <= size_t(64) << 20; Size *= 4) {
    ASSERT_TRUE(R.grow(Size, Cap).ok()) << Size;
    ASSERT_EQ(R.data(), Base);
    ASSERT_GE(R.size(), Size);
    Base[Size - 1] = 0xCD; // usable up to its end
  }
  EXPECT_EQ(std::count(Base, Base + 10, 0xAB), 10);
}

TEST(RegionTest, NewBytesAreZero) {
  Region R;
  ASSERT_TRUE(R.grow(100000, Cap).ok());
  EXPECT_EQ(std::count(R.data(), R.data() + R.size(), 0), long(R.size()));
}

TEST(RegionTest, NeverShrinks) {
  Region R;
  ASSERT_TRUE(R.grow(100000, Cap).ok());
  size_t Before = R.size();
  ASSERT_TRUE(R.grow(1, Cap).ok());
  EXPECT_EQ(R.size(), Before);
}

TEST(RegionTest, CapIsAHardLimit) {
  Region R;
  ASSERT_TRUE(R.grow(5000, 10000).ok());
  EXPECT_EQ(R.grow(10001, 10000).toString(),
            "out_of_memory: 10001 bytes are above the cap of 10000");
  EXPECT_TRUE(R.grow(10000, 10000).ok());
  // A higher cap comes too late: what lies behind belongs to others.
  EXPECT_EQ(R.grow(100000, Cap).code(), StatusCode::OutOfMemory);
  R.data()[9999] = 1;
}

TEST(RegionTest, ImpossibleSizesFail) {
  Region R;
  size_t TooMuch = ~size_t(0) / 2;
  EXPECT_EQ(R.grow(TooMuch, TooMuch).code(), StatusCode::OutOfMemory);
  EXPECT_EQ(R.data(), nullptr);
  EXPECT_TRUE(R.grow(1, Cap).ok());
}

TEST(RegionTest, MovesWithItsMemory) {
  Region A;
  ASSERT_TRUE(A.grow(10, Cap).ok());
  unsigned char *Base = A.data();
  Region B = std::move(A);
  EXPECT_EQ(B.data(), Base);
  EXPECT_EQ(A.data(), nullptr); // NOLINT(bugprone-use-after-move)
  Region C;
  C = std::move(B);
  EXPECT_EQ(C.data(), Base);
  C.data()[0] = 1;
}
