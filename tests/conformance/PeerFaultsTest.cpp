//===- PeerFaultsTest.cpp - The peer against bad compilers ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ChannelFixture.h"

#include "channel/Handshake.h"
#include "os/File.h"
#include "serdes/Serializer.h"

#include <cmath>
#include <cstring>
#include <future>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cbridge;
using namespace cbridge::conformance;

namespace {

/// A peer that the test drives by hand, in its own thread, and one raw compiler
/// after the other.
class BadCompilers : public ChannelFixture {
public:
  using ChannelFixture::ChannelFixture;

  void SetUp() override {
    ChannelFixture::SetUp();
    PeerOptions Options;
    Options.OnSessionError = [this](const Status &Why) {
      Errors.push_back(Why);
    };
    Expected<Peer> Opened = Peer::open(Address, std::move(Options));
    ASSERT_TRUE(Opened) << Opened.status().toString();
    P.emplace(std::move(*Opened));
  }
  void TearDown() override {
    Compiler.reset();
    P.reset();
    ChannelFixture::TearDown();
  }

  /// Lets the peer take one step. It answers y = x + 1, unless it Holds back.
  void pump(milliseconds Wait = milliseconds(0)) {
    if (P->awaitsReply())
      return;
    auto R = P->next(Deadline::in(Wait));
    if (!R) {
      ASSERT_EQ(R.status().code(), StatusCode::Timeout)
          << R.status().toString();
      return;
    }
    Seen += (Seen.empty() ? "" : " ") +
            std::string((*R)->done() ? "done" : "") +
            ((*R)->truncated() ? "!" : "") + std::to_string(asked(**R));
    if (!Holds)
      increment(*P, **R);
  }
  template <typename Condition> void pumpUntil(Condition Reached) {
    for (Deadline Until = soon(); !Reached(); pump(milliseconds(1)))
      ASSERT_FALSE(Until.passed()) << "the peer does not get there";
  }

  void connect(Manners How = Manners::Polite) {
    pumpUntil([&] {
      Compiler = Channel.MakeCompiler(Address, How);
      return Compiler != nullptr;
    });
    Header = FrameHeader();
    Header.Session = 4711;
    Header.Runner = 1;
  }
  void send(FrameKind Kind, std::string_view Payload) {
    Header.Kind = Kind;
    ASSERT_TRUE(Compiler->send(Header, Payload));
  }
  /// Sends more than fits into a pipe while the peer reads.
  void sendLarge(const std::string &Data) {
    auto Sent =
        std::async(std::launch::async, [&] { return Compiler->send(Data); });
    pumpUntil(
        [&] { return Sent.wait_for(seconds(0)) == std::future_status::ready; });
    EXPECT_TRUE(Sent.get());
  }
  std::optional<RawFrame> answer() {
    std::optional<RawFrame> F;
    pumpUntil([&] {
      F = Compiler->receiveFrame(Deadline::in(seconds(0)));
      return F.has_value();
    });
    return F;
  }
  void greet() {
    connect();
    send(FrameKind::Hello, Hello{Serdes, oneNumber()}.encode());
    auto F = answer();
    ASSERT_TRUE(F);
    EXPECT_EQ(F->Header.Kind, FrameKind::Welcome);
  }
  std::string encodedX(int64_t X) {
    TensorStorage Features(oneNumber().inputs());
    std::memcpy(Features.bytes(0).data(), &X, sizeof(X));
    Message To;
    EXPECT_TRUE(makeSerializer(Serdes)->encode(Features.views(), To).ok());
    std::string Payload(asText(To.own()));
    for (Bytes Piece : To.lent())
      Payload += asText(Piece);
    return Payload;
  }
  void request(int64_t X) {
    ++Header.Sequence;
    send(FrameKind::Request, encodedX(X));
  }
  /// One question and its answer.
  void exchange(int64_t X) {
    request(X);
    auto F = answer();
    ASSERT_TRUE(F);
    EXPECT_EQ(F->Header.Kind, FrameKind::Reply);
    EXPECT_EQ(F->Header.Sequence, Header.Sequence);
  }
  void hangUp() { Compiler.reset(); }
  /// The peer notices all that happened so far.
  void settle(size_t ErrorsWanted) {
    pumpUntil([&] { return Errors.size() >= ErrorsWanted; });
    for (int Step = 0; Step < 10; ++Step)
      pump();
  }
  /// The same peer serves a healthy compiler.
  void expectServes() {
    Seen.clear();
    auto Healthy = std::async(std::launch::async, [this] { expectServed(); });
    pumpUntil([&] {
      return Healthy.wait_for(seconds(0)) == std::future_status::ready;
    });
    Healthy.get();
    pumpUntil([&] { return Seen == "41 -1000 7 done7"; });
  }

  std::optional<Peer> P;
  std::unique_ptr<RawEnd> Compiler;
  FrameHeader Header;
  std::vector<Status> Errors;
  std::string Seen;
  bool Holds = false;
};

/// What a compiler does wrong before it hangs up, what the peer says to that,
/// and what its policy sees.
struct Attack {
  const char *Name;
  void (*Do)(BadCompilers &T);
  StatusCode Code; ///< Ok: the session does not break, or there is none
  const char *Says;
  const char *Seen;
};

void sendHello(BadCompilers &T, const std::string &Payload) {
  T.connect();
  T.send(FrameKind::Hello, Payload);
}

std::string helloWith(const char *Features, const char *Decision) {
  return std::string("{\"serdes\":\"json\",\"features\":[") + Features +
         "],\"decision\":[" + Decision + "]}";
}

const char *const X = "{\"name\":\"x\",\"type\":\"int64_t\",\"shape\":[1]}";

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
    {"DiesAfterHello", [](BadCompilers &T) { T.greet(); },
     StatusCode::PeerClosed, "closed", ""},
    {"DiesInARequest",
     [](BadCompilers &T) {
       T.greet();
       T.Header.Kind = FrameKind::Request;
       T.Header.Sequence = 1;
       T.Compiler->send(frameBytes(T.Header, T.encodedX(1)).substr(0, 100));
     },
     StatusCode::PeerClosed, "after 100 bytes", ""},
    {"DiesInItsSecondRequest",
     [](BadCompilers &T) {
       T.greet();
       T.exchange(5);
       T.Header.Sequence = 2;
       T.Compiler->send(frameBytes(T.Header, T.encodedX(6)).substr(0, 100));
     },
     StatusCode::PeerClosed, "after 100 bytes", "5 done!5"},
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

auto everyChannelAnd(const std::vector<const Attack *> &List) {
  return ::testing::Combine(::testing::ValuesIn(channels()),
                            ::testing::ValuesIn(serializers()),
                            ::testing::ValuesIn(List));
}

std::string
attackName(const ::testing::TestParamInfo<CompilerFault::ParamType> &Info) {
  return channelAndSerdesName(std::get<0>(Info.param),
                              std::get<1>(Info.param)) +
         "_" + std::get<2>(Info.param)->Name;
}

INSTANTIATE_TEST_SUITE_P(Channels, CompilerFault,
                         everyChannelAnd(attacks(false)), attackName);
INSTANTIATE_TEST_SUITE_P(Channels, ExplainedFault,
                         everyChannelAnd(attacks(true)), attackName);

TEST_P(CompilerFault, EndsItsOwnSessionOnly) {
  size_t Wanted = A.Code != StatusCode::Ok;
  A.Do(*this);
  hangUp();
  settle(Wanted);
  ASSERT_EQ(Errors.size(), Wanted) << Errors.back().toString();
  if (Wanted) {
    EXPECT_EQ(Errors[0].code(), A.Code) << Errors[0].toString();
    EXPECT_NE(Errors[0].message().find(A.Says), std::string::npos)
        << Errors[0].message();
  }
  EXPECT_EQ(Seen, A.Seen);
  expectServes();
  EXPECT_EQ(Errors.size(), Wanted) << Errors.back().toString();
}

TEST_P(ExplainedFault, IsExplainedToTheCompiler) {
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

class PeerFaultsTest : public BadCompilers,
                       public ::testing::WithParamInterface<ChannelAndSerdes> {
protected:
  PeerFaultsTest()
      : BadCompilers(std::get<0>(GetParam()), std::get<1>(GetParam())) {}
};
CBRIDGE_FOR_EVERY_CHANNEL(PeerFaultsTest);

TEST_P(PeerFaultsTest, CostNothingThatStays) {
  auto Round = [this](const Attack &A) {
    SCOPED_TRACE(A.Name);
    Errors.clear();
    Seen.clear();
    A.Do(*this);
    hangUp();
    settle(A.Code != StatusCode::Ok);
    ASSERT_EQ(Seen, A.Seen) << A.Name;
  };
  for (const Attack &A : Attacks)
    Round(A);
  Errors = std::vector<Status>();
  size_t Files = openFiles(), Heap = heapInUse();
  for (size_t I = 0; I < 1000; ++I)
    Round(Attacks[I % std::size(Attacks)]);
  Errors = std::vector<Status>();
  EXPECT_EQ(openFiles(), Files);
  EXPECT_LT(heapInUse(), Heap + 100'000);
  expectServes();
}

std::string manySpecs(size_t Count) {
  std::string List;
  for (size_t I = 0; I < Count; ++I)
    List += (I ? ",{\"name\":\"" : "{\"name\":\"") + std::to_string(I) +
            "\",\"type\":\"string\",\"shape\":[1]}";
  return List;
}

TEST_P(PeerFaultsTest, AMillionTensors) {
  std::string Many = manySpecs(Sanitized ? 50'000 : 1'000'000);
  for (const std::string &Payload :
       {helloWith(Many.c_str(), X), helloWith(X, Many.c_str())}) {
    Errors.clear();
    connect();
    Header.Kind = FrameKind::Hello;
    sendLarge(frameBytes(Header, Payload));
    hangUp();
    settle(1);
    EXPECT_EQ(Errors[0].code(), StatusCode::Protocol);
    EXPECT_NE(Errors[0].message().find("more than 4096 tensors"),
              std::string::npos)
        << Errors[0].message();
    expectServes();
  }
}

TEST_P(PeerFaultsTest, AsManyTensorsAsAllowed) {
  std::string Many = manySpecs(4096);
  sendHello(*this, helloWith(Many.c_str(), Many.c_str()));
  EXPECT_EQ(answer()->Header.Kind, FrameKind::Welcome);
  send(FrameKind::Bye, "");
  hangUp();
  expectServes();
}

TEST_P(PeerFaultsTest, ASilentCompilerKeepsNobodyForever) {
  connect();
  Stopwatch Watch;
  auto R = P->next(Deadline::in(Short));
  ASSERT_FALSE(R);
  EXPECT_EQ(R.status().code(), StatusCode::Timeout);
  EXPECT_GE(Watch.elapsed(), Short);
  EXPECT_LT(Watch.elapsed(), Short + Slack);
  EXPECT_LT(Watch.processor(), milliseconds(50));
  if (Channel.OneSessionAtATime) {
    Status Why = open(Short).whyNot();
    EXPECT_EQ(Why.code(), StatusCode::Timeout) << Why.toString();
  }
  hangUp();
  expectServes();
}

TEST_P(PeerFaultsTest, ASlowCompilerIsWaitedFor) {
  connect();
  std::string Slowly = frameBytes(Header, Hello{Serdes, oneNumber()}.encode());
  for (char Byte : Slowly) {
    Compiler->send(std::string_view(&Byte, 1));
    pump();
  }
  EXPECT_EQ(answer()->Header.Kind, FrameKind::Welcome);
  Header.Kind = FrameKind::Request;
  Header.Sequence = 1;
  for (char Byte : frameBytes(Header, encodedX(5))) {
    Compiler->send(std::string_view(&Byte, 1));
    pump();
  }
  EXPECT_EQ(answer()->Header.Kind, FrameKind::Reply);
  send(FrameKind::Bye, "");
  hangUp();
  settle(0);
  EXPECT_EQ(Seen, "5 done5");
  EXPECT_EQ(Errors.size(), 0u);
  expectServes();
}

TEST_P(PeerFaultsTest, GarbageOutOfTurnBreaksTheSessionNotThePeer) {
  if (!Channel.OneSessionAtATime)
    GTEST_SKIP() << "others cannot reach a session";
  greet();
  exchange(5);
  auto Rude = Channel.MakeCompiler(Address, Manners::Rude);
  ASSERT_TRUE(Rude);
  ASSERT_TRUE(Rude->send(std::string(1000, 'z')));
  settle(1);
  EXPECT_EQ(Errors[0].code(), StatusCode::Protocol);
  EXPECT_EQ(Seen, "5 done!5");
  auto F = answer(); // the innocent is told
  EXPECT_EQ(F->Header.Kind, FrameKind::Failure);
  EXPECT_EQ(F->Header.Flags, FrameHeader::EndsSession);
  Rude.reset();
  hangUp();
  expectServes();
}

TEST_P(PeerFaultsTest, AFloodIsDrained) {
  connect();
  sendLarge(std::string(8 << 20, 'z'));
  hangUp();
  settle(1);
  EXPECT_EQ(Errors.size(), 1u);
  expectServes();
}

TEST_P(PeerFaultsTest, AReplyThatNobodyTakes) {
  // More than fits into any buffer, to a compiler that does not read, and then
  // to one that is gone.
  std::string Big = "{\"name\":\"y\",\"type\":\"int64_t\",\"shape\":[1000000]}";
  for (bool Dies : {false, true}) {
    Errors.clear();
    Seen.clear();
    Holds = true;
    sendHello(*this, "{\"serdes\":\"" + Serdes + "\",\"features\":[" + X +
                         "],\"decision\":[" + Big + "]}");
    ASSERT_TRUE(answer());
    request(5);
    pumpUntil([&] { return P->awaitsReply(); });
    Holds = false;
    Stopwatch Watch;
    if (Dies)
      hangUp();
    Status S = P->reply(Deadline::in(Short));
    EXPECT_EQ(S.code(), Dies ? StatusCode::PeerClosed : StatusCode::Timeout)
        << S.toString();
    // Encoding takes its time, and so does the farewell.
    EXPECT_LT(Watch.elapsed(), Short + milliseconds(300) + Slack);
    hangUp();
    settle(1);
    EXPECT_EQ(Seen, "5 done!5");
    expectServes();
  }
}

TEST_P(PeerFaultsTest, AFileInTheWay) {
  std::vector<std::string> Made = filesIn(Directory);
  ASSERT_FALSE(Made.empty());
  P.reset();
  for (const std::string &Name : Made) {
    std::string Path = Directory + "/" + Name;
    ASSERT_TRUE(os::openFile(Path, O_WRONLY | O_CREAT | O_EXCL, S_IRUSR));
    Expected<Peer> Opened = Peer::open(Address);
    if (Opened)
      continue; // it makes no difference, and goes with the peer
    EXPECT_NE(Opened.status().message().find(Path), std::string::npos)
        << Opened.status().message();
    EXPECT_EQ(filesIn(Directory), std::vector<std::string>{Name});
    ::unlink(Path.c_str());
  }
}

TEST_P(PeerFaultsTest, NoQuestionNoReply) {
  EXPECT_FALSE(P->awaitsReply());
  EXPECT_TRUE(P->reply().ok());
  EXPECT_TRUE(P->fail("why not").ok());
  Holds = true;
  greet();
  request(5);
  pumpUntil([&] { return P->awaitsReply(); });
  EXPECT_EQ(P->next(soon()).status().code(), StatusCode::InvalidArgument);
  Holds = false;
  decide(*P, 6);
  EXPECT_TRUE(P->reply().ok()); // only one of them is sent
  EXPECT_EQ(answer()->Header.Kind, FrameKind::Reply);
  exchange(6);
  hangUp();
  settle(1);
  expectServes();
}

TEST_P(PeerFaultsTest, QuestionsOutliveTheirSession) {
  std::vector<std::shared_ptr<const Request>> Kept;
  for (int64_t Session = 0; Session < 3; ++Session) {
    greet();
    for (int64_t X = 0; X < 5; ++X) {
      request(100 * Session + X);
      for (Deadline Until = soon(); !P->awaitsReply();) {
        ASSERT_FALSE(Until.passed());
        if (auto R = P->next(Deadline::in(milliseconds(1))))
          Kept.push_back(*R);
      }
      decide(*P, 0);
      ASSERT_TRUE(answer());
    }
    hangUp();
    settle(1);
  }
  ASSERT_EQ(Kept.size(), 15u);
  for (int64_t I = 0; I < 15; ++I) {
    EXPECT_EQ(asked(*Kept[size_t(I)]), 100 * (I / 5) + I % 5);
    EXPECT_EQ(Kept[size_t(I)]->signature(), oneNumber());
  }
}

} // namespace
