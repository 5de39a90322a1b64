//===- InnerCommandTest.cpp - Tests of what clang would run ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InnerCommand.h"

#include <gtest/gtest.h>

using namespace cbridge::driver;

namespace {

using Words = std::vector<std::string>;

const std::string Banner = "Some clang version 19.1.7\nTarget: x\nThread "
                           "model: posix\nInstalledDir: /bin\n";

std::optional<InnerCommand>
told(const std::string &Options,
     const std::string &Before = " (in-process)\n") {
  return InnerCommand::of(Banner + Before + " \"/bin/clang\" \"-cc1\" " +
                          Options + "\n");
}

const std::string Usual =
    R"("-emit-obj" "-O2" "-dependency-file" "a b.d" "-MT" "a\\ b.o" )"
    R"("-D" "X=\"\$1\"" "-o" "a b.o" "-x" "c" "a.c")";

TEST(InnerCommand, IsWhatClangTells) {
  std::optional<InnerCommand> C = told(Usual);
  ASSERT_TRUE(C);
  EXPECT_EQ(C->Object, "a b.o");
  EXPECT_EQ(C->Warnings, "");
  EXPECT_EQ(C->plain("new.o"),
            (Words{"/bin/clang", "-cc1", "-emit-obj", "-O2", "-dependency-file",
                   "a b.d", "-MT", "a\\ b.o", "-D", "X=\"$1\"", "-o", "new.o",
                   "-x", "c", "a.c"}));
  EXPECT_EQ(
      C->withOptions("new.o", {"-fpass-plugin=p"}),
      (Words{"/bin/clang", "-cc1", "-fpass-plugin=p", "-emit-obj", "-O2", "-MT",
             "a\\ b.o", "-D", "X=\"$1\"", "-o", "new.o", "-x", "c", "a.c"}));
}

TEST(InnerCommand, Warnings) {
  std::string Warning = "clang: warning: argument unused: '-Lx'\n";
  std::optional<InnerCommand> C = told(Usual, Warning);
  ASSERT_TRUE(C);
  EXPECT_EQ(C->Warnings, Warning);
  EXPECT_FALSE(told(Usual, "Found candidate GCC installation: /x\n"));
}

TEST(InnerCommand, Several) {
  EXPECT_FALSE(told(Usual + "\n \"/bin/as\" \"x.s\""));
  EXPECT_FALSE(InnerCommand::of(Banner));
  EXPECT_FALSE(InnerCommand::of(""));
}

TEST(InnerCommand, CutOff) {
  std::string Whole = Banner + " \"/bin/clang\" \"-cc1\" " + Usual + "\n";
  EXPECT_TRUE(InnerCommand::of(Whole));
  for (size_t Size = 0; Size < Whole.size(); ++Size)
    EXPECT_FALSE(InnerCommand::of(Whole.substr(0, Size))) << Size;
}

TEST(InnerCommand, NamesWithNewlines) {
  const std::string Start = R"("-emit-obj" "-O2" "-o" "a.o" "-x" "c" )";
  EXPECT_TRUE(told(Start + R"("a\"b\\")"));
  for (const char *Name : {"\"d\nnote: x/b.c\"", "\"d\nwarning: x/b.c\"",
                           "\"d\nTarget: x/b.c\"", "\"d\\\"\nnote: x/b.c\"",
                           "\"d\\\\\nnote: x/b.c\"", "\"d\n \\\"x/b.c\""})
    EXPECT_FALSE(told(Start + Name)) << Name;
}

TEST(InnerCommand, WithoutInlining) {
  const std::string Rest = R"( "-emit-obj" "-o" "a.o" "a.c")";
  for (const char *Options : {"\"-O1\"", "\"-Oz\"", "\"-Ofast\"", "\"-Og\""})
    EXPECT_TRUE(told(Options + Rest)) << Options;
  for (const char *Options : {"", "\"-O0\"", "\"-O2\" \"-fno-inline\"",
                              "\"-O2\" \"-fno-inline-functions\""})
    EXPECT_FALSE(told(Options + Rest)) << Options;
}

TEST(InnerCommand, ThatIsThereAlready) {
  const Words Given = {"/bin/clang", "-cc1", "-emit-obj", "-O2",
                       "-o",         "a.o",  "a.c"};
  std::optional<InnerCommand> C = InnerCommand::of(Given);
  ASSERT_TRUE(C);
  EXPECT_EQ(C->Words, Given);
  EXPECT_EQ(C->Object, "a.o");
  EXPECT_EQ(C->Warnings, "");
  for (size_t Missing = 0; Given[Missing] != "a.o"; ++Missing) {
    Words Fewer = Given;
    Fewer.erase(Fewer.begin() + ptrdiff_t(Missing));
    EXPECT_FALSE(InnerCommand::of(Fewer)) << Given[Missing];
  }
  EXPECT_FALSE(InnerCommand::of(Words{}));
  EXPECT_FALSE(InnerCommand::of(
      Words{"/bin/clang", "-cc1as", "-emit-obj", "-O2", "-o", "a.o", "a.s"}));
}

TEST(InnerCommand, OtherFiles) {
  const std::string Rest = R"("-emit-obj" "-O2" "-o" "a.o" "a.c")";
  EXPECT_TRUE(told(R"("-mllvm" "-inline-threshold=3" )" + Rest));
  for (const char *Options :
       {R"("-split-dwarf-output" "a.dwo" )", R"("-opt-record-file" "x" )",
        R"("-serialize-diagnostic-file" "x" )", R"("-ftime-trace=a.json" )",
        R"("-coverage-notes-file=/a.gcno" )", R"("-stack-usage-file" "a.su" )",
        R"("-load" "x.so" )", R"("-fpass-plugin=x.so" )", R"("-flto=full" )",
        R"("-stats-file=a.stats" )", R"("-dwarf-debug-flags" "clang -###" )",
        R"("-mllvm" "-info-output-file=x" )",
        R"("-mllvm" "-inliner-interactive-channel-base=x" )",
        R"("-dependency-file" "a" "-dependency-file" "b" )", R"("-o" "b" )"})
    EXPECT_FALSE(told(Options + Rest)) << Options;
  for (const char *File : {"-", "/dev/stdout", "/proc/self/fd/2"})
    EXPECT_FALSE(
        told("\"-dependency-file\" \"" + std::string(File) + "\" " + Rest))
        << File;
  EXPECT_FALSE(told(R"("-emit-llvm-bc" "-O2" "-o" "a.bc" "a.c")"));
  EXPECT_FALSE(told(R"("-emit-obj" "-O2" "-o" "-" "a.c")"));
  EXPECT_FALSE(told(R"("-emit-obj" "-O2" "-o" "a.o" "-x" "c" "-")"));
  EXPECT_FALSE(told(R"("-emit-obj" "-O2" "a.c")"));
}

} // namespace
