//===- InteractiveHostTest.cpp - Tests of the host ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InteractiveHost.h"

#include "FakeCompiler.h"
#include "ModelAdvisor.h"

#include "runner/TestEngine.h"

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cbridge;

namespace {

class InteractiveHostTest : public testing::Test {
protected:
  InteractiveHostTest() : Folder(*os::makePrivateDirectory()) {}
  ~InteractiveHostTest() override { std::filesystem::remove_all(Folder); }

  std::string base(const std::string &Name) const {
    return Folder + "/" + Name;
  }
  InteractiveHost open(std::vector<std::string> Names) const {
    for (std::string &Name : Names)
      Name = base(Name);
    Expected<InteractiveHost> Host = InteractiveHost::open(Names);
    EXPECT_TRUE(Host) << Host.status().toString();
    return std::move(*Host);
  }
  /// The next question, of which there must be one.
  static const InteractiveQuestion &next(InteractiveHost &Host) {
    Expected<const InteractiveQuestion *> Q =
        Host.next(Deadline::in(std::chrono::seconds(10)));
    EXPECT_TRUE(Q && *Q) << Q.status().toString();
    return **Q;
  }
  static bool isQuiet(InteractiveHost &Host) {
    Expected<const InteractiveQuestion *> Q = Host.next(Deadline::past());
    return !Q && Q.status().code() == StatusCode::Timeout;
  }
  template <typename T> static bool reply(InteractiveHost &Host, T Value) {
    unsigned char Advice[sizeof(T)];
    std::memcpy(Advice, &Value, sizeof(T));
    Expected<bool> Sent = Host.reply(Advice);
    EXPECT_TRUE(Sent) << Sent.status().toString();
    return Sent && *Sent;
  }
  const std::string Folder;
};

TEST_F(InteractiveHostTest, FilesAreOursAlone) {
  {
    InteractiveHost Host = open({"a"});
    for (const char *Ending : {".in", ".out"}) {
      struct stat Info;
      ASSERT_EQ(::stat((base("a") + Ending).c_str(), &Info), 0);
      EXPECT_TRUE(S_ISFIFO(Info.st_mode));
      EXPECT_EQ(Info.st_mode & 0777, 0600U);
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(Folder));
}

TEST_F(InteractiveHostTest, RefusesABaseThatIsInUse) {
  InteractiveHost Host = open({"a"});
  std::string Bases[] = {base("a")};
  Expected<InteractiveHost> Second = InteractiveHost::open(Bases);
  ASSERT_FALSE(Second);
  EXPECT_NE(Second.status().message().find("is in use"), std::string::npos);
  FakeCompiler Compiler(base("a")); // the first is unharmed
  Compiler.write(headerOf(prioritySignature()) +
                 observation(0, priorityTensors(1, 0, 1)));
  EXPECT_EQ(next(Host).Ordinal, 0U);
}

TEST_F(InteractiveHostTest, ReplacesWhatADeadHostLeft) {
  ASSERT_EQ(::mkfifo((base("a") + ".in").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((base("a") + ".out").c_str(), 0600), 0);
  open({"a"});
  std::ofstream(base("b") + ".in") << "a file";
  std::string Bases[] = {base("b")};
  Expected<InteractiveHost> Host = InteractiveHost::open(Bases);
  ASSERT_FALSE(Host);
  EXPECT_NE(Host.status().message().find("is not a FIFO"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(base("b") + ".in"));
}

TEST_F(InteractiveHostTest, AnswersACompiler) {
  InteractiveHost Host = open({"a"});
  EXPECT_TRUE(isQuiet(Host));
  FakeCompiler Compiler(base("a"));
  EXPECT_TRUE(isQuiet(Host));
  Compiler.write(headerOf(prioritySignature()) + contextLine("main") +
                 observation(0, priorityTensors(7, 0, 1)));
  const InteractiveQuestion &Q = next(Host);
  EXPECT_EQ(Q.Context, "main");
  EXPECT_EQ(Q.Features[0].as<int64_t>()[0], 7);
  EXPECT_EQ(*Q.Sig, prioritySignature());
  EXPECT_TRUE(reply(Host, 42.0F));
  EXPECT_EQ(Compiler.answer<float>(), 42.0F);
  EXPECT_FALSE(Host.reply({}).ok()); // nobody waits
  Compiler.write(observation(1, priorityTensors(8, 0, 1)));
  EXPECT_EQ(next(Host).Ordinal, 1U);
  EXPECT_EQ(Host.counts(0).Questions, 2U);
  EXPECT_EQ(Host.counts(0).Compilers, 1U);
}

TEST_F(InteractiveHostTest, OneCompilerAfterTheOther) {
  InteractiveHost Host = open({"a"});
  for (int I = 0; I < 3; ++I) {
    FakeCompiler Compiler(base("a"));
    Compiler.write(headerOf(prioritySignature()) +
                   observation(0, priorityTensors(I, 0, 1)));
    EXPECT_EQ(next(Host).Features[0].as<int64_t>()[0], I);
    reply(Host, 1.0F);
    EXPECT_EQ(Compiler.answer<float>(), 1.0F);
    // Whether or not it sees the end of each.
    EXPECT_TRUE(I != 1 || isQuiet(Host));
  }
  EXPECT_TRUE(isQuiet(Host));
  EXPECT_EQ(Host.counts(0).Compilers, 3U);
}

TEST_F(InteractiveHostTest, AnswersOfTheDeadDoNotReachTheLiving) {
  InteractiveHost Host = open({"a"});
  {
    FakeCompiler Dies(base("a"));
    Dies.write(headerOf(prioritySignature()) +
               observation(0, priorityTensors(1, 0, 1)));
    next(Host);
    reply(Host, 1.0F); // which it does not fetch
    Dies.write("{\"observa");
  }
  EXPECT_TRUE(isQuiet(Host));
  FakeCompiler Compiler(base("a"));
  Compiler.write(headerOf(prioritySignature()) +
                 observation(0, priorityTensors(2, 0, 1)));
  next(Host);
  EXPECT_FALSE(Compiler.hasAnswer());
  reply(Host, 2.0F);
  EXPECT_EQ(Compiler.answer<float>(), 2.0F);
}

TEST_F(InteractiveHostTest, ACompilerThatNeverAsksLeavesNothing) {
  InteractiveHost Host = open({"a"});
  {
    FakeCompiler Silent(base("a"));
  }
  {
    FakeCompiler(base("a")).write(headerOf(prioritySignature()));
  }
  EXPECT_TRUE(isQuiet(Host));
  EXPECT_TRUE(isQuiet(Host)); // and does not make it spin
  EXPECT_EQ(Host.counts(0).Questions, 0U);
}

TEST_F(InteractiveHostTest, SeveralChannelsInTurn) {
  InteractiveHost Host = open({"evict", "priority"});
  FakeCompiler Evict(base("evict")), Priority(base("priority"));
  Evict.write(headerOf(evictionSignature()) +
              observation(0, evictionTensors({1, 1, 1}, {1, 1, 1})));
  Priority.write(headerOf(prioritySignature()) +
                 observation(0, priorityTensors(1, 0, 1)));
  for (int I = 0; I < 2; ++I) {
    const InteractiveQuestion &Q = next(Host);
    if (Q.Channel == 0)
      reply<int64_t>(Host, 1);
    else
      reply(Host, 5.0F);
  }
  EXPECT_EQ(Evict.answer<int64_t>(), 1);
  EXPECT_EQ(Priority.answer<float>(), 5.0F);
}

TEST_F(InteractiveHostTest, IllegalAnswersAreReplacedAndCounted) {
  InteractiveHost Host = open({"a"});
  FakeCompiler Compiler(base("a"));
  Compiler.write(headerOf(evictionSignature()));
  uint64_t Ordinal = 0;
  for (int64_t Wrong : {0, 3, -1}) {
    Compiler.write(
        observation(Ordinal++, evictionTensors({0, 1, 1}, {0, 0.1F, 0.5F})));
    next(Host);
    EXPECT_FALSE(reply(Host, Wrong));
    EXPECT_EQ(Compiler.answer<int64_t>(), 1);
  }
  EXPECT_EQ(Host.counts(0).Replaced, 3U);
}

TEST_F(InteractiveHostTest, WhatIsNotAnsweredGetsTheDefault) {
  InteractiveHost Host = open({"a"});
  FakeCompiler Compiler(base("a"));
  Compiler.write(headerOf(evictionSignature()) +
                 observation(0, evictionTensors({1, 0, 1}, {9, 0, 1})));
  next(Host);
  EXPECT_TRUE(isQuiet(Host));
  EXPECT_EQ(Compiler.answer<int64_t>(), 2);
}

TEST_F(InteractiveHostTest, AnAnswerOfAnotherSizeIsRefused) {
  InteractiveHost Host = open({"a"});
  FakeCompiler Compiler(base("a"));
  Compiler.write(headerOf(prioritySignature()) +
                 observation(0, priorityTensors(1, 0, 1)));
  next(Host);
  unsigned char Eight[8] = {};
  EXPECT_EQ(Host.reply(Eight).status().message(),
            "advice 'priority': the compiler wants float[1], not 8 bytes");
  EXPECT_TRUE(reply(Host, 1.0F)); // it still waits
}

TEST_F(InteractiveHostTest, EndsWhenToldTo) {
  InteractiveHost Host = open({"a"});
  int Ends[2];
  ASSERT_EQ(::pipe2(Ends, O_CLOEXEC), 0);
  os::File Near(Ends[0]), Far(Ends[1]);
  Far.close();
  Expected<const InteractiveQuestion *> Q =
      Host.next(Deadline::never(), Near.get());
  ASSERT_TRUE(Q);
  EXPECT_EQ(*Q, nullptr);
}

TEST_F(InteractiveHostTest, ALiarIsNamed) {
  InteractiveHost Host = open({"a"});
  FakeCompiler Compiler(base("a"));
  Compiler.write("what?\n");
  Expected<const InteractiveQuestion *> Q =
      Host.next(Deadline::in(std::chrono::seconds(10)));
  ASSERT_FALSE(Q);
  EXPECT_EQ(Q.status().code(), StatusCode::Protocol);
  EXPECT_EQ(Q.status().message().find(base("a") + ".out: the header"), 0U);
}

class ModelAdvisorTest : public InteractiveHostTest {
protected:
  ModelAdvisorTest() : Host(open({"a"})), Compiler(base("a")) {
    Compiler.write(headerOf(evictionSignature()) + contextLine("f"));
  }
  /// What the compiler gets for a mask of two.
  int64_t ask(ModelAdvisor &Advisor) {
    Compiler.write(
        observation(Ordinal++, evictionTensors({0, 1, 1}, {0, 0.1F, 0.5F})));
    EXPECT_TRUE(Host.reply(Advisor.answer(next(Host))).ok());
    return Compiler.answer<int64_t>();
  }
  InteractiveHost Host;
  FakeCompiler Compiler;
  uint64_t Ordinal = 0;
};

TEST_F(ModelAdvisorTest, TheModelDecides) {
  std::string Context;
  Registry Schemes = testScheme(
      [&](const TensorStorage &In, TensorStorage &Out, const Call &C) {
        Context = C.Context;
        put<int64_t>(Out, 0, In.view(0).as<int64_t>()[2] ? 2 : 0);
        return Status();
      });
  ModelAdvisor Advisor("test:", &Schemes);
  EXPECT_EQ(ask(Advisor), 2);
  EXPECT_EQ(Context, "f");
  EXPECT_EQ(Advisor.decisions(), 1U);
  EXPECT_TRUE(Advisor.failure().ok());
}

TEST_F(ModelAdvisorTest, IllegalDecisionsAreNoFailure) {
  ModelAdvisor Advisor("constant:0");
  EXPECT_EQ(ask(Advisor), 1);
  EXPECT_EQ(ask(Advisor), 1);
  EXPECT_EQ(Advisor.replaced(), 2U);
  EXPECT_TRUE(Advisor.failure().ok());
  EXPECT_NE(Advisor.illegal().message().find("masked out"), std::string::npos);
}

TEST_F(ModelAdvisorTest, AFailureIsForGood) {
  int Calls = 0;
  Registry Schemes =
      testScheme([&](const TensorStorage &, TensorStorage &Out, const Call &) {
        if (++Calls > 1)
          return Status::error(StatusCode::ModelError, "tired");
        put<int64_t>(Out, 0, 2);
        return Status();
      });
  ModelAdvisor Advisor("test:", &Schemes);
  EXPECT_EQ(ask(Advisor), 2);
  EXPECT_EQ(ask(Advisor), 1);
  EXPECT_EQ(ask(Advisor), 1);
  EXPECT_EQ(Calls, 2);
  EXPECT_EQ(Advisor.failure().message(), "tired");
  EXPECT_EQ(Advisor.decisions(), 1U);
}

TEST_F(ModelAdvisorTest, AModelThatIsNotThereIsAFailure) {
  ModelAdvisor Absent("pipe:" + base("nobody")), Wrong("what:");
  EXPECT_EQ(ask(Absent), 1);
  EXPECT_FALSE(Absent.failure().ok());
  EXPECT_EQ(ask(Wrong), 1);
  EXPECT_NE(Wrong.failure().message().find("what:"), std::string::npos);
}

} // namespace
