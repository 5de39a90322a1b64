//===- CompilerFaultsTest.cpp - What a compiler can do wrong --------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BadCompilers.h"

#include "os/File.h"

#include <cmath>

using namespace cbridge;
using namespace cbridge::conformance;

namespace {

/// What a compiler does wrong before it hangs up, what the peer says to that,
/// and what its policy sees.
struct Attack {
  const char *Name;
  void (*Do)(BadCompilers &T);
  StatusCode Code; ///< Ok: the session does not break, or there is none
  const char *Says;
  const char *Seen;
};

const Attack Attacks[] = {
    {"DiesBeforeHello", [](BadCompilers &T) { T.connect(); }, StatusCode::Ok,
     "", ""},
    {"DiesInTheHeaderOfHello",
     [](BadCompilers &T) {
       T.connect();
       T.Compiler->send(headerBytes(T.Header).substr(0, 40));
     },
     StatusCode::PeerClosed, "after 40 bytes", ""},
    {"DiesInThePayloadOfHello",
     [](BadCompilers &T) {
       T.connect();
       T.Compiler->send(frameBytes(T.Header, helloWith(X, X)).substr(0, 80));
     },
     StatusCode::PeerClosed, "after 80 bytes", ""},
    {"DiesAfterHello", [](BadCompilers &T) { T.greet(); }, StatusCode::Ok, "",
     ""},
    {"DiesAfterAnEpisode",
     [](BadCompilers &T) {
       T.greet();
       T.exchange(5);
       T.send(FrameKind::End, "");
     },
     StatusCode::Ok, "", "5 done5"},
    {"DiesInARequest",
     [](BadCompilers &T) {
       T.greet();
       T.Header.Kind = FrameKind::Request;
       T.Header.Sequence = 1;
       T.Compiler->send(frameBytes(T.Header, T.encodedX(1)).substr(0, 70));
     },
     StatusCode::PeerClosed, "after 70 bytes", ""},
    {"DiesInItsSecondRequest",
     [](BadCompilers &T) {
       T.greet();
       T.exchange(5);
       T.Header.Sequence = 2;
       T.Compiler->send(frameBytes(T.Header, T.encodedX(6)).substr(0, 70));
     },
     StatusCode::PeerClosed, "after 70 bytes", "5 done!5"},
    {"DiesBeforeItsReply",
     [](BadCompilers &T) {
       T.Holds = true;
       T.greet();
       T.request(5);
       T.pumpUntil([&] { return T.P->awaitsReply(); });
       T.hangUp();
       T.Holds = false;
       decide(*T.P, 6);
     },
     StatusCode::PeerClosed, "closed", "5 done!5"},
    {"DiesBeforeItsFailure",
     [](BadCompilers &T) {
       T.Holds = true;
       T.greet();
       T.request(5);
       T.pumpUntil([&] { return T.P->awaitsReply(); });
       T.hangUp();
       T.Holds = false;
       (void)T.P->fail("too late");
     },
     StatusCode::PeerClosed, "closed", "5 done!5"},
    {"DiesAfterItsReply",
     [](BadCompilers &T) {
       T.greet();
       T.exchange(5);
       T.exchange(6);
     },
     StatusCode::PeerClosed, "closed", "5 6 done!6"},
    {"SaysByeInsideAnEpisode",
     [](BadCompilers &T) {
       T.greet();
       T.exchange(5);
       T.send(FrameKind::Bye, "");
     },
     StatusCode::Ok, "", "5 done5"},
    {"EndsWhatNeverBegan",
     [](BadCompilers &T) {
       T.greet();
       T.send(FrameKind::End, "");
       T.Header.Runner = 99;
       T.send(FrameKind::End, "");
       T.send(FrameKind::Bye, "");
     },
     StatusCode::Ok, "", ""},
    {"ManyRunnersInOneSession",
     [](BadCompilers &T) {
       T.greet();
       T.exchange(5);
       T.Header.Runner = 2;
       T.exchange(6);
     },
     StatusCode::PeerClosed, "closed", "5 6 done!5 done!6"},
    {"SendsGarbage",
     [](BadCompilers &T) {
       T.connect();
       T.Compiler->send(std::string(10'000, 'z'));
     },
     StatusCode::Protocol, "no frame", ""},
    {"SendsGarbageAfterAReply",
     [](BadCompilers &T) {
       T.greet();
       T.exchange(5);
       T.Compiler->send(std::string(10'000, 'z'));
     },
     StatusCode::Protocol, "no frame", "5 done!5"},
    {"SendsGarbageOutOfTurn",
     [](BadCompilers &T) {
       T.connect(Manners::Rude);
       T.Compiler->send("GET / HTTP/1.1\r\n\r\n");
     },
     StatusCode::Protocol, "no frame", ""},
    {"ComesOutOfTurnForNothing",
     [](BadCompilers &T) { T.connect(Manners::Rude); }, StatusCode::Ok, "", ""},
    {"AnnouncesTooMuch",
     [](BadCompilers &T) {
       T.greet();
       T.Header.Kind = FrameKind::Request;
       T.Header.Length = uint64_t(1) << 62;
       T.Compiler->send(headerBytes(T.Header));
       T.settle(1); // it does not wait for the rest
     },
     StatusCode::Protocol, "announces 4611686018427387904", ""},
    {"AnnouncesAHugeHello",
     [](BadCompilers &T) {
       T.connect();
       T.Header.Length = uint64_t(1) << 62;
       T.Compiler->send(headerBytes(T.Header));
       T.settle(1);
     },
     StatusCode::Protocol, "announces 4611686018427387904", ""},
    {"AsksBeforeHello",
     [](BadCompilers &T) {
       T.connect();
       T.request(5);
     },
     StatusCode::Protocol, "does not start with a hello", ""},
    {"SaysHelloTwice",
     [](BadCompilers &T) {
       T.greet();
       T.exchange(5);
       T.send(FrameKind::Hello, helloWith(X, X));
     },
     StatusCode::Protocol, "kind 1 from a compiler", "5 done!5"},
    {"SpeaksAsAPeer",
     [](BadCompilers &T) {
       T.greet();
       T.send(FrameKind::Reply, T.encodedX(1));
     },
     StatusCode::Protocol, "kind 4 from a compiler", ""},
    {"ChangesItsSession",
     [](BadCompilers &T) {
       T.greet();
       T.exchange(5);
       T.Header.Session ^= 1;
       T.request(6);
     },
     StatusCode::Protocol, "another session", "5 done!5"},
    {"SkipsASequenceNumber",
     [](BadCompilers &T) {
       T.greet();
       T.Header.Sequence = 1;
       T.request(5);
     },
     StatusCode::Protocol, "request 2 after 0", ""},
    {"RepeatsASequenceNumber",
     [](BadCompilers &T) {
       T.greet();
       T.exchange(5);
       T.Header.Sequence = 0;
       T.request(6);
     },
     StatusCode::Protocol, "request 1 after 1", "5 done!5"},
    {"SendsAnEmptyRequest",
     [](BadCompilers &T) {
       T.greet();
       T.Header.Sequence = 1;
       T.send(FrameKind::Request, "");
     },
     StatusCode::Protocol, "", ""},
    {"SendsAGarbledSecondRequest",
     [](BadCompilers &T) {
       T.greet();
       T.exchange(5);
       T.Header.Sequence = 2;
       T.send(FrameKind::Request, "garbled");
     },
     StatusCode::Protocol, "", "5 done!5"},
    {"RewardsWithInfinity",
     [](BadCompilers &T) {
       T.greet();
       T.exchange(5);
       T.Header.Flags = FrameHeader::HasReward;
       T.Header.Reward = INFINITY;
       T.request(6);
     },
     StatusCode::Protocol, "reward", "5 done!5"},
    {"EndsWithARewardThatIsNotANumber",
     [](BadCompilers &T) {
       T.greet();
       T.exchange(5);
       T.Header.Flags = FrameHeader::HasReward;
       T.Header.Reward = NAN;
       T.send(FrameKind::End, "");
     },
     StatusCode::Protocol, "reward", "5 done!5"},
    {"WantsAnUnknownSerializer",
     [](BadCompilers &T) {
       sendHello(T, Hello{"morse", oneNumber()}.encode());
     },
     StatusCode::Unsupported, "'morse'", ""},
    {"SaysNothingInHello", [](BadCompilers &T) { sendHello(T, ""); },
     StatusCode::Protocol, "hello", ""},
    {"SaysNonsenseInHello",
     [](BadCompilers &T) { sendHello(T, "{\"serdes\":[[[["); },
     StatusCode::Protocol, "hello", ""},
    {"WantsNoDecision", [](BadCompilers &T) { sendHello(T, helloWith(X, "")); },
     StatusCode::Protocol, "no decision", ""},
    {"SendsFeaturesOfOneName",
     [](BadCompilers &T) {
       std::string Twice = std::string(X) + "," + X;
       sendHello(T, helloWith(Twice.c_str(), X));
     },
     StatusCode::Protocol, "'x'", ""},
    {"HasAFeatureOfAbsurdSize",
     [](BadCompilers &T) {
       sendHello(T,
                 helloWith("{\"name\":\"huge\",\"shape\":[4611686018427387904,"
                           "4611686018427387904]}",
                           X));
     },
     StatusCode::Protocol, "'huge'", ""},
    {"HasAFeatureOfAbsurdRank",
     [](BadCompilers &T) {
       sendHello(T, helloWith("{\"name\":\"deep\",\"shape\":"
                              "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}",
                              X));
     },
     StatusCode::Protocol, "8", ""},
    {"HasANegativeExtent",
     [](BadCompilers &T) {
       sendHello(T, helloWith("{\"name\":\"less\",\"shape\":[-2]}", X));
     },
     StatusCode::Protocol, "'less'", ""},
    {"WantsADecisionOfTenGigabytes",
     [](BadCompilers &T) {
       sendHello(T, helloWith(X, "{\"name\":\"y\",\"shape\":[2500000000]}"));
     },
     StatusCode::OutOfMemory, "'y'", ""},
    {"WantsADecisionOfManyStrings",
     [](BadCompilers &T) {
       sendHello(T,
                 helloWith(X, "{\"name\":\"y\",\"type\":\"string\",\"shape\":"
                              "[1000000000000]}"));
     },
     StatusCode::OutOfMemory, "'y'", ""},
};

class CompilerFault
    : public BadCompilers,
      public ::testing::WithParamInterface<
          std::tuple<const ChannelUnderTest *, std::string, const Attack *>> {
public:
  CompilerFault()
      : BadCompilers(std::get<0>(GetParam()), std::get<1>(GetParam())),
        A(*std::get<2>(GetParam())) {}
  const Attack &A;
};

/// A fault after which the compiler may still listen.
class ExplainedFault : public CompilerFault {};

std::vector<const Attack *> attacks(bool OnlyExplained) {
  std::vector<const Attack *> List;
  for (const Attack &A : Attacks)
    if (!OnlyExplained ||
        (A.Code != StatusCode::Ok && A.Code != StatusCode::PeerClosed))
      List.push_back(&A);
  return List;
}

std::string
attackName(const ::testing::TestParamInfo<CompilerFault::ParamType> &Info) {
  return ChannelAndSerdesNamer()(Info) + "_" + std::get<2>(Info.param)->Name;
}

CBRIDGE_FOR_EVERY_CHANNEL_AND(CompilerFault, attacks(false), attackName);
CBRIDGE_FOR_EVERY_CHANNEL_AND(ExplainedFault, attacks(true), attackName);

/// So many sessions break: half a hello, or half a request before any episode,
/// does not come where there are no half messages.
size_t broken(const ChannelUnderTest &Channel, const Attack &A) {
  std::string_view Says = A.Says;
  bool HalfAHello = Says == "after 40 bytes" || Says == "after 80 bytes";
  bool HalfABegin = Says == "after 70 bytes" && A.Seen[0] == '\0';
  return A.Code != StatusCode::Ok && !(Channel.OwnFraming && HalfAHello) &&
         !((Channel.WholeMessages || Channel.HidesHalves) && HalfABegin);
}

/// A call with another session does not get to this one, which then ends
/// because the compiler hangs up.
bool missesItsSession(const ChannelUnderTest &Channel, const Attack &A) {
  return Channel.AnswersOnce && A.Says == std::string_view("another session");
}

TEST_P(CompilerFault, EndsItsOwnSessionOnly) {
  size_t Wanted = broken(Channel, A);
  A.Do(*this);
  hangUp();
  settle(Wanted);
  ASSERT_EQ(Errors.size(), Wanted) << Errors.back().toString();
  if (Wanted) {
    bool Misses = missesItsSession(Channel, A);
    EXPECT_EQ(Errors[0].code(), Misses ? StatusCode::PeerClosed : A.Code)
        << Errors[0].toString();
    std::string_view Says = Misses ? "closed" : A.Says;
    bool OfFrames = Says == "no frame" || Says.rfind("announces", 0) == 0;
    bool Other = (Channel.WholeMessages && Says == "after 70 bytes") ||
                 (Channel.OwnFraming && OfFrames);
    EXPECT_NE(Errors[0].message().find(Other ? "" : Says), std::string::npos)
        << Errors[0].message();
  }
  EXPECT_EQ(Seen, A.Seen);
  expectServes();
  EXPECT_EQ(Errors.size(), Wanted) << Errors.back().toString();
}

TEST_P(ExplainedFault, IsExplainedToTheCompiler) {
  if (missesItsSession(Channel, A))
    GTEST_SKIP() << "the call alone fails";
  A.Do(*this);
  std::string Why;
  // Whatever came before, the last word says that and why the session ended.
  pumpUntil([&] {
    while (auto F = Compiler->receiveFrame(Deadline::in(seconds(0))))
      if (F->Header.Kind == FrameKind::Failure) {
        EXPECT_EQ(F->Header.Flags, FrameHeader::EndsSession);
        Why = F->Payload;
      }
    return !Why.empty();
  });
  ASSERT_FALSE(Errors.empty());
  EXPECT_EQ(Why, Errors[0].message());
}

class AllFaults : public BadCompilers,
                  public ::testing::WithParamInterface<ChannelAndSerdes> {
protected:
  AllFaults()
      : BadCompilers(std::get<0>(GetParam()), std::get<1>(GetParam())) {}
};
CBRIDGE_FOR_EVERY_CHANNEL(AllFaults);

TEST_P(AllFaults, CostNothingThatStays) {
  auto Round = [this](const Attack &A) {
    SCOPED_TRACE(A.Name);
    Errors.clear();
    Seen.clear();
    A.Do(*this);
    hangUp();
    settle(broken(Channel, A));
    ASSERT_EQ(Seen, A.Seen) << A.Name;
  };
  for (const Attack &A : Attacks)
    Round(A);
  Errors = std::vector<Status>();
  size_t Files = openFiles(), Heap = heapInUse();
  for (size_t I = 0; I < size_t(times(1000)); ++I)
    Round(Attacks[I % std::size(Attacks)]);
  Errors = std::vector<Status>();
  // gRPC closes its own a little later.
  Deadline Until = Channel.KeepsFiles ? soon() : Deadline::past();
  for (os::Backoff Pause; openFiles() > Files && Pause.pause(Until);) {
  }
  EXPECT_LE(openFiles(), Files);
  EXPECT_LT(heapInUse(), Heap + 100'000 + Channel.KeepsBytes);
  expectServes();
}

} // namespace
