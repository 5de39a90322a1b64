//===- InteractiveStreamTest.cpp - Tests of what LLVM asks ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InteractiveStream.h"

#include "FakeCompiler.h"

#include <algorithm>
#include <fstream>
#include <iterator>

using namespace cbridge;

namespace {

using Event = InteractiveStream::Event;

/// Gives it Text in pieces; one line per event, the failure at last.
std::vector<std::string> eventsOf(InteractiveStream &In,
                                  const std::string &Text, size_t Piece) {
  std::vector<std::string> Events;
  for (size_t At = 0; At < Text.size(); At += Piece) {
    size_t Count = std::min(Piece, Text.size() - At);
    MutableBytes To = In.space();
    EXPECT_GE(To.size(), Count);
    std::memcpy(To.data(), Text.data() + At, Count);
    In.filled(Count);
    for (;;) {
      Expected<Event> E = In.next();
      if (!E) {
        Events.push_back(E.status().message());
        return Events;
      }
      if (*E == Event::Nothing)
        break;
      Events.push_back(
          *E == Event::Began
              ? "began " + In.signature().outputs()[0].name()
              : In.context() + " " + std::to_string(In.ordinal()) + ": " +
                    std::to_string(In.features()[0].as<int64_t>()[0]));
    }
  }
  return Events;
}

std::vector<std::string> eventsOf(const std::string &Text,
                                  size_t Piece = ~size_t(0)) {
  InteractiveStream In;
  return eventsOf(In, Text, std::min(Piece, Text.size()));
}

std::string session() {
  return headerOf(prioritySignature()) + contextLine("f") +
         observation(0, priorityTensors(10, 0, 1)) +
         observation(1, priorityTensors(0x0a0a0a0a, 1, 2)) + contextLine("g") +
         observation(0, priorityTensors(12, 0, 3));
}

const std::vector<std::string> SessionEvents = {"began priority", "f 0: 10",
                                                "f 1: 168430090", "g 0: 12"};

TEST(InteractiveStream, ReadsQuestionsHoweverTheyArrive) {
  for (size_t Piece : {1, 2, 3, 7, 20, 21, 100, 100000})
    EXPECT_EQ(eventsOf(session(), Piece), SessionEvents) << Piece;
}

TEST(InteractiveStream, FeaturesAreWhatWasSent) {
  InteractiveStream In;
  eventsOf(In, session(), 13);
  ASSERT_EQ(In.features().size(), 3U);
  EXPECT_EQ(In.features()[2].as<float>()[0], 3.0F);
}

TEST(InteractiveStream, ReadsWhatLlvmWrites) {
  std::ifstream File(std::string(CBRIDGE_TESTS_DIR) +
                         "/golden/log_interactive.log",
                     std::ios::binary);
  std::string Text{std::istreambuf_iterator<char>(File), {}};
  std::vector<std::string> Events = eventsOf(Text, 11);
  ASSERT_GE(Events.size(), 2U);
  EXPECT_EQ(Events[0], "began inlining_decision");
  EXPECT_EQ(Events[1].substr(0, 4), " 0: ");
}

TEST(InteractiveStream, ASecondCompilerMayFollowAtOnce) {
  std::vector<std::string> Twice = SessionEvents;
  Twice.insert(Twice.end(), SessionEvents.begin(), SessionEvents.end());
  EXPECT_EQ(eventsOf(session() + session(), 17), Twice);
}

TEST(InteractiveStream, ResetForgetsHalfAQuestion) {
  InteractiveStream In;
  EXPECT_FALSE(In.begun());
  eventsOf(In, session().substr(0, session().size() - 9), 50);
  EXPECT_TRUE(In.begun());
  In.reset();
  EXPECT_FALSE(In.begun());
  EXPECT_EQ(eventsOf(In, session(), 50), SessionEvents);
}

TEST(InteractiveStream, RefusesWhatItCannotTrust) {
  auto Last = [](const std::string &Text) { return eventsOf(Text).back(); };
  auto Has = [](const std::string &Text, const std::string &Part) {
    return Text.find(Part) != std::string::npos;
  };
  std::string Spec = R"({"name":"a","type":"int64_t","port":0,"shape":[1]})";
  auto Header = [&](const std::string &Features, const std::string &Advice) {
    return "{\"features\":[" + Features + "]" +
           (Advice.empty() ? "" : ",\"advice\":" + Advice) + "}\n";
  };
  EXPECT_PRED2(Has, Last("nonsense\n"), "header");
  EXPECT_PRED2(Has, Last(Header(Spec, "")), "no \"advice\"");
  EXPECT_PRED2(Has, Last(Header(Spec + "," + Spec, Spec)), "'a'");
  EXPECT_PRED2(
      Has,
      Last(Header(
          R"({"name":"a","type":"int64_t","port":0,"shape":[1000000000]})",
          Spec)),
      "features of more than");
  EXPECT_PRED2(
      Has,
      Last(Header(Spec,
                  R"({"name":"a","type":"int64_t","port":0,"shape":[513]})")),
      "advice 'a' is int64_t[513]");
  EXPECT_PRED2(
      Has,
      Last(Header(Spec,
                  R"({"name":"a","type":"int64_t","port":0,"shape":[0]})")),
      "advice 'a'");
  EXPECT_PRED2(
      Has,
      Last(
          Header(R"({"name":"a","type":"string","port":0,"shape":[1]})", Spec)),
      "'a' is string[1]");
  EXPECT_PRED2(Has, Last(headerOf(prioritySignature()) + "{\"x\":1}\n"),
               "features");
  std::string Late = headerOf(prioritySignature()) +
                     observation(0, priorityTensors(1, 1, 1) + "x");
  EXPECT_PRED2(Has, Last(Late), "end of a line");
}

TEST(InteractiveStream, AFailureStays) {
  InteractiveStream In;
  eventsOf(In, "nonsense\n", 9);
  MutableBytes To = In.space();
  std::memcpy(To.data(), session().data(), 5);
  In.filled(5);
  EXPECT_FALSE(In.next().ok());
}

TEST(InteractiveStream, AnEndlessLineTakesNoEndlessMemory) {
  InteractiveStream In;
  std::vector<std::string> Events =
      eventsOf(In, std::string(size_t(17) << 20, 'x'), 60000);
  ASSERT_EQ(Events.size(), 1U);
  EXPECT_EQ(Events[0], "a line of more than 16 MiB");
}

} // namespace
