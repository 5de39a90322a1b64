//===- InlineLogTest.cpp - Tests ------------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InlineLog.h"

#include "os/File.h"

#include <cbridge/RunnerString.h>
#include <cbridge/TrainingLog.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cbridge;
using namespace cbridge::driver;

namespace {

class InlineLogTest : public testing::Test {
protected:
  InlineLogTest() : Folder(*os::makePrivateDirectory()) {}
  ~InlineLogTest() override { os::removeDirectory(Folder); }

  struct Row {
    const char *Caller, *Callee;
    int64_t Default, Decision;
    float Score;
  };

  void record(const std::vector<Row> &Rows, bool WithScores) {
    std::vector<TensorSpec>
        Features = {TensorSpec("callee_name", ElementType::String, {1}),
                    TensorSpec("inlining_default", ElementType::Int64, {1}),
                    TensorSpec("caller_name", ElementType::String, {1})},
        Decisions = {TensorSpec("inlining_decision", ElementType::Int64, {1})};
    if (WithScores)
      Decisions.push_back(
          TensorSpec("inlining_score", ElementType::Float, {1}));
    Expected<LogWriter> Log =
        LogWriter::open(Folder + "/x.log", Signature(Features, Decisions));
    ASSERT_TRUE(Log) << Log.status().message();
    TensorStorage In(Features), Out(Decisions);
    constexpr int64_t One[] = {1};
    for (const Row &R : Rows) {
      std::string_view Callee = R.Callee, Caller = R.Caller;
      ASSERT_TRUE(In.setStrings(0, {&Callee, 1}, One).ok());
      ASSERT_TRUE(In.setStrings(2, {&Caller, 1}, One).ok());
      std::memcpy(In.bytes(1).data(), &R.Default, sizeof(R.Default));
      std::memcpy(Out.bytes(0).data(), &R.Decision, sizeof(R.Decision));
      if (WithScores)
        std::memcpy(Out.bytes(1).data(), &R.Score, sizeof(R.Score));
      ASSERT_TRUE(Log->observe("module", In.views(), Out.views()).ok());
    }
  }

  const std::string Folder;
};

TEST_F(InlineLogTest, MostCallsOfAPairDecide) {
  record({{"a", "f", 1, 0, -2.0f},
          {"a", "f", 1, 1, 0.5f},
          {"a", "f", 0, 1, 3.0f},
          {"b", "f", 0, 0, -1.0f}},
         true);
  Expected<InlineLog> Log = InlineLog::read(Folder);
  ASSERT_TRUE(Log) << Log.status().message();
  EXPECT_EQ(Log->Context, "module");
  ASSERT_EQ(Log->Decisions.size(), 2u);
  const InlineDecision &Of = Log->Decisions.at({"a", "f"});
  EXPECT_TRUE(Of.Inlined);
  EXPECT_TRUE(Of.Default);
  EXPECT_EQ(Of.Score, 0.5f);
  EXPECT_FALSE(Log->Decisions.at({"b", "f"}).Inlined);
}

TEST_F(InlineLogTest, WithoutScores) {
  record({{"a", "f", 1, 0, 0.0f}}, false);
  Expected<InlineLog> Log = InlineLog::read(Folder);
  ASSERT_TRUE(Log);
  EXPECT_FALSE(Log->Decisions.at({"a", "f"}).Score);
}

TEST_F(InlineLogTest, NothingWasAsked) {
  Expected<InlineLog> Log = InlineLog::read(Folder + "/nowhere");
  ASSERT_TRUE(Log) << Log.status().message();
  EXPECT_TRUE(Log->Decisions.empty());
  EXPECT_TRUE(Log->Context.empty());
  // Asked for a model, but for no decision.
  Log = InlineLog::read(Folder);
  ASSERT_TRUE(Log) << Log.status().message();
  EXPECT_TRUE(Log->Decisions.empty());
}

TEST_F(InlineLogTest, Damaged) {
  os::File Made = *os::openFile(Folder + "/x.log", O_CREAT | O_WRONLY, S_IRWXU);
  ASSERT_EQ(::write(Made.get(), "{\n", 2), 2);
  EXPECT_FALSE(InlineLog::read(Folder));
}

/// Half of a pair's calls are enough, and a score that is no number tells
/// nothing.
TEST_F(InlineLogTest, Ties) {
  record({{"a", "f", 0, 1, NAN}, {"a", "f", 1, 0, -1.0f}}, true);
  Expected<InlineLog> Log = InlineLog::read(Folder);
  ASSERT_TRUE(Log) << Log.status().message();
  const InlineDecision &Of = Log->Decisions.at({"a", "f"});
  EXPECT_TRUE(Of.Inlined);
  EXPECT_TRUE(Of.Default);
  EXPECT_EQ(Of.Score, -1.0f);
}

TEST_F(InlineLogTest, WithoutNames) {
  std::vector<TensorSpec> Features = {
      TensorSpec("callee_users", ElementType::Int64, {1})};
  std::vector<TensorSpec> Decisions = {
      TensorSpec("inlining_decision", ElementType::Int64, {1})};
  {
    Expected<LogWriter> Log =
        LogWriter::open(Folder + "/x.log", Signature(Features, Decisions));
    ASSERT_TRUE(Log);
    TensorStorage In(Features), Out(Decisions);
    ASSERT_TRUE(Log->observe("module", In.views(), Out.views()).ok());
  }
  EXPECT_FALSE(InlineLog::read(Folder));
}

TEST_F(InlineLogTest, WhatIsWrittenIsRead) {
  InlineClimb::Way Way = {{{"a", "f"}, true}, {{"a", "\1odd name"}, false}};
  Expected<std::string> Runner = replaying(Folder + "/a b.way", "my.c", Way);
  ASSERT_TRUE(Runner) << Runner.status().message();
  Expected<RunnerString> Parsed = RunnerString::parse(*Runner);
  ASSERT_TRUE(Parsed) << Parsed.status().message();
  EXPECT_EQ(Parsed->scheme(), "replay");
  EXPECT_EQ(Parsed->target(), Folder + "/a b.way");
  EXPECT_EQ(Parsed->option("key"), "caller_name,callee_name");
  Expected<LogReader> Log = LogReader::open(Parsed->target());
  ASSERT_TRUE(Log);
  InlineClimb::Way Found;
  for (Expected<const LogRecord *> R = Log->next(); R && *R; R = Log->next()) {
    EXPECT_EQ((*R)->Context, "my.c");
    Found[{std::string((*R)->Features[0].string(0)),
           std::string((*R)->Features[1].string(0))}] =
        (*R)->Decision[0].as<int64_t>()[0] != 0;
  }
  EXPECT_EQ(Found, Way);
}

TEST(Recording, IsAnotherOption) {
  EXPECT_EQ(recording("native:X", "/f"), "native:X?record=/f/");
  EXPECT_EQ(recording("native:X?a=1", "/f"), "native:X?a=1&record=/f/");
  const std::string Odd = "/a b&c?d%e";
  Expected<RunnerString> R = RunnerString::parse(recording("constant:1", Odd));
  ASSERT_TRUE(R) << R.status().message();
  EXPECT_EQ(R->option("record"), Odd + "/");
}

} // namespace
