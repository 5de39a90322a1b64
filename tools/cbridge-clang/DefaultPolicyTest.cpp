//===- DefaultPolicyTest.cpp - Tests of the model that nobody has named ---===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DefaultPolicy.h"

#include "os/ReadFile.h"

#include <gtest/gtest.h>

using namespace cbridge;
using namespace cbridge::driver;

namespace {

TEST(DefaultPolicy, IsNotInOtherFiles) {
  Expected<os::FileContent> Own = os::readFile("/proc/self/exe", 1 << 30);
  ASSERT_TRUE(Own);
  EXPECT_FALSE(hasDefaultPolicy(Own->bytes()));
  EXPECT_FALSE(hasDefaultPolicy(Bytes()));
}

TEST(DefaultPolicy, DamagedFilesDoNoHarm) {
  Expected<os::FileContent> Own = os::readFile("/proc/self/exe", 1 << 30);
  ASSERT_TRUE(Own);
  std::vector<unsigned char> File(Own->bytes().begin(), Own->bytes().end());
  for (size_t Size : {size_t(4), size_t(64), File.size() / 2, File.size() - 1})
    EXPECT_FALSE(hasDefaultPolicy(Bytes(File.data(), Size))) << Size;
  for (size_t At = 16; At < 64; ++At) {
    unsigned char Was = File[At];
    for (unsigned char Value : {0x00, 0x7f, 0xff}) {
      File[At] = Value;
      EXPECT_FALSE(hasDefaultPolicy(Bytes(File.data(), File.size()))) << At;
    }
    File[At] = Was;
  }
}

TEST(DefaultPolicy, LevelsThatClangTells) {
  for (const char *Told :
       {R"( "clang" "-cc1" "-Oz" "-o" "a.o")",
        "clang version 19\n \"clang\" \"-cc1\" \"-O2\" \"-Os\"\n",
        " \"clang\" \"-cc1\" \"-Oz\"\n \"ld\" \"-O1\" \"-flto-x\"\n"})
    EXPECT_TRUE(innerCommandOptimizesForSize(Told)) << Told;
  for (const char *Told :
       {"", "-cc1 -Oz", R"( "ld" "-Oz")", R"( "clang" "-cc1" "-Oz" "-O2")",
        R"( "clang" "-cc1" "-Oz" "-flto=full")", R"( "clang" "-cc1" "-O)",
        " \"clang\" \"-cc1\" \"-O2\"\n \"ld\" \"-Oz\"\n"})
    EXPECT_FALSE(innerCommandOptimizesForSize(Told)) << Told;
}

} // namespace
