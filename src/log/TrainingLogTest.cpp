//===- TrainingLogTest.cpp - Tests of logs --------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "log/LogTest.h"

#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cbridge;

namespace {

template <typename T>
void set(TensorStorage &To, size_t I, std::initializer_list<T> Values) {
  ASSERT_EQ(To.bytes(I).size(), Values.size() * sizeof(T));
  std::memcpy(To.bytes(I).data(), Values.begin(), To.bytes(I).size());
}

/// What the golden log_static.log holds, which LLVM 19's logger wrote.
Signature staticSignature() {
  return {{TensorSpec::create<int64_t>("a \"q\"\t\n\x01 \xc3\xa9"),
           TensorSpec::create<float>("m", {2, 3}),
           TensorSpec::create<uint8_t>("u8", {3}),
           TensorSpec::create<double>("d")},
          TensorSpec::create<int64_t>("unroll")};
}

/// Everything that LLVM's log has no place for.
Signature richSignature() {
  return {{TensorSpec::create<std::string>("name"),
           TensorSpec::create<float>("rows", {Dynamic, 2}),
           TensorSpec::create<bool>("flags", {3}),
           TensorSpec::create<std::string>("names", {Dynamic})},
          std::vector{TensorSpec::create<int32_t>("y"),
                      TensorSpec::create<std::string>("why", {})}};
}

/// A writer and memory for what it writes.
struct Writing {
  explicit Writing(const std::string &Path,
                   const Signature &Sig = staticSignature())
      : In(Sig.inputs()), Out(Sig.outputs()), Log(*LogWriter::open(Path, Sig)) {
  }
  void fillStatic(int64_t X, int64_t Unroll) {
    set<int64_t>(In, 0, {X});
    set<float>(In, 1, {float(X) + 0.5f, 1, 2, 3, 4, 10});
    set<uint8_t>(In, 2, {10, uint8_t(X), 255});
    set<double>(In, 3, {double(X) / 3});
    set<int64_t>(Out, 0, {Unroll});
  }
  Status observe(std::string_view Context, int64_t X, int64_t Unroll) {
    fillStatic(X, Unroll);
    return Log.observe(Context, In.views(), Out.views());
  }
  TensorStorage In, Out;
  LogWriter Log;
};

void writeRich(const std::string &Path) {
  Writing W(Path, richSignature());
  std::string_view Names[] = {"a\nb", "", "\xff"};
  for (int64_t I = 0; I < 3; ++I) {
    ASSERT_TRUE(W.In.setStrings(0, {std::string_view("hello")}, {1}).ok());
    ASSERT_TRUE(W.In.resize(1, {I, 2}).ok());
    for (size_t At = 0; At < size_t(I) * 2; ++At) {
      float Value = float(At) / 2;
      std::memcpy(W.In.bytes(1).data() + At * 4, &Value, 4);
    }
    set<bool>(W.In, 2, {true, false, I == 1});
    ASSERT_TRUE(W.In.setStrings(3, {Names, size_t(I)}, {I}).ok());
    set<int32_t>(W.Out, 0, {int32_t(I - 1)});
    ASSERT_TRUE(W.Out.setStrings(1, {std::string_view("so")}, {}).ok());
    ASSERT_TRUE(
        W.Log.observe(I == 2 ? "g" : "f", W.In.views(), W.Out.views()).ok());
    if (I == 0) {
      ASSERT_TRUE(W.Log.reward(0.5).ok());
    }
  }
}

/// Runs Body in a child; its exit status, or minus the signal.
template <typename Callable> int inChild(Callable Body) {
  pid_t Child = ::fork();
  if (Child == 0)
    ::_exit(Body());
  int Status = 0;
  ::waitpid(Child, &Status, 0);
  return WIFEXITED(Status) ? WEXITSTATUS(Status) : -WTERMSIG(Status);
}

} // namespace

TEST(TrainingLogTest, WritesWhatLlvmWrites) {
  TemporaryFolder Folder;
  {
    Writing W(Folder / "x.log");
    ASSERT_TRUE(W.observe("main", 10, 4).ok());
    ASSERT_TRUE(W.Log.reward(1.5).ok());
    ASSERT_TRUE(W.observe("main", 11, 8).ok());
    ASSERT_TRUE(W.Log.reward(-0.25).ok());
    ASSERT_TRUE(W.observe("f\r\x1f\"\\/\xe2\x82\xac", 12, 2).ok());
    ASSERT_TRUE(W.Log.reward(0).ok());
    ASSERT_TRUE(W.observe("main", 2570, 1).ok());
    ASSERT_TRUE(W.Log.reward(3).ok());
  }
  EXPECT_EQ(contentOf(Folder / "x.log"),
            contentOf(goldenLog("log_static.log")));
}

TEST(TrainingLogTest, ReadsItBack) {
  LogText Text = textOf(goldenLog("log_static.log"));
  ASSERT_TRUE(Text.Failure.ok()) << Text.Failure.toString();
  EXPECT_FALSE(Text.Cut);
  ASSERT_EQ(Text.Lines.size(), 4u);
  EXPECT_EQ(Text.Lines[0].substr(0, 24), "main 0: 10 [10.5, 1, 2, ");
  EXPECT_NE(Text.Lines[1].find("-> 8, -0.25"), std::string::npos);
  EXPECT_EQ(Text.Lines[2].substr(0, 13), "f\r\x1f\"\\/\xe2\x82\xac 0: ");
  EXPECT_EQ(Text.Lines[3].substr(0, 12), "main 2: 2570");
  Expected<LogReader> Log = LogReader::open(goldenLog("log_static.log"));
  EXPECT_EQ(Log->signature(), staticSignature());
  EXPECT_EQ(Log->advice(), staticSignature().outputs()[0]);
}

TEST(TrainingLogTest, TheExtensionHoldsTheRest) {
  TemporaryFolder Folder;
  writeRich(Folder / "x.log");
  std::string Golden = goldenLog("log_extension.log");
  if (std::getenv("CBRIDGE_UPDATE_GOLDEN"))
    std::filesystem::copy_file(
        Folder / "x.log", Golden,
        std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(contentOf(Folder / "x.log"), contentOf(Golden));

  EXPECT_EQ(LogReader::open(Golden)->signature(), richSignature());
  LogText Text = textOf(Golden);
  ASSERT_TRUE(Text.Failure.ok()) << Text.Failure.toString();
  EXPECT_FALSE(Text.Cut);
  EXPECT_EQ(Text.Lines,
            (std::vector<std::string>{
                "f 0: \"hello\" [] [true, false, false] [] -> -1 \"so\", 0.5",
                "f 1: \"hello\" [0, 0.5] [true, false, true] \"a\\nb\" -> 0 "
                "\"so\", ?",
                "g 0: \"hello\" [0, 0.5, 1, 1.5] [true, false, false] "
                "[\"a\\nb\", \"\"] -> 1 \"so\", ?"}));
}

TEST(TrainingLogTest, ReadsAnInteractiveChannel) {
  LogText Text = textOf(goldenLog("log_interactive.log"));
  ASSERT_TRUE(Text.Failure.ok()) << Text.Failure.toString();
  EXPECT_EQ(Text.Lines, (std::vector<std::string>{" 0: 10 -1 [0.5, 1.5] ->, ?",
                                                  " 1: 2 2570 [0, -2] ->, ?"}));
  EXPECT_FALSE(Text.Cut);
  Expected<LogReader> Log = LogReader::open(goldenLog("log_interactive.log"));
  EXPECT_TRUE(Log->signature().outputs().empty());
  EXPECT_EQ(Log->advice()->name(), "inlining_decision");
  EXPECT_FALSE(Log->score());
}

TEST(TrainingLogTest, ReadsIntegerScores) {
  LogText Text = textOf(goldenLog("log_integer_score.log"));
  ASSERT_TRUE(Text.Failure.ok()) << Text.Failure.toString();
  EXPECT_EQ(Text.Lines, (std::vector<std::string>{"main 0: 3 1 ->, -10",
                                                  "main 1: 10 0 ->, 7"}));
}

TEST(TrainingLogTest, EveryPrefixCanBeRead) {
  TemporaryFolder Folder;
  writeRich(Folder / "x.log");
  for (const std::string &Whole :
       {contentOf(goldenLog("log_static.log")), contentOf(Folder / "x.log")}) {
    LogText All = textOf(LogReader::over(bytesOf(Whole), "all"));
    ASSERT_FALSE(All.Cut);
    size_t HeaderSize = Whole.find('\n') + 1, Complete = 0;
    for (size_t Size = 0; Size < Whole.size(); ++Size) {
      std::string Prefix = Whole.substr(0, Size);
      LogText Text = textOf(LogReader::over(bytesOf(Prefix), "cut"));
      if (Size < HeaderSize) {
        ASSERT_EQ(Text.Failure.code(), StatusCode::Unavailable);
        continue;
      }
      ASSERT_TRUE(Text.Failure.ok()) << Size << Text.Failure.toString();
      ASSERT_GE(Text.Lines.size(), Complete);
      Complete = Text.Lines.size();
      for (size_t I = 0; I < Complete; ++I) {
        std::string Line = Text.Lines[I], Same = All.Lines[I];
        if (I + 1 == Complete && Text.Cut) // its reward may be missing
          Line.resize(Line.rfind(',')), Same.resize(Same.rfind(','));
        ASSERT_EQ(Line, Same);
      }
      // Only behind an outcome is nothing missing.
      std::string_view Rest(Whole.data() + Size, Whole.size() - Size);
      bool Between = Size == HeaderSize ||
                     Rest.compare(0, 14, "{\"observation\"") == 0 ||
                     Rest.compare(0, 10, "{\"context\"") == 0;
      ASSERT_TRUE(Text.Cut || Between) << Size;
    }
    EXPECT_EQ(Complete, All.Lines.size());
  }
}

TEST(TrainingLogTest, WrongContentNamesFileAndByte) {
  std::string Good = contentOf(goldenLog("log_static.log"));
  auto Failure = [](const std::string &Content) {
    return textOf(LogReader::over(bytesOf(Content), "x.log")).Failure.message();
  };
  auto Replaced = [&](const std::string &From, const std::string &To) {
    std::string Changed = Good;
    Changed.replace(Changed.find(From), From.size(), To);
    return Failure(Changed);
  };
  std::string Header = "x.log, byte 0: the header: ";
  EXPECT_EQ(Failure("[]\n"), Header + "JSON, byte 0: expected '{'");
  EXPECT_EQ(Failure("{}\n"), Header + "there is no \"features\"");
  EXPECT_EQ(Replaced("float\",\"port\":0,\"shape\":[2", "bool\",\"shape\":[2"),
            Header + "'m' is bool[2,3], which needs the extension");
  EXPECT_EQ(Replaced("\"score\":{\"name\":\"reward\",\"type\":\"float\",\"port"
                     "\":0,\"shape\":[1",
                     "\"score\":{\"name\":\"reward\",\"type\":\"float\",\"port"
                     "\":0,\"shape\":[2"),
            Header + "the score 'reward' is float[2], which is not one number");
  EXPECT_EQ(Replaced("[1]}}\n", "[1]},\"cbridge\":{\"version\":2}}\n"),
            Header + "version 2 of the extension; this reads version 1");
  EXPECT_EQ(Replaced("[1]}}\n",
                     "[1]},\"cbridge\":{\"version\":1,\"decisions\":6}}\n"),
            Header + "6 decisions, but 5 features");
  std::string First = std::to_string(Good.find("{\"observation"));
  EXPECT_EQ(Replaced("{\"observation", "{\"observatory"),
            "x.log, byte " + First + ": expected a context or an observation");
  std::string Outcome = std::to_string(Good.find("{\"outcome"));
  EXPECT_EQ(Replaced("{\"outcome\":0", "{\"outcome\":1"),
            "x.log, byte " + Outcome +
                ": expected the outcome of observation 0");
  EXPECT_EQ(Replaced("\n{\"outcome", "X{\"outcome"),
            "x.log, byte " + std::to_string(Good.find("\n{\"outcome")) +
                ": expected the end of a line behind tensors");
  EXPECT_EQ(LogReader::open("/nonexistent/x.log").status().code(),
            StatusCode::Io);
}

TEST(TrainingLogTest, SizesThatAreOnlyClaimedTakeNoMemory) {
  auto Huge = [](const std::string &Shape, const std::string &More) {
    std::string Header =
        R"({"features":[{"name":"x","type":"double","port":0,"shape":)" +
        Shape + "}]" + More + "}\n{\"observation\":0}\n";
    return textOf(LogReader::over(bytesOf(Header + "12345678"), "x"));
  };
  LogText Fixed = Huge("[100000000]", "");
  EXPECT_TRUE(Fixed.Failure.ok()) << Fixed.Failure.toString();
  EXPECT_TRUE(Fixed.Cut);
  EXPECT_NE(Huge("[1000000000]", "").Failure.message().find("above the cap"),
            std::string::npos);
  // 0x3837363534333231 elements, which is no size.
  LogText Grown = Huge("[-1]", ",\"cbridge\":{\"version\":1,\"decisions\":0}");
  EXPECT_EQ(Grown.Failure.code(), StatusCode::Protocol);
}

TEST(TrainingLogTest, WhatDoesNotFitTheSignatureIsRefused) {
  TemporaryFolder Folder;
  Writing W(Folder / "x.log");
  TensorStorage Other({TensorSpec::create<float>("unroll")});
  W.fillStatic(1, 1);
  Status S = W.Log.observe("f", W.In.views(), Other.views());
  EXPECT_EQ(S.message(), "'unroll' is int64_t[1], got float");
  S = W.Log.observe("f", W.In.views(), {});
  EXPECT_EQ(S.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(W.Log.reward(1).code(), StatusCode::InvalidArgument);
  EXPECT_TRUE(W.observe("f", 1, 1).ok()); // it goes on
  EXPECT_TRUE(W.Log.finish().ok());
  EXPECT_EQ(textOf(Folder / "x.log").Lines.size(), 1u);
}

TEST(TrainingLogTest, AContextThatReadersWouldRefuseIsNotWritten) {
  TemporaryFolder Folder;
  Writing W(Folder / "x.log");
  EXPECT_TRUE(W.observe("f", 1, 1).ok());
  Status S = W.observe(std::string(size_t(17) << 20, 'g').c_str(), 2, 2);
  EXPECT_EQ(S.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(S.message(), "a context of 17825792 bytes; logs hold up to 16 MiB");
  EXPECT_TRUE(W.observe("f", 3, 3).ok());
  EXPECT_TRUE(W.Log.finish().ok());
  LogText Text = textOf(Folder / "x.log");
  EXPECT_TRUE(Text.Failure.ok()) << Text.Failure.toString();
  EXPECT_EQ(Text.Lines.size(), 2u);
}

TEST(TrainingLogTest, AFullDiskStopsTheRecording) {
  Writing W("/dev/full");
  Status S = W.observe("f", 1, 1);
  EXPECT_EQ(S.message(), "recording to /dev/full stopped: No space left on "
                         "device");
  EXPECT_EQ(W.observe("f", 2, 1).message(), S.message());
  EXPECT_EQ(W.Log.reward(1).message(), S.message());
  EXPECT_EQ(W.Log.finish().message(), S.message());
}

TEST(TrainingLogTest, ALimitOfFilesKillsNobody) {
  TemporaryFolder Folder;
  int Result = inChild([&] {
    rlimit Limit = {1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &Limit);
    Writing W(Folder / "x.log");
    for (int I = 0; I < 100; ++I)
      if (Status S = W.observe("f", I, 1); !S)
        return S.message().find("a file may not have more than 1000 bytes") !=
                       std::string::npos
                   ? 0
                   : 1;
    return 2;
  });
  EXPECT_EQ(Result, 0);
  LogText Text = textOf(Folder / "x.log");
  EXPECT_TRUE(Text.Failure.ok());
  EXPECT_GT(Text.Lines.size(), 2u);
  EXPECT_TRUE(Text.Cut);
}

TEST(TrainingLogTest, AForkedChildLeavesTheLogAlone) {
  TemporaryFolder Folder;
  {
    Writing W(Folder / "x.log");
    ASSERT_TRUE(W.observe("f", 1, 1).ok());
    EXPECT_EQ(inChild([&] {
                bool Refused =
                    W.observe("f", 2, 2).code() == StatusCode::Forked &&
                    W.Log.reward(1).code() == StatusCode::Forked;
                LogWriter Gone = std::move(W.Log);
                return Refused ? 0 : 1;
              }),
              0);
    ASSERT_TRUE(W.Log.reward(7).ok());
  }
  LogText Text = textOf(Folder / "x.log");
  ASSERT_EQ(Text.Lines.size(), 1u);
  EXPECT_NE(Text.Lines[0].find(", 7"), std::string::npos);
}

TEST(TrainingLogTest, AKilledProcessLeavesAReadableLog) {
  TemporaryFolder Folder;
  // Large enough for a write to be interrupted.
  Signature Sig({TensorSpec::create<float>("x", {200'000})},
                TensorSpec::create<int64_t>("y"));
  unsigned Seed = 1;
  for (int Round = 0; Round < 12; ++Round) {
    std::string Path = Folder / (std::to_string(Round) + ".log");
    int Ready[2];
    ASSERT_EQ(::pipe(Ready), 0);
    pid_t Child = ::fork();
    if (Child == 0) {
      Writing W(Path, Sig);
      for (int64_t I = 0;; ++I) {
        set<int64_t>(W.Out, 0, {I});
        (void)W.Log.observe("f", W.In.views(), W.Out.views());
        if (I % 2)
          (void)W.Log.reward(double(I));
        if (I == 3)
          (void)!::write(Ready[1], "!", 1);
      }
    }
    char Byte;
    ASSERT_EQ(::read(Ready[0], &Byte, 1), 1);
    Seed = Seed * 1103515245 + 12345;
    uintmax_t Enough = 4'000'000 + Seed % 40'000'000;
    while (std::filesystem::file_size(Path) < Enough)
      continue;
    ::kill(Child, SIGKILL);
    ::waitpid(Child, nullptr, 0);
    ::close(Ready[0]);
    ::close(Ready[1]);
    LogText Text = textOf(Path);
    ASSERT_TRUE(Text.Failure.ok()) << Text.Failure.toString();
    ASSERT_GE(Text.Lines.size(), 4u);
    for (size_t I = 0; I < Text.Lines.size(); ++I) {
      bool Rewarded = I % 2 && (I + 1 < Text.Lines.size() || !Text.Cut);
      std::string Number = std::to_string(I);
      ASSERT_EQ(Text.Lines[I].find("f " + Number + ": ["), 0u);
      ASSERT_NE(
          Text.Lines[I].find("-> " + Number + ", " + (Rewarded ? Number : "")),
          std::string::npos);
    }
    std::filesystem::remove(Path);
  }
}
