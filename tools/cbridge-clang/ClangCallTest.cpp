//===- ClangCallTest.cpp - Tests of what clang is asked to do -------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ClangCall.h"

#include "ResponseFile.h"

#include <gtest/gtest.h>

using namespace cbridge::driver;

namespace {

ClangCall call(const std::string &Line) {
  return ClangCall::of(splitWords(Line));
}

TEST(ClangCall, AllocatesRegistersWhereItOptimizes) {
  for (const char *Line :
       {"-O2 -c a.c", "-c a.cpp -Og", "-O0 -O3 a.cc", "-Oz -S -x c -",
        "-O1 -o x.o -c -- a.c", "-O2 -xc++ file", "-O a.ll", "-O2 a.o b.m",
        "-O2 -MD -MF a.d -c a.c", "-O2 -flto -fno-lto -c a.c",
        "-O2 -flto -ffat-lto-objects -c a.c"})
    EXPECT_TRUE(call(Line).AllocatesRegisters) << Line;
}

TEST(ClangCall, AllocatesNoneElsewhere) {
  for (const char *Line : {"",
                           "-c a.c",
                           "-O2 -O0 -c a.c",
                           "-O2 -E a.c",
                           "-O2 -M a.c",
                           "-O2 -fsyntax-only a.c",
                           "-O2 a.o -o a",
                           "-O2 -c a.s",
                           "-O2 -c a.S",
                           "-O2 -x assembler-with-cpp a.c",
                           "-O2 -x c-header a.h",
                           "-O2 a.h",
                           "-O2 -flto=thin -c a.c",
                           "-O2 -c -emit-llvm a.c",
                           "-O2 -### a.c",
                           "-O2 -print-prog-name=ld a.c",
                           "-O2 --version",
                           "-O2 -o a.c",
                           "-O2 -include a.c",
                           "-cc1 -O2 a.c",
                           "-O2 --output a.c",
                           "-O2 -working-directory a.c",
                           "-O2 -Xarch_host a.c",
                           "-O2 -sectcreate a.c b.c c.c",
                           "-O2 -mllvm a.c"})
    EXPECT_FALSE(call(Line).AllocatesRegisters) << Line;
}

TEST(ClangCall, OptimizesAlsoToBitcode) {
  for (const char *Line :
       {"-O2 -c a.c", "-O1 -flto -c a.c", "-Os -S -emit-llvm --language c -"})
    EXPECT_TRUE(call(Line).Optimizes) << Line;
  for (const char *Line : {"-c a.c", "-O2 -E a.c", "-O2 a.o", "-O2 a.c -###"})
    EXPECT_FALSE(call(Line).Optimizes) << Line;
}

TEST(ClangCall, OptimizesForSize) {
  for (const char *Line :
       {"-Os -c a.c", "-O2 -Oz a.c", "--optimize=s a.c",
        "-Oz -S -emit-llvm a.c", "-Oz a.c a.o", "-O2 -Xclang -Oz a.c",
        "-Oz -flto -fno-lto a.c", "-Oz -ObjC a.m", "-Os -c a.mm -ObjC++"})
    EXPECT_TRUE(call(Line).OptimizesForSize) << Line;
  for (const char *Line :
       {"-c a.c", "-Oz -O2 a.c", "-Os -O a.c", "-Oz --optimize a.c", "-Oz a.o",
        "-Oz -E a.c", "-Oz -flto a.c", "-Xclang -O2 -Oz a.c", "-Ofast a.c"})
    EXPECT_FALSE(call(Line).OptimizesForSize) << Line;
}

TEST(ClangCall, LevelsOfConfigurationFiles) {
  EXPECT_TRUE(call("--config=x -c a.c").NamesConfiguration);
  EXPECT_TRUE(call("-c a.c --config x").NamesConfiguration);
  EXPECT_FALSE(call("-c a.c -o --config").NamesConfiguration);
  EXPECT_TRUE(call("-c a.c").HasNoLevel);
  for (const char *Line :
       {"-O2 -c a.c", "-Oz a.c", "a.o", "-flto a.c", "-E a.c", "--version"})
    EXPECT_FALSE(call(Line).HasNoLevel) << Line;
}

TEST(ClangCall, OnlyMakesObjects) {
  for (const char *Line :
       {"-O2 -c a.c", "-c a.c b.c -MD -MF x", "-c -flto a.c", "-c -x c -"})
    EXPECT_TRUE(call(Line).OnlyMakesObjects) << Line;
  for (const char *Line :
       {"a.c", "-S a.c", "-c -S a.c", "-c -emit-llvm a.c", "-c -E a.c",
        "-c a.c -MJ x", "-c a.c -MJx", "-c a.c -v", "-c a.c -###",
        "-c a.c -gen-reproducer=always", "-cc1 -c a.c"})
    EXPECT_FALSE(call(Line).OnlyMakesObjects) << Line;
}

TEST(ClangCall, LtoByLld) {
  for (const char *Line :
       {"-flto -fuse-ld=lld a.o", "-flto=thin --ld-path=/usr/bin/ld.lld-19 a.o",
        "-O2 -fuse-ld=lld -flto=full a.c -o a"})
    EXPECT_TRUE(call(Line).LinksLtoByLld) << Line;
  for (const char *Line :
       {"-flto a.o", "-fuse-ld=lld a.o", "-flto -fuse-ld=lld -c a.c",
        "-flto -fuse-ld=lld -fuse-ld=bfd a.o", "-flto -fno-lto -fuse-ld=lld a"})
    EXPECT_FALSE(call(Line).LinksLtoByLld) << Line;
}

TEST(ClangCall, StandardInput) {
  EXPECT_TRUE(call("-O2 -x c - -c").ReadsStdin);
  EXPECT_TRUE(call("-O2 -x c /dev/stdin").ReadsStdin);
  EXPECT_TRUE(call("-O2 a.c -include /dev/stdin").ReadsStdin);
  EXPECT_TRUE(call("-O2 a.c -imacros/dev/fd/0").ReadsStdin);
  for (const char *Option :
       {"-o", "--output", "-serialize-diagnostics", "--serialize-diagnostics",
        "-working-directory", "-ivfsoverlay", "-iprefix", "-Xanalyzer",
        "-resource-dir", "--config", "-Xarch_x86_64", "-Xopenmp-target=x"})
    EXPECT_FALSE(call("-O2 a.c " + std::string(Option) + " -").ReadsStdin)
        << Option;
}

TEST(ClangCall, Files) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(call("-c a.c -o b.o -MFc.d --include=d.h -imacros e.h -O2").Files,
            (Words{"a.c", "b.o", "c.d", "d.h", "e.h"}));
  EXPECT_EQ(call("@pipe").Files, (Words{"@pipe", "pipe"}));
}

TEST(ClangCall, EmbeddedBitcode) {
  for (const char *Line : {"-fembed-bitcode", "-fembed-bitcode=all",
                           "-fembed-bitcode=off -fembed-bitcode=bitcode"})
    EXPECT_TRUE(call(Line).EmbedsBitcode) << Line;
  for (const char *Line :
       {"-fembed-bitcode=marker", "-fembed-bitcode -fembed-bitcode=off"})
    EXPECT_FALSE(call(Line).EmbedsBitcode) << Line;
}

TEST(ClangCall, ChosenAdvisors) {
  EXPECT_TRUE(
      call("-mllvm -regalloc-enable-advisor=default a.c").ChoosesEviction);
  EXPECT_TRUE(call("-Xclang -regalloc-priority-interactive-channel-base=x a.c")
                  .ChoosesPriority);
  EXPECT_FALSE(call("-mllvm -regalloc=greedy a.c").ChoosesEviction);
}

TEST(SplitWords, AsClangDoes) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(splitWords(" a\tb\r\nc "), (Words{"a", "b", "c"}));
  EXPECT_EQ(splitWords(R"("a b" 'c d'e \"f\ g)"),
            (Words{"a b", "c de", "\"f g"}));
  EXPECT_EQ(splitWords(R"("a\"b\\" 'c\d' "")"), (Words{"a\"b\\", "c\\d", ""}));
  EXPECT_EQ(splitWords("\"open"), (Words{"open"}));
  EXPECT_EQ(splitWords("end\\"), (Words{"end\\"}));
}

} // namespace
